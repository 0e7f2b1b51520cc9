from __future__ import annotations

from io import StringIO

from rich.console import Console

from app.tui.scripted_client import script
from specchat.terminal.filter import TerminalFilter
from specchat.terminal.palette import LOOKS
from specchat.terminal.pieces import Ink, Inker, Piece, round_text
from specchat_engine.decoding.rounds import Outcome, TokenKind
from support.drawn_rounds import sample_round
from support.sample_traces import UNKNOWN


def pieces(notation: str) -> list[Piece]:
    inker = Inker()
    return [piece for event in script(notation) for piece in inker.pieces(event)]


def test_rejected_and_discarded_tokens_come_before_their_correction() -> None:
    assert pieces(" all~ needs~> moves") == [
        Piece(" all", Ink.ACCEPTED),
        Piece(" needs", Ink.REJECTED),
        Piece(" moves", Ink.CORRECTION),
    ]


def test_the_targets_token_is_a_bonus_after_a_full_accept_and_plain_where_nothing_was_drafted() -> None:
    assert [piece.ink for piece in pieces(" one> two|> three")] == [Ink.ACCEPTED, Ink.BONUS, Ink.PLAIN]


def test_few_discarded_tokens_are_shown_and_many_are_folded() -> None:
    assert [piece.text for piece in pieces("~ a~/ b//c/> d")] == [" a", " b", "c", " d"]
    assert [piece.text for piece in pieces("~ a~/ b//c//e/> d")] == [" a", "⋯", " d"]


def test_a_rejected_line_end_is_a_sign_and_breaks_no_line() -> None:
    assert pieces("~\n~> x")[0].text == "↵"


def test_a_rejected_space_is_visible() -> None:
    assert pieces("~  ~> x")[0].text == "␣␣"


def test_an_unknown_drafted_token_is_a_sign() -> None:
    assert [*Inker().pieces(UNKNOWN[1])] == [
        Piece(" cat", Ink.ACCEPTED),
        Piece("▯", Ink.REJECTED),
        Piece("▯", Ink.DISCARDED),
        Piece(" sat", Ink.CORRECTION),
    ]
    assert round_text(UNKNOWN[1], TerminalFilter()).plain == " cat▯ sat"


def test_no_escape_sequence_reaches_the_screen_from_any_kind_of_token() -> None:
    text = "".join(piece.text for piece in pieces("\x1b[31m~\x1b]0;x\x07~/\x9b5m/>\x1b|> [2J\u202e"))
    assert not set(text) & set("\x1b\x07\x9b\u202e")


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


def test_hostile_tokens_are_filtered_across_rounds() -> None:
    stream = TerminalFilter()
    first = round_text(sample_round([("a", "x\x1b")], (TokenKind.BONUS, "\r")), stream)
    second = round_text(sample_round([("r", "\x1b]0;t\x07")], (TokenKind.CORRECTION, "\n[2J")), stream)
    assert first.plain + second.plain == "x\ufffd\n\ufffd]0;t\ufffd[2J"


def test_an_answer_that_ends_on_an_accepted_token_has_no_target_token() -> None:
    text = round_text(sample_round([("a", "End."), ("d", "x")], (TokenKind.NONE, "")), TerminalFilter())
    assert text.plain == "End."


def test_every_outcome_has_a_look_and_a_shape_or_glyph_of_its_own() -> None:
    assert set(LOOKS) == {*Outcome, *TokenKind}
    signs = [(look.attributes, look.glyph) for key, look in LOOKS.items() if key is not TokenKind.NONE]
    assert len(set(signs)) == len(signs)
