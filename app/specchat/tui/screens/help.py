"""The help: the keys, the colours, and what each figure means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.tui.legend import legend_rows

_KEYS = (
    ("Enter", "send"),
    ("Ctrl+J, Alt+Enter", "new line in the message"),
    ("↑ ↓", "earlier messages, on the first and the last line"),
    ("PgUp PgDn, Ctrl+Home End", "scroll the conversation"),
    ("Esc", "stop the answer, what was said stays; leave the knobs"),
    ("F2", "knobs: k, drafter, verifier … in force at the next round"),
    ("Ctrl+↑ ↓, Alt+↑ ↓", "raise or lower k, also while an answer streams"),
    ("F3", "the answer as trace, coloured, or Markdown"),
    ("F5", "freeze the answer, then one round a key; + slow motion, Enter goes on"),
    ("F6", "race: the last prompt plain and speculative, side by side"),
    ("F7", "statistics of the answer, the session, the pair; /why, /verify, /replay"),
    ("Ctrl+N", "new chat"),
    ("Ctrl+P", "commands, themes"),
    ("Ctrl+C", "copy the selection; twice quits"),
    ("Ctrl+Q", "quit"),
)
_FIGURES = (
    ("tok/s", "tokens a second while decoding, smoothed; exact when the answer ends"),
    ("× plain", "how much faster than the target alone, from plain passes timed here"),
    ("accepted", "accepted / drafted tokens"),
    ("α", "accepted / (accepted + rejected): discarded ones were never tested"),
    ("τ", "tokens gained by one pass of the target, its own included; at most k + 1"),
    ("by place", "how often the 1st, 2nd, … drafted token is accepted"),
    ("time", "where decoding time goes: drafting, the target's passes, the rest"),
    ("k", "the most tokens drafted in a round; 0 is plain decoding"),
    ("verifier", "the rule for drafted tokens; ≈ typical is lossy: it favours the draft"),
)


class HelpScreen(ModalScreen[None]):
    """One page over the chat."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Three short tables."""
        with VerticalScroll() as page:
            page.border_title = "specchat help"
            page.border_subtitle = "Esc closes"
            yield Static("Keys", classes="title")
            yield _table(_KEYS, "keys")
            yield Static("Colours", classes="title")
            yield Static(Content("\n").join(legend_rows()))
            yield Static("Figures", classes="title")
            yield _table(_FIGURES, "figures")


def _table(rows: Sequence[tuple[str, str]], name: str) -> Grid:
    cells = (Static(Content(text), classes=kind) for row in rows for text, kind in zip(row, ("name", ""), strict=True))
    return Grid(*cells, classes=name)
