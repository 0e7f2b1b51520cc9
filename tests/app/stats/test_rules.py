from __future__ import annotations

from specchat.settings.options import DEFAULT_VERIFIER
from specchat.stats.rules import rule_label
from specchat_engine.settings import LOSSY_VERIFIERS, VERIFIER_NAMES, Settings
from specchat_engine.verifiers import VERIFIERS


def test_the_names_that_settings_know_are_those_of_the_rules() -> None:
    assert tuple(VERIFIERS) == VERIFIER_NAMES
    assert tuple(name for name, rule in VERIFIERS.items() if not rule.lossless) == LOSSY_VERIFIERS
    assert Settings().verifier == DEFAULT_VERIFIER


def test_only_the_usual_rule_goes_without_a_label() -> None:
    labels = {name: rule_label(name, lossless=rule.lossless) for name, rule in VERIFIERS.items()}
    assert labels == {
        "coupled": "",
        "rejection": "rejection",
        "block": "block",
        "typical": "≈ typical (lossy)",
    }
