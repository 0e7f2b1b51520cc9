import pytest

from specchat.chat.dials import Dial, dials
from specchat_engine.errors import SettingError
from specchat_engine.settings import Settings


def dial(label: str) -> Dial:
    return next(dial for dial in dials(("lookup", "none"), 32) if dial.label == label)


def test_k_stops_at_both_ends() -> None:
    assert dial("k").turned(Settings(k=0), -1).k == "auto"
    assert [dial("k").turned(Settings(k="auto"), steps).k for steps in (-2, -1, 1, 2)] == [3, 4, 4, 5]
    assert dial("k").turned(Settings(k=32), 1).k == 32


def test_k_is_typed_as_a_number_or_as_auto() -> None:
    assert dial("k").typed(Settings(k=3), " auto ").k == "auto"
    assert dial("k").typed(Settings(), "12").k == 12
    assert [dial("k").text(Settings(k=k)) for k in ("auto", 5)] == ["auto", "5"]


def test_the_temperature_turns_in_tenths() -> None:
    turned = dial("temperature").turned(Settings(), 1)
    assert turned.sampling.temperature == 0.9


def test_the_drafters_go_round_among_those_that_the_pair_has() -> None:
    settings = Settings(drafter="none")
    assert dial("drafter").turned(settings, 1).drafter == "lookup"


def test_a_typed_value_is_taken() -> None:
    assert dial("top-k").typed(Settings(), "7").sampling.top_k == 7
    assert dial("drafter").typed(Settings(), "lo").drafter == "lookup"
    assert dial("top-p").typed(Settings(), "0,5").sampling.top_p == 0.5


def test_the_verifiers_go_round_and_the_lossy_one_says_so() -> None:
    turned = [dial("verifier").turned(Settings(), steps) for steps in range(5)]
    shown = [dial("verifier").text(settings) for settings in turned]
    assert shown == ["coupled", "rejection", "block", "typical ≈lossy", "coupled"]


@pytest.mark.parametrize(
    ("label", "text"),
    [("k", "99"), ("k", "x"), ("k", "-1"), ("k", "1.5"), ("top-p", "2"), ("drafter", "model"), ("verifier", "magic")],
)
def test_a_value_that_cannot_be_is_refused_with_the_ones_that_can(label: str, text: str) -> None:
    with pytest.raises(SettingError, match=r"use|type"):
        dial(label).typed(Settings(), text)


def test_zero_says_what_it_means() -> None:
    assert dial("k").text(Settings(k=0)) == "0 plain"
    assert dial("temperature").text(Settings()) == "0.80"
