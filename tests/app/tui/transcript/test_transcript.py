from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from app.tui.scripted_client import script
from specchat.tui.appearance import DARK, DARK_NAME
from specchat.tui.transcript.answer import TranscriptAnswer, View
from specchat.tui.transcript.entries import Siblings, TranscriptEntry, UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.transcript.view import RAW_FORMULAS

CODE = "Two:\n\n```py\na = 1\n```\n\n```py\nb = 2\n```\n"
MESSAGES = (Transcript.OfEntry, Transcript.LinkClicked, Transcript.Left)


class Stage(App[None]):
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK_NAME
        self.posted: list[Message] = []

    def compose(self) -> ComposeResult:
        yield Transcript()

    def on_event_posted(self, message: Message) -> None:
        if isinstance(message, MESSAGES) and not any(message is known for known in self.posted):
            self.posted.append(message)


@asynccontextmanager
async def stage(
    *entries: TranscriptEntry, size: tuple[int, int] = (60, 20)
) -> AsyncIterator[tuple[Pilot[None], Transcript]]:
    app = Stage()
    async with app.run_test(size=size, message_hook=app.on_event_posted) as pilot:
        transcript = app.query_one(Transcript)
        transcript.load(entries)
        await pilot.pause()
        yield pilot, transcript


def rows(transcript: Transcript) -> list[str]:
    return [transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)]


def posted(pilot: Pilot[None]) -> list[Message]:
    found: list[Message] = pilot.app.posted  # type: ignore[attr-defined]
    return found


def described(messages: list[Message]) -> list[tuple[type[Message], dict[str, object]]]:
    """The type and the fields of each message."""
    return [(type(message), vars(message)) for message in messages]


def conversation(messages: int) -> list[TranscriptEntry]:
    return [
        UserMessage(f"question {number}")
        if number % 2 == 0
        else TranscriptAnswer.stored("guide", f"answer {number}\n\nmore", "ok")
        for number in range(messages)
    ]


def numbered(count: int) -> UserMessage:
    return UserMessage("\n".join(f"line {number}" for number in range(count)))


async def test_a_long_conversation_lays_out_only_its_end_until_the_user_scrolls_up() -> None:
    entries = conversation(1000)
    async with stage(*entries) as (pilot, transcript):
        assert "  ok" in rows(transcript)
        assert "  answer 999" in rows(transcript)
        assert sum(entry._rows is not None for entry in entries) < 60
        transcript.move("home")
        await pilot.pause()
        assert rows(transcript)[1] == "▌ question 0"
        for _ in range(5):
            transcript.move("page_down")
        transcript.move("end")
        assert "  answer 999" in rows(transcript)


async def test_scrolling_up_over_estimated_heights_never_jumps() -> None:
    entries = [
        TranscriptAnswer.stored("guide", f"one {number}" + "\n" * (number % 20) + f"two {number}")
        for number in range(200)
    ]
    async with stage(*entries, size=(30, 12)) as (pilot, transcript):
        before = rows(transcript)
        for _ in range(80):
            transcript.scroll_up(animate=False)
            await pilot.pause()
            now = rows(transcript)
            assert now[1:-2] == before[:-3]
            before = now


async def test_a_hint_counts_new_lines_and_a_click_or_the_key_goes_to_the_end() -> None:
    async with stage(numbered(60)) as (pilot, transcript):
        assert transcript.following
        transcript.move("page_up")
        await pilot.pause()
        place = transcript.scroll_y
        assert rows(transcript)[-1] == "  ↓ jump to end (Ctrl+End)"
        transcript.add(numbered(5))
        await pilot.pause()
        assert transcript.scroll_y == place
        assert rows(transcript)[-1] == "  ↓ jump to end (Ctrl+End) · 6 new lines"
        await pilot.click(Transcript, offset=(5, 19))
        await pilot.pause()
        assert transcript.following
        assert rows(transcript)[-2] == "▌ line 4"
        transcript.entries[-1].remove()
        assert rows(transcript)[-2] == "▌ line 59", "what is removed has no rows"
        transcript.focus()
        transcript.move("home")
        await pilot.pause()
        assert rows(transcript)[-1] == "  ↓ jump to end (End)"
        await pilot.press("end")
        assert transcript.following


async def test_sending_a_message_goes_to_the_end_even_while_an_answer_grows() -> None:
    async with stage(numbered(200)) as (pilot, transcript):
        answer = TranscriptAnswer("guide")
        transcript.add(answer)
        await pilot.pause()
        answer.append(script("> one\n" * 5))
        transcript.scroll_home(animate=False)
        answer.append(script("> two\n" * 5))
        assert not transcript.following
        transcript.add(UserMessage("sent"), follow=True)
        answer.append(script("> three\n" * 5))
        await pilot.pause()
        assert transcript.following
        assert transcript.scroll_y == transcript.max_scroll_y
        assert rows(transcript)[-2] == "▌ sent"


async def test_the_screen_shows_what_an_answer_adds_in_place_and_while_it_scrolls() -> None:
    answer = TranscriptAnswer("guide")
    async with stage(answer, size=(40, 8)) as (pilot, transcript):
        for number in range(30):
            answer.append(script(f"> w{number}"))
            await pilot.pause()
            assert f"w{number}" in pilot.app.export_screenshot()
        answer.append(script("> end\n" * 12))
        await pilot.pause()
        assert "w0" not in pilot.app.export_screenshot()
        assert transcript.scroll_y > 0


async def test_a_new_width_keeps_the_readers_place_even_while_an_answer_grows() -> None:
    answer = TranscriptAnswer("guide")
    text = " ".join(f"w{number}" for number in range(900))
    async with stage(UserMessage(text), answer, size=(80, 20)) as (pilot, transcript):
        transcript.scroll_to(y=15, animate=False)
        await pilot.pause()
        first = rows(transcript)[0].split()[1]
        answer.append(script("> more|> text"))
        for width in (40, 100, 80):
            await pilot.resize_terminal(width, 20)
            await pilot.pause()
            assert first in rows(transcript)[0].split(), width
        answer.append(script("> and| more> text"))
        assert first in rows(transcript)[0].split()


async def test_another_way_of_showing_formulas_keeps_the_readers_place() -> None:
    text = " ".join(f"w{number} $\\alpha_{{{number}}}$" for number in range(400))
    answer = TranscriptAnswer("guide")
    async with stage(answer, UserMessage(" ".join(f"v{number}" for number in range(900))), size=(60, 20)) as (
        pilot,
        transcript,
    ):
        answer.append(script(f"> {text}"))
        answer.finish("", None)
        await pilot.pause()
        transcript.scroll_to(y=transcript.max_scroll_y - 25, animate=False)
        await pilot.pause()
        first = rows(transcript)[0].split()[1]
        pilot.app.add_class(RAW_FORMULAS)
        transcript.lay_again()
        await pilot.pause()
        assert first in rows(transcript)[0].split()


async def test_a_thought_streams_unfolded_then_folds_and_unfolds_on_a_click() -> None:
    thinking = TranscriptAnswer("guide")
    async with stage(thinking) as (pilot, transcript):
        rounds = script(">x|> well|>y|> Yes")
        for place, tag in ((0, "<think>"), (2, "</think>")):
            rounds[place] = replace(rounds[place], token=replace(rounds[place].token, text=tag))
        thinking.append(rounds[:2])
        assert any(row.startswith("  ▾ thinking … 0.0 s · 2 tokens") for row in rows(transcript))
        assert any("well" in row for row in rows(transcript))
        thinking.append(rounds[2:])
        assert any(row.startswith("  ▸ thought for 0.0 s · 3 tokens · 645 tok/s") for row in rows(transcript))
        assert not any("well" in row for row in rows(transcript))
        at = next(y for y, row in enumerate(rows(transcript)) if "▸" in row)
        await pilot.click(Transcript, offset=(4, at))
        assert any("well" in row for row in rows(transcript))
        alone = TranscriptAnswer("guide")
        transcript.load([alone])
        alone.begin_inside("</think>")
        alone.append(script("> well|> then"))
        assert any(row.startswith("  ▾ thinking …") for row in rows(transcript))
        alone.finish("")
        assert any("well then" in row for row in rows(transcript)), "nothing follows it"
        alone.toggle_thought()
        assert not any("well then" in row for row in rows(transcript))


async def test_a_stored_answer_reads_its_trace_only_when_needed() -> None:
    asked: list[bool] = []

    def trace() -> list[object]:
        asked.append(True)
        return list(script(" a~ b~> c"))

    answer = TranscriptAnswer.stored("guide", " a c", "ok", trace=trace)  # type: ignore[arg-type]
    async with stage(answer) as (_, transcript):
        assert not asked
        assert answer.view is View.MARKDOWN
        answer.cycle_view()
        assert asked == [True]
        assert "   a b c" in rows(transcript)


async def test_keys_select_messages_and_post_what_to_do_with_them() -> None:
    question = UserMessage("Why?")
    async with stage(question, TranscriptAnswer.stored("guide", CODE, "ok")) as (pilot, transcript):
        transcript.focus()
        await pilot.pause()
        assert isinstance(transcript.selected, TranscriptAnswer)
        assert rows(transcript)[3].startswith("█ guide")
        await pilot.press("c", "b", "b", "b", "e", "r", "up", "e", "r", "down", "down")
        await pilot.pause()
        answer = transcript.entries[1]
        assert described(posted(pilot)) == described(
            [
                Transcript.Copy(answer, CODE),
                Transcript.Copy(answer, "a = 1", "code block 1 of 2"),
                Transcript.Copy(answer, "b = 2", "code block 2 of 2"),
                Transcript.Copy(answer, "a = 1", "code block 1 of 2"),
                Transcript.Request(answer, "edit"),
                Transcript.Request(answer, "regenerate"),
                Transcript.Request(question, "edit"),
                Transcript.Left(),
            ]
        )
        assert transcript.selected is None


async def test_arrows_and_clicks_ask_for_other_versions_and_a_link_opens_nothing() -> None:
    question = UserMessage("Why?", siblings=Siblings(2, 3))
    answer = TranscriptAnswer.stored("guide", "see [here](http://x.y/z)", "ok")
    async with stage(question, answer) as (pilot, transcript):
        assert rows(transcript)[1] == "▌ ‹2/3›"
        transcript.focus()
        await pilot.press("up", "left")
        await pilot.click(Transcript, offset=(6, 1))
        await pilot.click(Transcript, offset=(7, 5))
        await pilot.pause()
        assert described(posted(pilot)) == described(
            [
                Transcript.Sibling(question, -1),
                Transcript.Sibling(question, 1),
                Transcript.LinkClicked("http://x.y/z"),
            ]
        )


async def test_the_token_cursor_goes_over_every_token_and_is_marked() -> None:
    answer = TranscriptAnswer.stored("guide", " all moves on", "ok", trace=script(" all~ needs~/ a/> moves|> on"))
    async with stage(answer) as (pilot, transcript):
        transcript.focus()
        marks = []
        for key in ("t", "left", "left", "left", "up"):
            await pilot.press(key)
            marks.append(answer.cursor and (answer.cursor.round_index, answer.cursor.place))
        lines = [part for y in range(8) for part in transcript.render_line(y)]
        shown = "".join(part.text for part in lines if part.style is not None and part.style.reverse)
        assert shown.strip() == "needs"
        assert marks == [(1, 0), (0, 3), (0, 2), (0, 1), (0, 1)]
        await pilot.press("escape")
        assert answer.cursor is None


async def test_text_selected_with_the_mouse_has_no_soft_line_breaks() -> None:
    async with stage(UserMessage("one two three four five"), size=(15, 10)) as (pilot, _):
        await pilot.mouse_down(Transcript, offset=(2, 1))
        await pilot.hover(Transcript, offset=(6, 2))
        await pilot.mouse_up(Transcript, offset=(6, 2))
        await pilot.pause()
        assert (pilot.app.screen.get_selected_text() or "").startswith("one two three")


async def test_hostile_text_stays_inside_its_box() -> None:
    hostile = "\x1b[31m\x1b]0;x\x07\u202ee" + "\u0301" * 5000 + "👩\u200d👧 漢字\t\ud800" + "x" * 100_000 + "\r\rend"
    async with stage(UserMessage(hostile), TranscriptAnswer.stored("g\x1b[2J", hostile, "\x1b[0m")) as (_, transcript):
        for where in ("home", "end"):
            transcript.move(where)
            for y in range(transcript.size.height):
                strip = transcript.render_line(y)
                assert strip.cell_length == transcript.size.width
                assert not set(strip.text) & set("\x1b\x07\u202e\u200d\t\r\ud800")
                assert strip.text.count("\u0301") <= 4
