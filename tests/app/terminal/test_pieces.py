from app.tui.scripted_client import script
from specchat.terminal.pieces import Ink, Inker, Piece


def pieces(notation: str) -> list[Piece]:
    inker = Inker()
    return [piece for event in script(notation) for piece in inker.pieces(event)]


def test_what_was_thrown_away_comes_directly_before_its_correction() -> None:
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


def test_no_escape_sequence_reaches_the_screen_from_any_kind_of_token() -> None:
    text = "".join(piece.text for piece in pieces("\x1b[31m~\x1b]0;x\x07~/\x9b5m/>\x1b|> [2J\u202e"))
    assert not set(text) & set("\x1b\x07\x9b\u202e")
