"""The help: the keys, the colours, what each figure means, the commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.chat.commands.registry import BY_NAME, COMMANDS, Command
from specchat.tui.legend import legend_rows

_KEYS = (
    ("prompt.send", "Enter", "send"),
    (
        "prompt.new_line",
        "Ctrl+J, Alt+Enter",
        "new line; so do \\ at a line's end, and Shift+Enter in many terminals",
    ),
    ("prompt.undo", "Ctrl+_", "undo in the message"),
    ("", "↑ ↓", "earlier messages, on the first and the last line"),
    ("prompt.search", "Ctrl+R", "search what was sent"),
    ("", "PgUp PgDn, Ctrl+Home End", "scroll the conversation"),
    ("", "Tab", "to the messages: ↑ ↓ choose one, its keys stand in the last row"),
    ("chat.stop", "Esc", "stop the answer, what was said stays; leave a panel"),
    ("chat.knobs", "F2", "knobs: k, drafter, verifier … in force at the next round"),
    ("", "Ctrl+↑ ↓, Alt+↑ ↓", "raise or lower k, also while an answer streams"),
    ("chat.view", "F3", "the answer as trace, coloured, or Markdown"),
    ("chat.inspect", "F4", "look at tokens: p, q, ranks, what else there was; branch there"),
    ("chat.step", "F5", "freeze the answer, then one round a key; + slow motion, Enter goes on"),
    ("chat.race", "F6", "race: the last prompt plain and speculative, side by side"),
    ("chat.statistics", "F7", "statistics of the answer, the session, the pair; /why, /verify, /replay"),
    ("chat.models", "F8", "models: what is here, what fits, the hub"),
    ("chat.figures", "F9", "explain the figures, one by one; once more hides them"),
    ("chat.take_advice", "Ctrl+T", "take the advice under the answer; /why says more"),
    ("chat.sessions", "Ctrl+O", "stored sessions: search, open, rename, delete"),
    ("chat.new", "Ctrl+N", "new chat"),
    ("app.palette", "Ctrl+P", "commands, themes"),
    ("chat.copy_or_quit", "Ctrl+C", "copy the selection; twice quits"),
    ("chat.suspend", "Ctrl+Z", "back to the shell for a while; fg comes back"),
    ("app.quit", "Ctrl+Q", "quit"),
)
"""The binding whose key it is, where there is one; its usual key; what it does."""

_FIGURES = (
    ("tok/s", "tokens a second while decoding, smoothed; exact when the answer ends"),
    ("× plain", "how much faster than the target alone, from plain passes timed here"),
    ("accepted", "accepted / drafted tokens"),
    ("α", "accepted / (accepted + rejected): discarded ones were never tested"),
    ("τ", "tokens gained by one pass of the target, its own included; at most k + 1"),
    ("by place", "how often the 1st, 2nd, … drafted token is accepted"),
    ("α needed", "the stroke is where drafting begins to pay, the line is α"),
    ("time", "where decoding time goes: drafting, the target's passes, the rest"),
    ("drafts", "who drafted: the draft model, or lookup in what was said"),
    ("k", "the most tokens drafted in a round, over the turn, and why so many; 0 is plain"),
    ("memory", "of both models, their caches, and what passes work in"),
    ("lookup", "what lookup searches: all that was said since the models were loaded, or this conversation"),
    ("verifier", "the rule for drafted tokens; ≈ typical is lossy: it favours the draft"),
)


class HelpScreen(ModalScreen[None]):
    """One page over the chat."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter", "dismiss", "Close", id="help.close")]

    def __init__(self, keymap: Mapping[str, str] | None = None, command: str | None = None) -> None:
        """`keymap` has the keys of the user's own choice, `command` is what is wanted to be known."""
        super().__init__()
        self._keymap = keymap or {}
        self._command = BY_NAME.get(command or "")

    def compose(self) -> ComposeResult:
        """Short tables; the command that was asked about comes first."""
        with VerticalScroll() as page:
            page.border_title = "specchat help"
            page.border_subtitle = "Esc closes"
            if self._command is not None:
                yield Static(f"/{self._command.name}", classes="title", markup=False)
                yield _table([_row(self._command)], "commands")
            yield Static("Keys", classes="title")
            yield _table([(self._key(name, usual), what) for name, usual, what in _KEYS], "keys")
            yield Static("Colours", classes="title")
            yield Static(Content("\n").join(legend_rows()))
            yield Static("Figures", classes="title")
            yield _table(_FIGURES, "figures")
            yield Static("Commands", classes="title")
            yield _table([_row(command) for command in COMMANDS], "commands")

    def _key(self, binding: str, usual: str) -> str:
        """The key as it is written, the user's own where there is one."""
        keys = self._keymap.get(binding)
        return ", ".join(written_key(key) for key in keys.split(",")) if keys else usual


def written_key(key: str) -> str:
    """A key as a user reads it: Ctrl+T."""
    return "+".join(part.capitalize() for part in key.strip().split("+"))


def _row(command: Command) -> tuple[str, str]:
    return f"/{command.name} {command.arguments}".strip(), command.help


def _table(rows: Sequence[tuple[str, str]], name: str) -> Grid:
    cells = (Static(Content(text), classes=kind) for row in rows for text, kind in zip(row, ("name", ""), strict=True))
    return Grid(*cells, classes=name)
