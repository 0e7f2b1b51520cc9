"""The plain chat with scripted answers; `tests/e2e` runs the real one through a pipe."""

import io
from collections.abc import Iterator

import pytest

from app.tui.scripted_client import ScriptedClient, chat_options, script
from specchat.chat.archive import Archive
from specchat.paths import sessions_db
from specchat.plain.chat import PlainChat
from specchat.plain.paper import Paper
from specchat.resuming import session_to_resume
from specchat.store.store import Store
from specchat.worker.protocol import WorkerFailed


class Chat:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.client = ScriptedClient()
        self.answers = io.StringIO()
        self.notes = io.StringIO()

    def __call__(self, *lines: str, resume: int | None = None) -> int:
        chat = PlainChat(chat_options(), self.client, self.archive, Paper(self.answers, self.notes))
        return chat.run(io.StringIO("".join(f"{line}\n" for line in lines)), resume)


@pytest.fixture
def chat() -> Iterator[Chat]:
    archive = Archive(sessions_db(), lambda _: None)
    yield Chat(archive)
    archive.close()


def test_an_answer_is_its_text_alone_and_a_line_of_figures_stands_beside_it(chat: Chat) -> None:
    assert chat("Hi", "More") == 0
    assert chat.answers.getvalue() == " Hello there world\n Hello there world\n"
    assert chat.notes.getvalue().count("tok/s") == 2
    assert [len(messages) for messages in chat.client.asked] == [1, 3]


def test_nothing_moves_a_cursor_or_has_a_colour(chat: Chat) -> None:
    chat.client.rounds = script("> \x1b[2Jred|\x1b]52;c;x\x07> end")
    chat("Hi", "/help", "/stats", "/nosuch")
    assert "\x1b" not in chat.answers.getvalue() + chat.notes.getvalue()
    assert "\x07" not in chat.answers.getvalue()


def test_a_backslash_continues_the_message(chat: Chat) -> None:
    chat("one \\", "two")
    assert [message.content for message in chat.client.asked[0]] == ["one \ntwo"]


def test_settings_change_by_command(chat: Chat) -> None:
    chat("/k 3", "/temp 0", "Hi", "/spec off", "Hi")
    assert [(settings.k, settings.sampling.temperature) for settings in chat.client.settings] == [(3, 0.0), (0, 0.0)]


def test_a_command_that_cannot_be_says_why_and_the_chat_goes_on(chat: Chat) -> None:
    chat("/k many", "/knobs", "/race", "Hi")
    notes = chat.notes.getvalue()
    assert "k is 'many'" in notes
    assert "there is no command /knobs" in notes
    assert "needs the screen" in notes
    assert chat.answers.getvalue() == " Hello there world\n"


def test_another_answer_takes_the_place_of_the_last(chat: Chat) -> None:
    chat("Hi", "/regen", "More")
    assert [len(messages) for messages in chat.client.asked] == [1, 1, 3]


def test_the_statistics_are_sentences(chat: Chat) -> None:
    chat("Hi", "/stats")
    assert "1 of 1 drafted tokens became part of the answer" in chat.notes.getvalue()


def test_sessions_are_kept_where_the_app_keeps_them_and_go_on(chat: Chat) -> None:
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
    assert "Going on with “Hi”: 2 messages." in chat.notes.getvalue()


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_went(chat: Chat) -> None:
    chat.client.failure = WorkerFailed("the engine stopped", died=True)
    assert chat("Hi") == 0
    assert chat.answers.getvalue() == " Hello there world\n"
    assert "the engine stopped" in chat.notes.getvalue()
    chat.archive.close()
    with Store.open(sessions_db()) as store:
        session = store.sessions(1)[0]
        _, answer = store.messages(session.id)
        assert answer.content == " Hello there world"
        assert (answer.figures or "").startswith("the answer broke off")


def test_presets_are_listed_saved_and_put_in_force_line_by_line(chat: Chat) -> None:
    chat("/temp 0.3", "/preset save calm", "/temp 1", "/preset calm", "/preset", "Hi")
    assert [settings.sampling.temperature for settings in chat.client.settings] == [0.3]
    lines = chat.notes.getvalue().splitlines()
    assert "saved: /preset calm is temperature 0.3" in lines
    assert "calm: temperature 0.3" in lines


def test_a_model_that_cannot_be_loaded_ends_it(chat: Chat) -> None:
    chat.client.load_events = (WorkerFailed("guide.gguf is not there"),)
    assert chat("Hi") == 1
    assert "guide.gguf is not there" in chat.notes.getvalue()


def test_words_are_written_whole() -> None:
    written: list[str] = []

    class Recording(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    paper = Paper(Recording(), io.StringIO())
    for piece in (" spec", "ulat", "ive de", "coding", ".\n", "End"):
        paper.stream(piece)
    paper.end_answer()
    assert [text for text in written if text] == [" ", "speculative ", "decoding.\n", "End", "\n"]
