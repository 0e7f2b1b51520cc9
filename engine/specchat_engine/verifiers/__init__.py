"""The rules that accept or reject drafted tokens."""

from types import MappingProxyType

from specchat_engine.verifiers.block import BLOCK
from specchat_engine.verifiers.coupled import COUPLED
from specchat_engine.verifiers.rejection import REJECTION
from specchat_engine.verifiers.typical import TYPICAL

VERIFIERS = MappingProxyType({verifier.name: verifier for verifier in (COUPLED, REJECTION, BLOCK, TYPICAL)})

__all__ = ["BLOCK", "COUPLED", "REJECTION", "TYPICAL", "VERIFIERS"]
