from dataclasses import replace
from pathlib import Path

import pytest

from app.tui.scripted_client import LOADED, chat_options, ended, script
from specchat.chat.session import ChatSession, Speculation
from specchat.engine_process.protocol import NO_TOOLS, Ended, Offer, ServerInfo
from specchat.errors import AttachmentError
from specchat.store.images import StoredImage
from specchat.store.records import State, ToolUse
from specchat.tui.widgets.header import header
from specchat_assets import TARGET_NAME
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import answer_reserve


def ready() -> ChatSession:
    session = ChatSession(chat_options(k=3))
    session.ready(LOADED)
    return session


def say(session: ChatSession, text: str, num_tokens: int, last: Ended | None = None) -> str | None:
    """The user says hi, and this is answered; returns the message where nothing was."""
    session.ask("Hi")
    answer, _ = session.begin()
    return session.answered(answer.id, text, num_tokens, last)


def said(session: ChatSession) -> list[str]:
    return [message.content for message in session.conversation.path()]


def test_the_options_hold_before_the_models_recommendation_and_what_was_turned_after_a_restart() -> None:
    session = ready()
    assert session.settings is not None
    assert (session.settings.k, session.settings.sampling.temperature) == (3, 0.7)
    turned = session.settings = replace(session.settings, k=9)
    session.ready(LOADED)
    assert session.settings == turned


def test_an_answer_that_broke_off_stays_in_the_conversation_and_a_message_without_one_leaves_it() -> None:
    session = ready()
    assert say(session, "", 0) == "Hi"
    assert said(session) == []
    assert session.conversation.empty
    assert say(session, "Hel", 1) is None
    assert said(session) == ["Hi", "Hel"]
    assert session.conversation.path()[-1].state is State.CUT


def test_an_answered_question_stays_when_its_next_answer_fails() -> None:
    session = ready()
    say(session, "Hello", 1)
    session.conversation.rewind_to(session.conversation.path()[0].id)
    again, question = session.begin()
    assert (question.turn, question.attempt) == (0, 1)
    assert session.answered(again.id, "", 0, None) is None
    assert said(session) == ["Hi", "Hello"]


def test_a_question_contains_earlier_messages_and_not_its_own_answer() -> None:
    session = ChatSession(chat_options(system="Be brief."))
    session.ready(LOADED)
    say(session, "Hello", 1)
    session.ask("More")
    _, question = session.begin()
    assert [(message.role, message.content) for message in question.messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "More"),
    ]
    assert (question.turn, question.attempt, question.seed) == (1, 0, 7)


CLOCK = Offer(({"type": "function", "function": {"name": "current_time"}},))
PICTURE = (StoredImage("a.png", "0" * 64, 4, 3),)


@pytest.mark.parametrize(
    ("tools", "images", "source"),
    [
        (NO_TOOLS, (), "from the help: stopping an answer and quitting"),
        (CLOCK, (), "from the help: stopping an answer and quitting"),
        (NO_TOOLS, PICTURE, ""),
    ],
)
def test_the_guide_gets_its_passage_and_no_tools_unless_the_question_may_be_about_an_image(
    tools: Offer, images: tuple[StoredImage, ...], source: str
) -> None:
    session = ChatSession(replace(chat_options(), target=Path(TARGET_NAME)))
    session.ready(LOADED)
    session.ask("How do I quit?", images=images)
    _, question = session.begin(tools=tools)
    assert question.source == source
    assert ("Ctrl+Q" in question.messages[-1].content) is bool(source)
    assert question.tools == NO_TOOLS, "it never learned to call them"


def test_another_model_gets_the_tools_that_are_on() -> None:
    session = ready()
    session.ask("What time is it?")
    assert session.begin(tools=CLOCK)[1].tools == CLOCK


def test_a_passage_is_quoted_without_the_turns_before_and_named_only_where_it_is_said() -> None:
    session = ChatSession(replace(chat_options(), target=Path(TARGET_NAME), system="Be brief."))
    session.ready(LOADED)
    session.ask("Tell me a story.")
    answer, question = session.begin()
    session.answered(answer.id, "Once there was a fox.", 6, None)
    session.ask("How do I quit?")
    _, question = session.begin()
    assert [message.role for message in question.messages] == ["system", "user"]
    passage = question.messages[-1].content.rpartition("\n\n")[2]
    assert question.quoted_in(f"{passage} ") == question.source != ""
    assert question.quoted_in(passage.partition(" ")[0]) == question.source, "it was stopped"
    assert question.quoted_in(passage.replace("Ctrl+Q", "Ctrl+0")) == ""
    assert question.quoted_in("How do I quit?") == "", "that is the question"
    assert question.quoted_in("") == ""


def test_a_prediction_goes_with_the_next_question_alone(tmp_path: Path) -> None:
    file = tmp_path / "text.py"
    file.write_text("x = 1\n")
    session = ready()
    assert session.predict(file) == "The next answer is drafted from text.py where it repeats it."
    session.ask("Rename x")
    answer, question = session.begin()
    assert question.prediction == "x = 1\n"
    session.answered(answer.id, "y = 1", 3, None)
    session.ask("Again")
    assert session.begin()[1].prediction == ""
    with pytest.raises(AttachmentError, match=r"there is no file .*gone\.py: correct its path"):
        session.predict(tmp_path / "gone.py")


def test_the_first_message_gives_a_session_its_title() -> None:
    session = ready()
    session.ask("What is\n  speculation?")
    session.ask("And then?")
    assert session.conversation.session.title == "What is speculation?"


def test_costs_come_from_the_turn_before() -> None:
    session, costs = ready(), MeasuredCosts(((1, 1.0), (4, 2.0)), 0.1)
    say(session, "x", 3, replace(ended(script(" a b> c")), costs=costs))
    say(session, "x", 3, ended(script(" a b> c")))
    assert session.costs == costs


def test_every_session_has_another_seed_unless_it_is_fixed() -> None:
    assert ready().renewed().seed == 7
    seeds = {ChatSession(chat_options(seed=None)).seed for _ in range(8)}
    assert len(seeds) > 1


def test_the_context_counts_the_prompt_as_soon_as_it_is_read() -> None:
    session = ready()
    session.ask("Hi")
    answer, _ = session.begin()
    session.started({"prompt_tokens": 30})
    assert session.header(5).ctx_used == 35
    session.answered(answer.id, "Hel", 5, None)
    assert session.header().ctx_used == 35
    session.started({"prompt_tokens": 30, "prefix": [1, 2, 3]})
    assert session.header(5).ctx_used == 38, "with what an answer was given to begin with"


@pytest.mark.parametrize(
    ("value", "words"),
    [("drop", "oldest turns go next"), ("summarise", "a summary is next"), ("stop", "stops next")],
)
def test_the_header_says_what_happens_when_the_context_is_nearly_full(value: str, words: str) -> None:
    session = ready()
    assert session.loaded is not None
    assert session.settings is not None
    room = session.loaded.n_ctx - answer_reserve(session.loaded.n_ctx)
    session.settings = replace(session.settings, context_full=value)
    session.started({"prompt_tokens": int(0.9 * room) - 10})
    assert session.header(5).when_full == ""
    assert session.header(15).when_full == words
    session.loaded = replace(session.loaded, server=ServerInfo("vLLM", "host"))
    assert session.header(15).when_full == ""


def test_a_message_without_an_answer_takes_no_room_in_the_context() -> None:
    session = ready()
    session.ask("Hi")
    answer, _ = session.begin()
    session.started({"prompt_tokens": 30})
    session.answered(answer.id, "", 0, None)
    assert session.header().ctx_used == 0


@pytest.mark.parametrize(
    ("verifier", "chip"),
    [
        ("coupled", "● active · hybrid · k 3"),
        ("rejection", "● active · rejection · hybrid · k 3"),
        ("block", "● active · block · hybrid · k 3"),
        ("typical", "≈ lossy typical · hybrid · k 3"),
        ("coupled typical", "≈ lossy typical in thoughts · hybrid · k 3"),
        ("block typical", "≈ block · lossy typical in thoughts · hybrid · k 3"),
    ],
)
def test_the_chip_names_an_unusual_verifier_and_a_lossy_one_for_thoughts(verifier: str, chip: str) -> None:
    rule, *thought_rule = verifier.split()
    session = ChatSession(chat_options(k=3, verifier=rule, thought_verifier=(*thought_rule, "same")[0]))
    session.ready(LOADED)
    for width in (140,) if thought_rule else (80, 140):
        assert chip in header(session.header(), width).plain


def test_the_header_says_what_a_load_does_after_the_files_were_read() -> None:
    session = ChatSession(chat_options())
    for progress, status in ((0.0, "loading   0 %"), (0.999, "loading  99 %"), (1.0, "warming up")):
        session.progress = progress
        assert session.header().status == status


def test_a_rejected_draft_model_hides_no_lossy_rule() -> None:
    session = ChatSession(chat_options(k=3, verifier="typical"))
    session.ready(replace(LOADED, drafters=("lookup", "none"), refusal="token 5 differs"))
    assert "✕ draft rejected (lossy typical, lookup, k 3): token 5" in header(session.header(), 140).plain


def test_plain_decoding_is_never_lossy() -> None:
    for changes in ({"k": 0}, {"drafter": "none"}):
        session = ChatSession(chat_options(verifier="typical", **changes))
        session.ready(LOADED)
        assert session.header().state is Speculation.OFF
        assert "lossy" not in session.header().status


@pytest.mark.parametrize("width", [20, 40, 80, 140, 300])
@pytest.mark.parametrize("tools", [0, 12])
def test_the_header_fits_every_width_and_always_says_the_state(width: int, tools: int) -> None:
    session = ready()
    session.loaded = replace(LOADED, refusal="the vocabularies differ: token 5 is 'a' in one and 'b' in the other " * 3)
    view = session.header(tools=tools)
    shown = header(view, width)
    assert view.state is Speculation.REFUSED
    assert shown.cell_length <= width
    assert "✕" in shown.plain or width < 40


def test_speculation_is_off_after_the_engine_died_three_times_in_a_row() -> None:
    session = ready()
    assert session.settings is not None
    assert not session.broke(died=True)
    assert not session.broke(died=True)
    say(session, "Hello", 1, ended(script("> a")))
    assert not session.broke(died=True)
    assert not session.broke(died=False)
    assert not session.broke(died=True)
    assert session.broke(died=True)
    assert session.settings.k == 0
    assert not session.broke(died=True)


SERVED = replace(LOADED, draft=None, drafters=("remote",), server=ServerInfo("vLLM", "host:8000"))


def test_a_server_is_named_and_decides_about_drafts_itself() -> None:
    session = ChatSession(chat_options(draft=None))
    settings = session.ready(SERVED)
    view = session.header()
    assert view.pair == "builtin-guide 18M · vLLM at host:8000"
    assert (view.state, view.status) == (Speculation.ACTIVE, "as the server was started")
    session.settings = replace(settings, k=0)
    assert session.header().state is Speculation.ACTIVE
    session.ready(replace(SERVED, drafters=("hybrid", "none"), server=ServerInfo("specchat", "host", steered=True)))
    assert session.header().state is Speculation.OFF, "each request says how to draft"


def narrow(session: ChatSession, width: int) -> str:
    """The header in so many cells, without the blanks between its parts."""
    return " ".join(header(session.header(), width).plain.split())


def test_a_narrow_header_names_the_model_and_the_host_of_a_server() -> None:
    target, draft = (replace(LOADED.target, name=f"Qwen2.5-Coder-{size}-Instruct") for size in ("7B", "0.5B"))
    session = ChatSession(chat_options(draft=None, k=4))
    host = "llm.example.org:8080"
    session.ready(replace(LOADED, target=target, draft=draft, server=ServerInfo("specchat", host, steered=True)))
    chip = "● active · hybrid · k 4"
    whole = f"Qwen2.5-Coder-7B-Instruct ⇠ Qwen2.5-Coder-0.5B-Instruct · specchat at {host} {chip}"
    assert whole in narrow(session, 130)
    assert narrow(session, 120).startswith(f"Qwen2.5-Coder-7B-Instruct ⇠ Qwen2.5-Coder-0.5B-Instruct at {host} {chip}")
    assert narrow(session, 80) == f"Qwen2.5-Coder-7B-Instruct at {host} {chip}"
    assert narrow(session, 70) == f"Qwen2.5-Coder-7B-In… at {host} {chip}"


def test_the_length_of_a_prompt_may_arrive_at_the_end() -> None:
    session = ready()
    say(session, "x", 3, replace(ended(script("> x")), stats=ended(script("> x")).stats | {"prompt_tokens": 40}))
    assert session.used == 43


def test_an_answer_that_calls_tools_keeps_its_calls_apart_from_its_text_and_the_result_stays() -> None:
    session, call = ready(), ToolCall("now", "{}", "call00000")
    last = replace(ended([], "end"), text="Let me see.<tool_call>…</tool_call>", calls=(call,), content="Let me see.")
    assert say(session, last.text, 9, last) is None
    answer = session.conversation.path()[-1]
    assert (answer.content, answer.tools) == ("Let me see.", ToolUse((call,)))
    session.conversation.add_result(call, "noon")
    answer, question = session.begin()
    assert [message.role for message in question.messages] == ["user", "assistant", "tool"]
    assert question.messages[-1].content == "noon"
    assert session.answered(answer.id, "", 0, None) is None
    assert said(session) == ["Hi", "Let me see.", "noon"]
