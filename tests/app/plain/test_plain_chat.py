"""The plain chat with scripted answers; `tests/e2e` runs the real one through a pipe."""

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.scripted_client import LOADED, ScriptedClient, Summarising, chat_options, script
from specchat.chat.archive import Archive, session_to_resume
from specchat.chat.commands.registry import commands
from specchat.chat.saved_texts import saved_prompts
from specchat.engine_process.protocol import Ended, Event, Notice, Offer, Recounted, ServerInfo, TaskFailed
from specchat.plain.chat import PlainChat
from specchat.plain.paper import Paper, SpokenAnswer
from specchat.settings.paths import sessions_db
from specchat.store.records import ToolUse
from specchat.store.store import Store
from specchat.terminal.filter import clean
from specchat_engine.decoding.rounds import PromptProgress, Round
from specchat_engine.prompt.messages import ToolCall
from support.clipboards import NO_IMAGE, FakeDesktop
from support.documents import write_picture
from support.sample_traces import UNKNOWN


class Chat:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.client = ScriptedClient()
        self.answers = io.StringIO()
        self.notes = io.StringIO()

    def __call__(self, *lines: str, resume: int | None = None, roles: bool = False) -> int:
        paper = Paper(self.answers, self.notes, roles=roles)
        chat = PlainChat(chat_options(), self.client, self.archive, paper)
        return chat.run(io.StringIO("".join(f"{line}\n" for line in lines)), resume)


@pytest.fixture
def chat() -> Iterator[Chat]:
    archive = Archive(sessions_db(), lambda _: None)
    yield Chat(archive)
    archive.close()


def test_an_answer_is_its_text_alone_the_figures_go_to_the_notes_and_another_answer_replaces_it(chat: Chat) -> None:
    assert chat("Hi", "/regen", "More") == 0
    assert chat.answers.getvalue() == " Hello there world\n" * 3
    assert chat.notes.getvalue().count(" tokens, ") == 3
    assert [len(messages) for messages in chat.client.asked] == [1, 1, 3]


def test_a_notice_during_an_answer_waits_for_its_end(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = chat.client.generate

    def noticed(*given: Any, **how: Any) -> Iterator[Event]:
        for event in generate(*given, **how):
            yield event
            if isinstance(event, Round) and event.index == 0:
                yield Notice("cores are busy")

    monkeypatch.setattr(chat.client, "generate", noticed)
    chat.notes = chat.answers
    chat("Hi")
    assert " Hello there world\n" in chat.answers.getvalue()
    assert "world\ncores are busy\n" in chat.answers.getvalue()


def test_a_long_prompt_is_said_to_be_read_once_in_a_while(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = chat.client.generate

    def slow(*given: Any, **how: Any) -> Iterator[Event]:
        yield PromptProgress(312, 1204, contended=True)
        yield PromptProgress(440, 1204, contended=True)
        yield from generate(*given, **how)

    monkeypatch.setattr(chat.client, "generate", slow)
    chat("Hi")
    assert "reading 312 of 1,204 tokens: other programs keep the cores busy…\n" in chat.notes.getvalue()
    assert "440" not in chat.notes.getvalue()


def test_an_answer_that_repeats_itself_is_named_while_it_is_written(chat: Chat) -> None:
    chat.client.rounds = script("> So" + "|> on|> and" * 120)
    chat.notes = chat.answers
    chat("Hi")
    before, after = chat.answers.getvalue().split("\nThe answer repeats the same 2 tokens: Ctrl+C stops it.\n")
    assert before.count("on and") > 60
    assert "on and" in after


def test_a_summary_is_said_and_read_from_the_next_message_on(chat: Chat) -> None:
    chat.client = Summarising()
    chat("One", "Two", "Three", "Four")
    assert "in place of the oldest turns: what was said" in chat.notes.getvalue()
    assert [message.content for message in chat.client.asked[-1]][:2] == [
        "Summary of the conversation so far:\nwhat was said",
        "Two",
    ]


def test_nothing_moves_a_cursor_or_has_a_colour(chat: Chat) -> None:
    chat.client.rounds = script("> \x1b[2Jred|\x1b]52;c;x\x07> end")
    chat("Hi", "/help", "/stats", "/nosuch")
    assert "\x1b" not in chat.answers.getvalue() + chat.notes.getvalue()
    assert "\x07" not in chat.answers.getvalue()


def test_a_figure_is_explained_in_words(chat: Chat) -> None:
    chat.client.rounds = script("> one| two~bad~/late/> three")
    chat("/explain alpha", "Hi", "/explain alpha", "/explain", "/explain nothing")
    notes = chat.notes.getvalue()
    assert "alpha is the share of compared tokens that were accepted." in notes
    assert "Of 2 drafted tokens that were compared with the target, 1 was accepted: 50 %." in notes
    assert "More: /help acceptance" in notes
    assert "/explain and a name explains a figure: speed, speedup, accepted, alpha" in notes
    assert "there is no figure 'nothing'" in notes


def test_a_backslash_continues_the_message(chat: Chat) -> None:
    chat("one \\", "two")
    assert [message.content for message in chat.client.asked[0]] == ["one \ntwo"]


def test_settings_change_by_command_and_what_they_do_not_change_is_said(chat: Chat) -> None:
    chat("/k 3", "/temp 0", "/think low", "/set think-tokens 64", "Hi", "/spec off", "Hi")
    first, second = chat.client.settings
    assert (first.k, first.sampling.temperature, first.thinking, first.think_tokens) == (3, 0.0, "low", 64)
    assert (second.k, second.sampling.temperature) == (0, 0.0)
    assert "think-tokens is 64 from the next answer on." in chat.notes.getvalue()
    assert "thinking is low from the next answer on." in chat.notes.getvalue()
    assert "no switch" in chat.notes.getvalue()


def test_a_level_without_effect_is_said_when_it_is_chosen_and_not_with_other_settings(chat: Chat) -> None:
    chat("/think high", "/temp 0", "/set top-k 9")
    assert chat.notes.getvalue().count("no effect") == 1


def test_a_command_that_cannot_be_done_says_why_and_the_chat_continues(chat: Chat) -> None:
    chat("/k many", "/knobs", "/race", "Hi")
    notes = chat.notes.getvalue()
    assert "k is 'many'" in notes
    assert "there is no command /knobs" in notes
    assert "needs the screen" in notes
    assert chat.answers.getvalue() == " Hello there world\n"


def test_the_statistics_are_sentences(chat: Chat) -> None:
    chat("Hi", "/stats")
    assert not any(sign in chat.notes.getvalue() for sign in "●○◆◇")
    assert "1 of 1 drafted tokens became part of the answer" in chat.notes.getvalue()


def test_sessions_are_stored_where_the_app_stores_them_and_can_be_continued(chat: Chat) -> None:
    chat("Hi", "/system Be short", "/k 2")
    chat.archive.close()
    with Store.open(sessions_db()) as store:
        session = store.sessions(1)[0]
        assert [message.content for message in store.messages(session.id)] == ["Hi", " Hello there world"]
        assert store.trace(store.messages(session.id)[1].id)
    chat.archive = Archive(sessions_db(), lambda _: None)
    chat("More", resume=session_to_resume("last", sessions_db()))
    assert [message.content for message in chat.client.asked[-1]] == ["Be short", "Hi", " Hello there world", "More"]
    assert chat.client.settings[-1].k == 2
    assert "Continuing “Hi”: 2 messages." in chat.notes.getvalue()


def test_an_answer_that_breaks_off_is_saved_as_far_as_it_went(chat: Chat) -> None:
    chat.client.failure = TaskFailed("the engine stopped", died=True)
    assert chat("Hi") == 0
    assert chat.answers.getvalue() == " Hello there world\n"
    assert "the engine stopped" in chat.notes.getvalue()
    chat.archive.close()
    with Store.open(sessions_db()) as store:
        session = store.sessions(1)[0]
        _, answer = store.messages(session.id)
        assert answer.content == " Hello there world"
        assert (answer.figures or "").startswith("the answer broke off")


def test_a_model_that_cannot_be_loaded_ends_the_chat(chat: Chat) -> None:
    chat.client.load_events = (TaskFailed("guide.gguf is not there"),)
    assert chat("Hi") == 1
    assert "guide.gguf is not there" in chat.notes.getvalue()


def test_what_is_special_about_a_loaded_pair_is_said(chat: Chat) -> None:
    chat.client.load_events = (replace(LOADED, notices=("4,096 tokens fit", "it goes on")),)
    chat("Hi")
    assert {"4,096 tokens fit", "it goes on"} <= set(chat.notes.getvalue().splitlines())


def test_a_listener_hears_the_roles_and_words_instead_of_signs(chat: Chat) -> None:
    chat.client.rounds = script("> One| two~three~> four")
    chat("Hi", "/stats", roles=True)
    notes = chat.notes.getvalue()
    assert notes.startswith(
        "specchat, builtin-guide 18M with the draft builtin-draft 2M. /help lists commands.\nYou: Answer:\n"
    )
    assert "1 of 2 drafted tokens accepted.]" in notes
    assert not set("×ατ⇠·") & set(notes)
    assert notes.endswith("\nYou: \n"), "the last line is ended if nobody writes on it"
    chat("/quit", roles=True)
    assert chat.notes.getvalue().endswith("\nYou: ")


def test_rejected_tokens_are_listed_only_on_request(chat: Chat) -> None:
    chat.client.rounds = script("> One| two~three~/five/> four|~\n~> six")
    chat("Hi")
    assert "three" not in chat.answers.getvalue() + chat.notes.getvalue()
    chat("Hi", "/replay")
    notes = chat.notes.getvalue().splitlines()[-3:]
    assert notes == [
        "Round 2: not “three” but “four”, 1 more discarded.",
        "Round 3: not a new line but “six”.",
        "1 accepted and 2 rejected in 3 rounds.",
    ]


def test_a_branch_of_a_tree_that_was_not_taken_is_no_rejection(chat: Chat) -> None:
    branched, wrong = script(" one two~deux~> three|~four~~quatre~/five/> six")
    chat.client.rounds = [replace(branched, parents=(-1, 0, 0)), replace(wrong, parents=(-1, -1, 0))]
    chat("Hi", "/replay")
    assert chat.notes.getvalue().splitlines()[-2:] == [
        "Round 2: not “four” or “quatre” but “six”, 1 more discarded.",
        "2 accepted and 1 rejected in 2 rounds.",
    ]


def test_a_session_is_continued_by_its_listed_number_and_found_by_its_tag(chat: Chat) -> None:
    chat("First", "/tag work", "/new", "Second", "/sessions", "/sessions 2", "More", "/sessions #work", "/sessions #no")
    assert "1: Second\n2: First #work\n/sessions and a number continues that one.\nContinuing “First”: 2 messages." in (
        chat.notes.getvalue()
    )
    assert [message.content for message in chat.client.asked[-1]] == ["First", " Hello there world", "More"]
    assert "1: First #work\n/sessions and" in chat.notes.getvalue()
    assert "No session has these words." in chat.notes.getvalue()


def written_as(*pieces: str) -> list[str]:
    """What is written at a time, of an answer that comes in these pieces."""
    written: list[str] = []

    class Recording(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    paper = Paper(Recording(), io.StringIO())
    for piece in pieces:
        paper.stream(piece)
    paper.end_answer()
    return [text for text in written if text]


def test_an_answer_is_written_a_sentence_at_a_time() -> None:
    pieces = (" spec", "ulat", "ive de", "coding.", " It", " works.\n", "- one\n- t", "wo")
    assert written_as(*pieces) == [" speculative decoding. ", "It works.\n", "- one\n", "- two", "\n"]


def test_a_long_sentence_is_written_before_its_end_in_whole_words() -> None:
    written = written_as(*["word "] * 60)
    assert len(written) > 2
    assert all(text == "\n" or set(text.split()) == {"word"} for text in written)


@given(st.text(), st.lists(st.integers(0, 200)))
def test_no_part_of_an_answer_is_lost_however_it_is_divided(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    whole = clean(text)
    assert "".join(written_as(*pieces)).removesuffix("\n") == whole.removesuffix("\n")


def test_rounds_that_are_counted_again_are_those_that_are_reported(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    generate = chat.client.generate

    def recounted(*given: Any, **how: Any) -> Iterator[Event]:
        for event in generate(*given, **how):
            if isinstance(event, Ended):
                yield Recounted(UNKNOWN)
            yield event

    monkeypatch.setattr(chat.client, "generate", recounted)
    chat("Hi", "/replay")
    assert "Round 2: not an unknown token but “sat”, 1 more discarded." in chat.notes.getvalue()


def test_a_server_lists_its_models_and_says_what_it_cannot_do(chat: Chat) -> None:
    server = ServerInfo("vLLM", "host:8000", models=("small", "large"))
    chat.client.load_events = (replace(LOADED, drafters=("remote",), server=server),)
    chat("/models", "/k 3", "/learn")
    notes = chat.notes.getvalue().splitlines()
    assert (
        "specchat, builtin-guide 18M with the draft builtin-draft 2M, vLLM at host:8000. /help lists commands." in notes
    )
    assert notes[1:4] == ["The models of vLLM at host:8000:", "small", "large"]
    assert "vLLM at host:8000 drafts as it was started: no request changes that" in notes
    assert "learning from chats needs a model on this machine: start specchat without --remote" in notes


def test_a_shell_command_runs_when_it_is_confirmed_and_goes_with_the_next_message(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chat("!touch made", "Hi", "!echo hello; exit 2", "!", "Why?", "More", "!!now", "!")
    assert not (tmp_path / "made").exists()
    assert f"This runs in {tmp_path}: touch made" in chat.notes.getvalue()
    said = [messages[-1].content for messages in chat.client.asked]
    assert said == [
        "Hi",
        "Why?\n\nOutput of `echo hello; exit 2` (exit code 2):\n\n```\nhello\n```",
        "More",
        "!now",
    ]
    assert "hello\nexit code 2; the next message" in chat.notes.getvalue()


def test_a_page_that_a_message_names_is_fetched_when_a_line_with_only_a_sign_says_so(chat: Chat) -> None:
    chat("Sum up @http://127.0.0.1:9/a", "@", "@", "/system Sum up @http://127.0.0.1:9/b", "@", "Hi")
    notes = chat.notes.getvalue()
    assert "This fetches http://127.0.0.1:9/a. A line with only @ does it." in notes
    assert notes.count("http://127.0.0.1:9/a cannot be fetched") == 1
    assert "This fetches http://127.0.0.1:9/b" not in notes, "only messages fetch pages"
    assert notes.count("Name a file or a page, such as @notes.txt.") == 2
    assert [messages[-1].content for messages in chat.client.asked] == ["Hi"]


def test_a_stored_prompt_is_read_out_and_sent_with_the_files_that_it_names(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a note")
    saved_prompts().save("page", "Sum up @notes.txt, and @http://127.0.0.1:9/a")
    saved_prompts().save("short", "Sum up @notes.txt in {{language}}")
    chat("/prompt page", "/prompt short German", "/prompt short")
    assert chat.notes.getvalue().count("This fetches http://127.0.0.1:9/a") == 1
    assert "Sum up @notes.txt in German\n" in chat.notes.getvalue()
    assert "It needs language: /prompt short and a word for each" in chat.notes.getvalue()
    (sent,) = (messages[-1].content for messages in chat.client.asked)
    assert sent.startswith("Sum up @notes.txt in German\n")
    assert "a note" in sent


def test_an_image_goes_to_a_model_that_sees_it(chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    monkeypatch.chdir(tmp_path)
    write_picture(tmp_path / "a.png", (4, 3))
    chat("What is @a.png?")
    assert len(chat.client.asked[0][-1].images) == 1
    assert "With the image a.png (4 × 3)." in chat.notes.getvalue()
    chat("What is @a.png?", "/export markdown out.md")
    assert "[image a.png (4 × 3)]\nWhat is @a.png?" in (tmp_path / "out.md").read_text("utf-8")
    chat.client.load_events = [replace(LOADED, no_images_because="it has no projector")]
    chat("What is @a.png?")
    assert len(chat.client.asked) == 2
    assert "The message was not sent: it has no projector." in chat.notes.getvalue()


def test_the_image_in_the_clipboard_goes_with_the_next_message(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    desktop = FakeDesktop(tmp_path / "programs", monkeypatch)
    desktop.copied(write_picture(tmp_path / "a.png", (4, 3)))
    chat("/paste", "What is this in @missing.txt?", "What is this?", "And now?")
    first, second = (messages[-1] for messages in chat.client.asked)
    assert len(first.images) == 1
    assert first.content.startswith("What is this? @clipboard-")
    assert (second.content, second.images) == ("And now?", ())
    assert ".png (4 × 3) goes with the next message.\n" in chat.notes.getvalue()
    desktop.program("xclip", NO_IMAGE)
    chat("/paste")
    assert "the clipboard has no image.\n" in chat.notes.getvalue()


def test_interrupting_a_shell_command_stops_it_and_not_the_chat(chat: Chat) -> None:
    chat(f"!kill -INT {os.getpid()}; sleep 1000", "!", "Hi")
    assert "stopped; the next message" in chat.notes.getvalue()
    assert len(chat.client.asked) == 1


class Terminal(io.StringIO):
    """Input at which somebody sits."""

    def isatty(self) -> bool:
        return True


SUM = ToolCall("calculate", '{"expression": "6 * 7"}', "call00000")
CALL, NO_CALL = (SUM,), ()


def typed(chat: Chat, *lines: str) -> None:
    PlainChat(chat_options(), chat.client, chat.archive, Paper(chat.answers, chat.notes)).run(
        Terminal("".join(f"{line}\n" for line in lines))
    )


def test_a_call_is_made_once_it_is_allowed_and_the_model_reads_the_result(chat: Chat) -> None:
    chat.client.calls = [CALL, NO_CALL, CALL]
    typed(chat, "Before", "/tools on builtin", "What is 6 * 7?", "once", "Thanks", "n")
    assert [len(offer.functions) for offer in chat.client.offers] == [0, 2, 2, 2, 2]
    asked = chat.client.asked[2]
    assert [message.role for message in asked[-3:]] == ["user", "assistant", "tool"]
    assert asked[-2].tool_calls == (SUM,)
    assert (asked[-1].content, asked[-1].tool_call_id, asked[-1].name) == ("42", "call00000", "calculate")
    assert chat.client.asked[4][-1].content == "the user did not allow this call"
    notes = chat.notes.getvalue()
    assert 'The model calls calculate with {"expression": "6 * 7"}. Allow it' in notes
    assert "calculate returned: 42\n" in notes


def test_nothing_is_allowed_if_nobody_can_be_asked(chat: Chat) -> None:
    chat.client.calls = [CALL]
    chat("/tools on builtin", "One", "always")
    assert "the input is not a terminal" in chat.notes.getvalue()
    assert "returned: 42" not in chat.notes.getvalue()
    assert chat.client.asked[2][-1].content == "always"


def test_only_a_named_file_is_read_and_only_in_this_chat(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chat.client.calls = [CALL, NO_CALL, CALL]
    (tmp_path / "notes.txt").write_text("remember")
    monkeypatch.chdir(tmp_path)
    typed(chat, "/tools file gone.txt", "/tools file notes.txt", "One", "n", "/new", "Two", "n")
    names = [[tool["function"]["name"] for tool in offer.functions] for offer in chat.client.offers]
    assert names[0] == ["current_time", "calculate", "read_file"]
    assert names[-1] == ["current_time", "calculate"]
    assert "there is no file gone.txt: correct its path" in chat.notes.getvalue()


def test_what_is_allowed_in_one_chat_is_asked_about_in_a_stored_one(chat: Chat) -> None:
    chat.client.calls = [CALL, NO_CALL, CALL, NO_CALL, CALL]
    typed(chat, "/tools on builtin", "One", "a", "/new", "Two", "a", "/sessions", "/sessions 2", "Three", "n")
    assert chat.notes.getvalue().count("Allow it") == 3


def test_a_stored_chat_goes_on_with_its_calls(chat: Chat) -> None:
    chat.client.rounds = script(">Let me see.|>[call]")
    chat.client.calls = [CALL]
    typed(chat, "/tools on builtin", "What is 6 * 7?", "o")
    chat.archive.close()
    with Store.open(sessions_db()) as store:
        (session,) = store.sessions()
        stored = store.messages(session.id)
    assert [message.role for message in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[1].tools == ToolUse((SUM,))
    assert stored[1].content == "Let me see."
    assert stored[2].tools == ToolUse((), "call00000", "calculate", seconds=stored[2].tools.seconds)


@pytest.mark.parametrize(
    ("offer", "read_out"),
    [
        (Offer(({"type": "function", "function": {"name": "calculate"}},)), "hmLet me see.\n"),
        (Offer(), "<think>hm</think>Let me see.CALL\n"),
    ],
)
def test_calls_are_not_read_out_as_part_of_the_answer(offer: Offer, read_out: str) -> None:
    call = '<tool_call>{"name": "calculate", "arguments": {}}</tool_call>'
    answers = io.StringIO()
    answer = SpokenAnswer(Paper(answers, io.StringIO()), LOADED, offer)
    for letter in f"<think>hm</think>Let me see.{call}":
        answer.begin_with(letter)
    answer.finish("")
    assert answers.getvalue() == read_out.replace("CALL", call)


def test_the_last_answer_is_edited_by_a_text_or_in_the_editor(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nprintf '%s, or so' \"$(cat $1)\" > $1\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    chat("/edit answer", "Hi", "/edit answer Well", "/edit answer", "/edit answer ")
    assert "There is no answer yet." in chat.notes.getvalue()
    assert chat.client.prefixes[1:3] == ["Well", "Well Hello there world, or so"]
    assert chat.answers.getvalue().splitlines()[1] == "Well Hello there world"
    assert all(len(messages) == 1 for messages in chat.client.asked)
    monkeypatch.setenv("EDITOR", "false")
    chat("Hi", "/edit answer")
    assert "false ended with exit code 1" in chat.notes.getvalue()


def test_an_export_replaces_a_file_only_when_the_command_is_given_again_at_once(chat: Chat, tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    export = f"/export markdown {path}"
    chat("Hi", export, "/stats", export)
    assert f"{path} exists. The same command again replaces it." in chat.notes.getvalue()
    assert path.read_text() == "mine"
    chat("Hi", export, export)
    assert "Hi" in path.read_text()


def test_every_command_does_something_or_says_that_it_needs_the_screen(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, command in commands().items():
        if name != "quit":
            chat.notes.truncate(chat.notes.seek(0))
            chat(*(f"/{name} {argument}" for argument in ("on", "answer yes", "x", "1", "")))
            assert ("This command needs the screen" in chat.notes.getvalue()) == (not command.plain or name == "edit")
