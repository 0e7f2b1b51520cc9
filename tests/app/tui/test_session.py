from dataclasses import replace

import pytest

from app.tui.scripted_client import LOADED, chat_options, ended, script
from specchat.tui.session import ChatSession, Speculation, model_name
from specchat.tui.widgets.header import header
from specchat.worker.protocol import ModelSummary


def ready() -> ChatSession:
    session = ChatSession(chat_options(k=3))
    session.ready(LOADED)
    return session


def test_the_options_hold_before_the_models_recommendation() -> None:
    session = ready()
    assert session.settings is not None
    assert (session.settings.k, session.settings.sampling.temperature) == (3, 0.7)


def test_a_restarted_engine_keeps_the_settings_that_were_turned() -> None:
    session = ready()
    assert session.settings is not None
    turned = session.settings = replace(session.settings, k=9)
    session.ready(LOADED)
    assert session.settings == turned


def test_an_answer_that_broke_off_stays_in_the_conversation() -> None:
    session = ready()
    session.ask("Hi")
    assert session.answered("Hel", 1, None) is None
    assert [message.content for message in session.messages] == ["Hi", "Hel"]


def test_a_message_without_an_answer_leaves_the_conversation() -> None:
    session = ready()
    session.ask("Hi")
    assert session.answered("", 0, None) == "Hi"
    assert session.messages == []


def test_the_time_of_a_plain_pass_comes_from_the_turn_before() -> None:
    session = ready()
    session.ask("Hi")
    session.answered("x", 3, ended(script(" a b> c")))
    assert session.plain_ms == pytest.approx(1.0)


def test_a_new_chat_with_a_fixed_seed_keeps_it() -> None:
    assert ready().renewed().seed == 7


def test_every_session_has_another_seed_unless_it_is_fixed() -> None:
    seeds = {ChatSession(chat_options(seed=None)).seed for _ in range(8)}
    assert len(seeds) > 1


@pytest.mark.parametrize(
    ("size", "name"), [(0, "m"), (91_000, "m 91k"), (18e6, "m 18M"), (6e8, "m 600M"), (4e9, "m 4.0B")]
)
def test_a_model_is_named_with_its_size(size: float, name: str) -> None:
    assert model_name(ModelSummary("m", "m.gguf", n_params=int(size))) == name


@pytest.mark.parametrize("name", ["specchat-guide 18M", "Qwen3 0.6B Instruct", "smol-135m"])
def test_a_size_in_the_name_is_not_said_twice(name: str) -> None:
    assert model_name(ModelSummary(name, "m.gguf", n_params=18_000_000)) == name


def test_a_number_in_the_name_that_is_no_size_does_not_hide_the_size() -> None:
    assert model_name(ModelSummary("phi-3 128k", "m.gguf", n_params=int(3.8e9))) == "phi-3 128k 3.8B"


def test_the_context_counts_the_prompt_as_soon_as_it_is_read() -> None:
    session = ready()
    session.ask("Hi")
    session.started({"prompt_tokens": 30})
    assert session.header(5).ctx_used == 35
    session.answered("Hel", 5, None)
    assert session.header().ctx_used == 35


def test_a_message_without_an_answer_takes_no_room_in_the_context() -> None:
    session = ready()
    session.ask("Hi")
    session.started({"prompt_tokens": 30})
    session.answered("", 0, None)
    assert session.header().ctx_used == 0


def test_a_hostile_model_name_cannot_move_the_cursor() -> None:
    assert "\x1b" not in model_name(ModelSummary("\x1b[2Jm\n", "m.gguf"))


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140, 300])
@pytest.mark.parametrize("note", ["", "k 5 from the next round on"])
def test_the_header_fits_every_width_and_always_says_the_state(width: int, note: str) -> None:
    session = ready()
    session.loaded = replace(LOADED, refusal="the vocabularies differ: token 5 is 'a' in one and 'b' in the other " * 3)
    view = session.header()
    shown = header(view, note, width)
    assert view.state is Speculation.REFUSED
    assert shown.cell_length <= width
    assert "✕" in shown.plain or width < 40
