"""Pictures of the transcript alone. Look at them when they change: `pytest --snapshot-update`, then open the SVG."""

from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from app.tui.scripted_client import script
from specchat.tui.appearance import DARK, DARK_NAME
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.entries import Siblings, TranscriptNotice, UserMessage
from specchat.tui.transcript.transcript import Transcript

MARKDOWN = """<think>
A function with a docstring.
</think>

# A function

Here is *one* with `code`, a [link](http://example.org) and **bold** words that go on until the row ends.

```python
def add(a: int, b: int) -> int:
    \"""Adds.\"""
    return a + b  # the sum
```

- one
- two
  1. deep

> quoted

| name | value |
|------|-------|
| α    | 0.88  |
| 漢字 | two   |
"""

Snapshot = Callable[..., bool]


class Stage(App[None]):
    AUTO_FOCUS = None

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK_NAME

    def compose(self) -> ComposeResult:
        yield Transcript()

    async def on_mount(self) -> None:
        traced = TranscriptAnswer.stored(
            "guide", " all moves on", "612 tok/s · α 0.50", trace=script(" all~ needs~/ a/> moves|> on")
        )
        self.query_one(Transcript).load(
            [
                UserMessage("Write a function\nthat adds.", siblings=Siblings(2, 3)),
                TranscriptAnswer.stored("guide", MARKDOWN, "612 tok/s · accepted 76 %", siblings=Siblings(1, 2)),
                TranscriptNotice("the engine was killed", failure=True),
                UserMessage("And then?"),
                traced,
            ]
        )


async def choose_a_token(pilot: Pilot[None]) -> None:
    transcript = pilot.app.query_one(Transcript)
    await pilot.pause()
    transcript.focus()
    await pilot.press("t", "left", "left", "left")
    await pilot.pause()


async def look_above(pilot: Pilot[None]) -> None:
    await pilot.pause()
    pilot.app.query_one(Transcript).move("home")
    pilot.app.query_one(Transcript).add(TranscriptNotice("one more"))
    await pilot.pause()


def test_a_conversation_with_a_marked_token(snap_compare: Snapshot) -> None:
    assert snap_compare(Stage(), terminal_size=(80, 42), run_before=choose_a_token)


def test_the_way_back_to_the_end(snap_compare: Snapshot) -> None:
    assert snap_compare(Stage(), terminal_size=(80, 24), run_before=look_above)
