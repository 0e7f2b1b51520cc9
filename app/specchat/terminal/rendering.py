"""A round as coloured text: what was accepted, what the target refused, and what it said itself."""

from __future__ import annotations

from rich.text import Text

from specchat.terminal.filter import TerminalFilter, clean
from specchat.terminal.palette import LOOKS
from specchat_engine.decoding.rounds import Outcome, Round, TokenKind


def round_text(event: Round, stream: TerminalFilter) -> Text:
    """The round's part of the answer, with the rejected token struck through directly before its correction.

    `stream` is the filter of the whole answer; the rejected token is no part of it. Discarded tokens are left out.
    """
    text = Text()
    for token in event.drafted:
        if token.outcome is Outcome.ACCEPTED:
            text.append(stream.feed(token.text), LOOKS[token.outcome].style)
        elif token.outcome is Outcome.REJECTED:
            text.append(on_one_line(token.text), LOOKS[token.outcome].style)
    if event.token.kind is not TokenKind.NONE:
        text.append(stream.feed(event.token.text), LOOKS[event.token.kind].style)
    return text


def on_one_line(text: str) -> str:
    """A token's text, filtered, its line ends and tabs as visible signs: a refused newline must not break a line."""
    return clean(text).replace("\n", "↵").replace("\t", "⇥")
