"""How much memory a model takes, told from its header, and where it would go."""

from specchat_engine.footprint.estimate import Footprint, MemoryNeed, Use, estimate
from specchat_engine.footprint.placement import DeviceMemory, Machine, Placement, Remedy, where_it_goes

__all__ = [
    "DeviceMemory",
    "Footprint",
    "Machine",
    "MemoryNeed",
    "Placement",
    "Remedy",
    "Use",
    "estimate",
    "where_it_goes",
]
