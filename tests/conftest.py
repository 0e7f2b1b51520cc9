"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on the machine, so no test fails for it.
settings.register_profile("specchat", deadline=None)
settings.load_profile("specchat")
