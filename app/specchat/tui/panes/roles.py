"""What a model can be chosen for."""

from __future__ import annotations

from typing import Literal

Role = Literal["target", "draft"]
