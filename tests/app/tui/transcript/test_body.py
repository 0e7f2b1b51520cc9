"""Answers stay inside their box in every view, while they stream and after they end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from app.tui.transcript.test_parts import event
from specchat.terminal.word_wrap import Line, drawn
from specchat.tui.transcript.body import PartBody, View
from specchat.tui.transcript.parts import Parts, ShownPart

HOSTILE = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202eright to left\u202c",
    "\u2067\u2069",
    "אב שלום",
    "👩\u200d👩\u200d👧",
    "🇩🇪🇩",
    "👍🏽",
    "e" + "\u0301" * 9,
    "क्षि",
    "漢字かな",
    "\r",
    "\t",
    "\n",
    "\u2028",
    "\ud800",
    "x" * 300,
    "漢" * 90,
    " ",
    " word",
    "`",
    "```\n",
    "| a | b |\n|---|---|\n",
    "- ",
    "> ",
    "<think>",
    "</think>",
]
TOKENS = st.lists(st.sampled_from(HOSTILE), max_size=4)
ROUNDS = st.lists(st.tuples(TOKENS, st.sampled_from(HOSTILE), st.sampled_from(["", *HOSTILE])), max_size=8)
WIDTHS = st.sampled_from([18, 40, 78])


def seen(line: Line) -> str:
    """What the terminal gets for a row."""
    return "".join(drawn(piece.text) for piece in (*line.prefix, *line.pieces))


def keeps_to_its_box(body: PartBody, width: int) -> None:
    """Check the rows of text. The heads of thoughts are one row each, cut when they are drawn."""
    head, text, figures = body.sections(unfolded=True)
    assert all(cell_len(seen(line)) <= width for line in text)
    for line in (*head, *text, *figures):
        assert not set(seen(line)) & set("\x1b\x07\x9b\u202e\u2067\u200d\t\r\n\u2028\ud800")


@pytest.mark.parametrize("view", list(View))
@settings(max_examples=60)
@given(rounds=ROUNDS, width=WIDTHS)
def test_hostile_text_keeps_to_its_box_in_every_view(
    view: View, rounds: list[tuple[list[str], str, str]], width: int
) -> None:
    parts = Parts()
    bodies: dict[int, tuple[ShownPart, PartBody]] = {}
    for index, (accepted, own, rejected) in enumerate(rounds):
        parts.take([event(index, accepted, own, rejected)])
        for number, part in enumerate(parts.parts):
            if number not in bodies or bodies[number][0] is not part or bodies[number][1].stale:
                bodies[number] = part, PartBody(part, number, view, width)
            keeps_to_its_box(bodies[number][1], width)
    parts.finish()
    for number, part in enumerate(parts.parts):
        keeps_to_its_box(PartBody(part, number, view, width), width)
