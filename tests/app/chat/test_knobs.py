"""Knobs: what steps and typed values do to the settings, and to the options with which models are loaded."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.commands.command import Refusal
from specchat.chat.commands.registry import parse
from specchat.chat.commands.set import LoadChange
from specchat.chat.controller import Sources
from specchat.chat.knobs import LOAD_KNOBS, Knob, live_knobs, panel_knobs, settings_from, with_threads
from specchat.settings.schema import BY_KEY
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings


def live(key: str) -> Knob[Settings]:
    return live_knobs(("lookup", "none"), 32)[key]


def test_the_panel_shows_what_is_changed_most() -> None:
    shown = [knob.label for knob in panel_knobs(("lookup", "none"), 32)]
    assert shown[:4] == ["k", "drafter", "verifier", "temperature"]
    assert "typical-p" in live_knobs((), 32)
    assert "typical-p" not in shown


def test_k_stops_at_both_ends() -> None:
    assert live("k").turned(Settings(k=0), -1).k == "auto"
    assert [live("k").turned(Settings(k="auto"), steps).k for steps in (-2, -1, 1, 2)] == [3, 4, 4, 5]
    assert live("k").turned(Settings(k=32), 1).k == 32
    assert live_knobs((), LoadOptions().k_max)["k"].kind == BY_KEY["k"].kind, "the range of the flag"


def test_k_is_typed_as_a_number_or_as_auto() -> None:
    assert live("k").typed(Settings(k=3), " auto ").k == "auto"
    assert live("k").typed(Settings(), "12").k == 12
    assert [live("k").text(Settings(k=k)) for k in ("auto", 5, 0)] == ["auto", "5", "0 plain"]
    assert live("temperature").text(Settings()) == "0.80"


def test_the_temperature_turns_in_tenths_and_the_drafters_go_round_among_those_of_the_pair() -> None:
    assert live("temperature").turned(Settings(), 1).sampling.temperature == 0.9
    assert live("drafter").turned(Settings(drafter="none"), 1).drafter == "lookup"


def test_a_typed_value_is_taken() -> None:
    assert live("top-k").typed(Settings(), "7").sampling.top_k == 7
    assert live("drafter").typed(Settings(), "lo").drafter == "lookup"
    assert live("top-p").typed(Settings(), "0,5").sampling.top_p == 0.5


def test_the_verifiers_go_round_and_the_lossy_one_says_so() -> None:
    turned = [live("verifier").turned(Settings(), steps) for steps in range(5)]
    shown = [live("verifier").text(settings) for settings in turned]
    assert shown == ["coupled", "rejection", "block", "typical ≈lossy", "coupled"]


@pytest.mark.parametrize(
    ("label", "text"),
    [("k", "99"), ("k", "x"), ("k", "-1"), ("k", "1.5"), ("top-p", "2"), ("drafter", "model"), ("verifier", "magic")],
)
def test_a_value_that_is_not_allowed_is_rejected_with_those_that_are(label: str, text: str) -> None:
    with pytest.raises(SettingError, match="use "):
        live(label).typed(Settings(), text)


@given(place=st.integers(0, len(LOAD_KNOBS) - 1), steps=st.lists(st.integers(-3, 3), max_size=12))
def test_the_text_of_any_turned_knob_can_be_typed_to_set_it_again(place: int, steps: list[int]) -> None:
    knob, options = list(LOAD_KNOBS.values())[place], LoadOptions()
    for step in steps:
        options = knob.turned(options, step)
    assert knob.typed(LoadOptions(), knob.text(options)) == options


def test_a_step_doubles_or_halves_the_context_down_to_the_models_own() -> None:
    knob, options = LOAD_KNOBS["ctx-size"], LoadOptions(n_ctx=3000)
    assert [knob.turned(options, steps).n_ctx for steps in (-4, -2, -1, 0, 1, 2)] == [0, 1024, 2048, 3000, 4096, 8192]
    assert knob.turned(LoadOptions(), -1) == LoadOptions()
    assert knob.turned(LoadOptions(), 1).n_ctx == 512


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("/set threads 4", LoadOptions(threads=4)),
        ("/set ctx 8192", LoadOptions(n_ctx=8192)),
        ("/set -ngl 12".replace("-", ""), LoadOptions(gpu_layers=12)),
        ("/set gpu_layers_draft none", LoadOptions(gpu_layers_draft=0)),
        ("/set cache-type-k q8_0", LoadOptions(cache_type_k="q8_0")),
        ("/set fa on", LoadOptions(flash_attention="on")),
    ],
)
def test_set_changes_options_that_need_a_reload(text: str, changed: LoadOptions) -> None:
    given = parse(text, Sources())
    assert given is not None
    assert isinstance(given.value, LoadChange)
    assert given.value.knob.typed(LoadOptions(), given.value.value) == changed


def test_threads_turn_down_to_the_usual_number_and_change_without_a_reload() -> None:
    knob, options = LOAD_KNOBS["threads-draft"], LoadOptions(n_ctx=512, threads_draft=1)
    turned = [knob.turned(options, steps) for steps in (-2, -1, 0, 1, 7)]
    assert [knob.text(one) for one in turned] == ["the same", "the same", "1", "2", "8"]
    assert knob.typed(options, " The same") == LoadOptions(n_ctx=512)
    assert with_threads(options, LoadOptions(threads=2, n_ctx=4096)) == LoadOptions(threads=2, n_ctx=512)


@pytest.mark.parametrize(
    "value", ["threads", "threads many", "threads auto", "t 9999", "t -1", "ctx -5", "cache-type-v q9", "ngl 99999"]
)
def test_a_value_that_is_not_allowed_is_rejected_before_a_reload(value: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse(f"/set {value}", Sources())
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(SettingError, match=r"gpu-layers is 'x': use a whole number from -1 to 10000 \(-1 is all\)"):
        LOAD_KNOBS["gpu-layers"].typed(LoadOptions(), "x")


DRAFTERS = ("hybrid", "model", "lookup", "none")


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(k=7, drafter="lookup", verifier="typical", max_tokens=9, stop=("END",)),
        Settings(sampling=SamplingParams(temperature=0.3, logit_bias=((5, -1.0),))),
    ],
)
def test_stored_settings_are_restored(settings: Settings) -> None:
    kept = json.loads(json.dumps(asdict(settings)))
    assert settings_from(kept, DRAFTERS, 32) == settings
    narrowed = settings_from(asdict(Settings(k=20, drafter="model")), ("lookup", "none"), 8)
    assert (narrowed.k, narrowed.drafter) == (8, "lookup"), "what the pair has"


@pytest.mark.parametrize("kept", [{"k": -3}, {"sampling": {"temperature": "hot"}}, {"sampling": 5}, {"k": []}])
def test_stored_values_that_are_not_allowed_are_rejected(kept: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        settings_from(kept, DRAFTERS, 32)
