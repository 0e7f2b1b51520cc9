from __future__ import annotations

from io import StringIO

from rich.console import Console

from specchat.terminal.filter import TerminalFilter
from specchat.terminal.palette import LOOKS
from specchat.terminal.pieces import round_text
from specchat_engine.decoding.rounds import Outcome, TokenKind
from support.sample_rounds import sample_round

CORRECTED = sample_round([("a", "The"), ("r", " dog\n"), ("d", " ran")], (TokenKind.CORRECTION, " cat"))


def printed(no_color: bool) -> str:
    console = Console(file=StringIO(), force_terminal=True, color_system="truecolor", no_color=no_color, width=80)
    console.print(round_text(CORRECTED, TerminalFilter()), end="")
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_rejected_token_stands_struck_through_before_its_correction() -> None:
    text = round_text(CORRECTED, TerminalFilter())
    assert text.plain == "The dog↵ cat"
    spans = {text.plain[span.start : span.end]: str(span.style) for span in text.spans}
    assert spans["The"] == LOOKS[Outcome.ACCEPTED].style
    assert "strike" in spans[" dog↵"]
    assert "underline" in spans[" cat"]


def test_without_colour_the_shapes_stay() -> None:
    assert "38;2;" in printed(no_color=False)
    plain = printed(no_color=True)
    assert "38;2;" not in plain
    assert "\x1b[2;9m" in plain
    assert "\x1b[4m" in plain


def test_hostile_tokens_are_filtered_also_over_the_border_of_rounds() -> None:
    stream = TerminalFilter()
    first = round_text(sample_round([("a", "x\x1b")], (TokenKind.BONUS, "\r")), stream)
    second = round_text(sample_round([("r", "\x1b]0;t\x07")], (TokenKind.CORRECTION, "\n[2J")), stream)
    assert first.plain + second.plain == "x\ufffd\n\ufffd]0;t\ufffd[2J"


def test_an_answer_that_an_accepted_token_ends_has_no_token_of_the_target() -> None:
    text = round_text(sample_round([("a", "End."), ("d", "x")], (TokenKind.NONE, "")), TerminalFilter())
    assert text.plain == "End."


def test_every_outcome_has_a_look_and_a_shape_or_glyph_of_its_own() -> None:
    assert set(LOOKS) == {*Outcome, *TokenKind}
    signs = [(look.attributes, look.glyph) for key, look in LOOKS.items() if key is not TokenKind.NONE]
    assert len(set(signs)) == len(signs)
