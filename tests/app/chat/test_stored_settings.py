"""Settings that were kept with a session."""

import json
from dataclasses import asdict

import pytest

from specchat.chat.stored_settings import settings_from
from specchat_engine import SamplingParams, SettingError, Settings

DRAFTERS = ("hybrid", "model", "lookup", "none")


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(k=7, drafter="lookup", verifier="typical", max_tokens=9, stop=("END",)),
        Settings(sampling=SamplingParams(temperature=0.3, logit_bias=((5, -1.0),))),
    ],
)
def test_what_was_kept_comes_back_as_it_was(settings: Settings) -> None:
    kept = json.loads(json.dumps(asdict(settings)))
    assert settings_from(kept, DRAFTERS, 32) == settings


def test_a_pair_that_has_less_serves_what_it_can() -> None:
    kept = asdict(Settings(k=20, drafter="model"))
    found = settings_from(kept, ("lookup", "none"), 8)
    assert (found.k, found.drafter) == (8, "lookup")


@pytest.mark.parametrize("kept", [{"k": -3}, {"sampling": {"temperature": "hot"}}, {"sampling": 5}, {"k": []}])
def test_values_that_cannot_be_are_refused(kept: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        settings_from(kept, DRAFTERS, 32)
