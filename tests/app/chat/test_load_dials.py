"""What takes effect when the models are loaded again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.commands.invocations import Refusal, Reload
from specchat.chat.commands.parsing import parse
from specchat.chat.commands.sources import Sources
from specchat.chat.load_dials import LOAD_DIALS, LOADABLE, with_threads
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions


@given(place=st.integers(0, len(LOAD_DIALS) - 1), steps=st.lists(st.integers(-3, 3), max_size=12))
def test_every_turn_gives_options_whose_text_leads_back_to_them(place: int, steps: list[int]) -> None:
    dial, options = LOAD_DIALS[place], LoadOptions()
    for step in steps:
        options = dial.turned(options, step)
    assert dial.typed(LoadOptions(), dial.text(options)) == options


def test_a_step_of_the_context_doubles_or_halves_it_and_below_lies_the_models_own() -> None:
    dial, options = LOADABLE["ctx-size"], LoadOptions(n_ctx=3000)
    assert [dial.turned(options, steps).n_ctx for steps in (-4, -2, -1, 0, 1, 2)] == [0, 1024, 2048, 3000, 4096, 8192]
    assert dial.turned(LoadOptions(), -1) == LoadOptions()
    assert dial.turned(LoadOptions(), 1).n_ctx == 512


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
def test_set_reaches_what_needs_a_reload(text: str, changed: LoadOptions) -> None:
    found = parse(text, Sources())
    assert isinstance(found, Reload)
    assert found.applied(LoadOptions()) == changed


def test_threads_are_auto_below_one_for_each_core_and_change_without_a_load() -> None:
    dial, options = LOADABLE["threads-draft"], LoadOptions(n_ctx=512, threads_draft="auto")
    turned = [dial.turned(options, steps) for steps in (-1, 0, 1, 2, 9)]
    assert [dial.text(one) for one in turned] == ["auto", "auto", "the same", "1", "8"]
    assert dial.typed(options, " Auto") == dial.typed(options, "auto") == options
    assert with_threads(options, LoadOptions(threads=2, n_ctx=4096)) == LoadOptions(threads=2, n_ctx=512)


@pytest.mark.parametrize(
    "value", ["threads", "threads many", "t 9999", "t -1", "ctx -5", "cache-type-v q9", "ngl 99999"]
)
def test_a_value_that_cannot_be_is_refused_before_anything_is_loaded(value: str) -> None:
    found = parse(f"/set {value}", Sources())
    assert isinstance(found, Refusal)
    assert len(found.reason.splitlines()) == 1


def test_words_for_a_number_are_offered_where_it_is_refused() -> None:
    with pytest.raises(SettingError, match="gpu-layers is 'x': use 0 to 10000, all, none"):
        LOADABLE["gpu-layers"].typed(LoadOptions(), "x")
