"""What all tests share."""

from __future__ import annotations

import gc
import os

from hypothesis import HealthCheck, settings

# OpenMP's threads spin while they wait for each other. Beside the other test processes that takes twenty times as long.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# How long an example takes depends on the machine, so no test fails for it. Each run tries the same examples.
settings.register_profile("specchat", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specchat")


def pytest_collection_finish() -> None:
    """Collects garbage less often, and not from modules and tests: that took a quarter of the app's tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
