import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste

from app.tui.chatting import wait_until
from app.tui.prompting import prompting, sources_in
from specchat.chat.attachments import read_attachments
from specchat.chat.history import PromptHistory
from support.documents import write_pdf


async def test_a_message_goes_out_once_and_leaves_an_empty_prompt() -> None:
    async with prompting() as at:
        await at.press(*" Hi ", "enter", "enter")
        assert at.sent == ["Hi"]
        assert at.host.submitted[0].shown == "Hi"
        assert at.text == ""
        await at.press(*"/k @gone.py", "enter")
        assert at.sent == ["Hi", "/k @gone.py"], "where nothing completes them, these signs are text"
        assert at.offered == []


async def test_keys_and_pastes_behind_enter_belong_to_the_next_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.tui.widgets.handover._PATIENCE", 1000)
    async with prompting() as at:
        at.host.go.clear()
        await at.hurry(*"one", "enter", *"twx", "backspace", "o", "enter", *"three", Paste(" four"))
        text = at.text
        at.host.go.set()
        assert text == "one"
        await wait_until(lambda: at.text == "three four")
        assert at.sent == ["one", "two"]


async def test_a_message_that_is_not_taken_stays_and_keys_go_on_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.tui.widgets.handover._PATIENCE", 1000)
    async with asyncio.timeout(600), prompting() as at:
        at.host.busy = True
        await at.hurry(*"one", "enter", *" two")
        assert at.text == "one two"
        at.host.busy = False
        await at.press("enter")
        assert at.sent == ["one two"]


async def test_a_host_that_never_answers_does_not_hold_the_keys_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.tui.widgets.handover._PATIENCE", 0.05)
    async with prompting() as at:
        at.host.go.clear()
        await at.hurry(*"one", "enter", "x")
        await wait_until(lambda: at.text == "onex")
        at.host.go.set()


async def test_moving_and_deleting_keys_land_in_order_too() -> None:
    async with prompting() as at:
        await at.hurry(*"abc", "backspace", "d", "left", "left", "x", "home", "y", "end", "z", "ctrl+j", "w")
        assert at.text == "yaxbdz\nw"


async def test_a_new_line_is_a_key_away() -> None:
    async with prompting() as at:
        for key in ("ctrl+j", "alt+enter", "shift+enter"):
            await at.press("a", key, "b", "enter")
            assert at.sent.pop() == "a\nb", key


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (("a", "\\", "enter", "b", "enter"), "a\nb"),
        (("a", "\\", "\\", "enter"), "a\\\\"),
        (("a", "\\", "left", "left", "enter"), "a\\"),
    ],
    ids=["before the cursor", "two of them", "elsewhere"],
)
async def test_a_backslash_before_enter_starts_a_new_line_and_goes(keys: tuple[str, ...], sent: str) -> None:
    async with prompting() as at:
        await at.hurry(*keys)
        assert at.sent == [sent]


async def test_a_command_goes_out_as_what_it_asks_for_or_stays_with_its_reason(tmp_path: Path) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"/stats turn", "enter")
        assert at.host.commands == [("stats", "turn")]
        assert (at.sent, at.text) == ([], "")
        await at.press("up")
        assert at.text == "/stats turn"
        at.prompt.write("/k 99")
        await at.press("enter")
        assert at.host.refusals == ["k is '99': use auto, or a whole number from 0 to 32 (0 is plain decoding)"]
        assert at.text == "/k 99"
        await at.press("backspace", "enter")
        assert at.host.commands[1][0] == "k"
        await at.press(*"//k is what?", "enter")
        assert at.sent == ["/k is what?"]
        await at.press("up")
        assert at.text == "//k is what?"


async def test_a_named_file_goes_with_the_message_if_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"What is @b.py?", "enter")
        assert at.host.refusals[0].startswith("there is no file b.py")
        assert (at.sent, at.text) == ([], "What is @b.py?")
        at.prompt.write("What is @a.py?")
        await at.press("enter")
        assert at.sent == ["What is @a.py?\n\na.py:\n\n```py\nx = 1\n```"]
        assert at.host.submitted[0].shown == "What is @a.py?\n[a.py: about 1 token]"
        await at.press("up")
        assert at.text == "What is @a.py?"


async def test_a_file_named_in_a_long_paste_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    text = "\n".join(["@a.py and @gone.py"] * 30)
    async with prompting(sources_in(tmp_path)) as at:
        await at.paste(text)
        await at.press("enter")
        assert at.sent == [text]


async def test_a_document_is_read_before_the_message_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdf", reason="needs the extra specchat[files]")
    write_pdf(tmp_path / "a.pdf", "A page")
    typed = threading.Event()

    def read_later(*given: Any) -> Any:
        assert typed.wait(600)
        return read_attachments(*given)

    monkeypatch.setattr("specchat.tui.widgets.mention_reader.read_attachments", read_later)
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"Sum up @a.pdf", "enter", "x", "enter")
        typed.set()
        await at.host.workers.wait_for_complete()
        await at.press("y")
        assert at.sent == ["Sum up @a.pdf\n\na.pdf:\n\n```\nA page\n```"]
        assert at.text == "y", "the text cannot be changed while a document is read"


async def test_escape_stops_the_reading_and_keeps_the_message(tmp_path: Path) -> None:
    write_pdf(tmp_path / "a.pdf", "A page")
    async with prompting(sources_in(tmp_path)) as at:
        await at.hurry(*"@a.pdf ", "enter", "escape")
        assert at.host.refusals[-1] == "nothing was sent"
        await at.press("x")
        assert (at.sent, at.text) == ([], "@a.pdf x")


async def test_a_page_is_fetched_only_after_the_screen_agreed(tmp_path: Path) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"Sum up @http://127.0.0.1:9/a, please", "enter")
        assert [message.pages for message in at.host.pages] == [("http://127.0.0.1:9/a",)]
        assert (at.sent, at.host.refusals) == ([], [])
        at.host.pages[0].fetch()
        await at.host.workers.wait_for_complete()
        assert at.host.refusals[-1].startswith("http://127.0.0.1:9/a cannot be fetched")
        assert at.text == "Sum up @http://127.0.0.1:9/a, please"


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("{folder}/my photo.png", '@"{folder}/my photo.png" '),
        ("{folder}/my\\ photo.png\n", '@"{folder}/my photo.png" '),
        ("'{folder}/my photo.png'", '@"{folder}/my photo.png" '),
        ("file://{folder}/my%20photo.png", '@"{folder}/my photo.png" '),
        ("a.pdf", "@a.pdf "),
        ("gone.png", "gone.png"),
        ("a.txt", "a.txt"),
        ("see a.pdf", "see a.pdf"),
    ],
)
async def test_the_path_of_a_dropped_file_attaches_it(tmp_path: Path, pasted: str, expected: str) -> None:
    for name in ("my photo.png", "a.pdf", "a.txt"):
        (tmp_path / name).touch()
    async with prompting(sources_in(tmp_path)) as at:
        await at.paste(pasted.format(folder=tmp_path))
        assert at.text == expected.format(folder=tmp_path)
        at.prompt.write("See")
        await at.paste(pasted.format(folder=tmp_path))
        gap = " " if expected.startswith("@") else ""
        assert at.text == f"See{gap}{expected.format(folder=tmp_path)}", "a file keeps its distance"


async def test_a_message_that_comes_back_is_as_it_was_typed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with prompting(sources_in(tmp_path)) as at:
        await at.press(*"@a.py ", "enter")
        await at.paste("line\n" * 50)
        at.prompt.give_back(at.sent[0])
        assert at.text.startswith("[pasted"), "what is being written stays"
        at.prompt.write("")
        at.prompt.give_back(at.sent[0])
        assert at.text == "@a.py"
        at.prompt.write("")
        at.prompt.give_back("another")
        assert at.text == "another"


async def test_up_and_down_walk_through_what_was_sent_and_back_to_the_draft() -> None:
    async with prompting() as at:
        await at.press("a", "enter", "b", "enter", "b", "enter", "d", "up", "up")
        assert at.text == "a"
        await at.press("up")
        assert at.text == "a"
        await at.press("down", "down", "down")
        assert at.text == "d"
        await at.press("ctrl+j", "e", "up")
        assert at.text == "d\ne", "within several lines the cursor moves"
        await at.press("up")
        assert at.text == "b"


async def test_what_was_sent_is_there_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    async with prompting(history=PromptHistory(path)) as at:
        await at.press("a", "enter")
        await at.paste("line\n" * 50)
        await at.press("enter")
    async with prompting(history=PromptHistory(path)) as at:
        await at.press("up")
        assert at.text == "[pasted #1: 50 lines]"
        await at.press("enter", "up", "up")
        assert at.sent == ["line\n" * 50]
        assert at.text == "a"


async def test_keys_can_be_others() -> None:
    async with prompting() as at:
        at.host.set_keymap({"prompt.send": "ctrl+s,alt+s", "prompt.new_line": "enter"})
        await at.hurry("a", "enter", "b", "ctrl+s", "c")
        assert at.sent == ["a\nb"]
        assert at.text == "c"
        at.host.post_message(Key("alt+s", "s"))  # as terminals without kitty's protocol send it
        await at.pilot.pause()
        assert at.sent == ["a\nb", "c"]
        assert at.text == ""
