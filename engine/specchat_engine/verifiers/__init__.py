"""The rules by which drafted tokens stand or fall."""

from types import MappingProxyType

from specchat_engine.errors import SettingError
from specchat_engine.verifiers.block import BLOCK
from specchat_engine.verifiers.coupled import COUPLED
from specchat_engine.verifiers.rejection import REJECTION
from specchat_engine.verifiers.typical import TYPICAL
from specchat_engine.verify import Verifier

VERIFIERS = MappingProxyType({verifier.name: verifier for verifier in (COUPLED, REJECTION, BLOCK, TYPICAL)})

__all__ = ["BLOCK", "COUPLED", "REJECTION", "TYPICAL", "VERIFIERS", "verifier_named"]


def verifier_named(name: str) -> Verifier:
    """The verifier of that name. Raises SettingError where there is none."""
    if name not in VERIFIERS:
        raise SettingError(f"the verifier is {name!r}: use {', '.join(VERIFIERS)}")
    return VERIFIERS[name]
