"""The first page of the help: keys, colours, figures, commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textual.containers import Grid
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from specchat.chat.commands.command import Command
from specchat.chat.commands.registry import commands
from specchat.manual.sections import Section, SectionAddress
from specchat.stats.figures import FIGURES
from specchat.stats.figures.answer import VERIFIER
from specchat.tui.appearance import legend_rows
from specchat.tui.keymap import written_key

_KEYS = (
    ("prompt.send", "Enter", "send"),
    (
        "prompt.new_line",
        "Ctrl+J, Alt+Enter",
        "new line; so do \\ at a line's end, and Shift+Enter in many terminals",
    ),
    ("prompt.editor", "Ctrl+X Ctrl+E, Alt+E", "write the message in $VISUAL or $EDITOR"),
    ("prompt.paste_image", "Alt+V, Ctrl+V", "add the image in the clipboard; so does /paste"),
    ("", "!COMMAND", "run a shell command; its output goes with the next message, Esc stops it"),
    ("", "/vi", "vi's keys in the message: Esc for commands, i a o to write; Esc again stops the answer"),
    ("prompt.undo", "Ctrl+_", "undo in the message"),
    ("", "↑ ↓", "earlier messages, on the first and the last line; in an empty prompt, the last queued message"),
    ("prompt.search", "Ctrl+R", "search the messages you sent"),
    ("", "PgUp PgDn, Ctrl+Home End", "scroll the conversation"),
    ("", "Tab", "go to the messages: ↑ ↓ select one, the last row lists its keys"),
    ("chat.stop", "Esc", "stop the answer and keep what there is; leave a panel"),
    ("chat.knobs", "F2", "knobs: k, drafter, verifier …, effective from the next round"),
    ("", "Ctrl+↑ ↓, Alt+↑ ↓", "raise or lower k, even while an answer streams"),
    ("chat.view", "F3", "the answer as trace, coloured, or Markdown"),
    ("chat.inspect", "F4", "inspect tokens: p, q, ranks, alternatives; branch from one"),
    ("chat.step", "F5", "pause the answer, then one round a key; + slow motion, Enter continues"),
    ("chat.race", "F6", "race: the last prompt plain and speculative, side by side"),
    ("chat.statistics", "F7", "statistics of the answer, the session, the pair; /why, /verify, /replay"),
    ("chat.models", "F8", "models: on this machine, recommended, on the hub"),
    ("chat.figures", "F9", "explain the figures one by one; again to hide them"),
    ("chat.explain", "F12", "explain the figures with the answer's numbers; ? on a figure, an answer or a token"),
    ("chat.take_advice", "Ctrl+T", "follow the advice below the answer; /why says more"),
    ("chat.sessions", "Ctrl+O", "stored sessions: search, open, rename, delete"),
    ("chat.new", "Ctrl+N", "new chat"),
    ("chat.swap", "F10", "the conversation beside this one, which /beside shows"),
    ("app.palette", "Ctrl+P", "commands, themes"),
    ("chat.copy_or_quit", "Ctrl+C", "copy the selection; twice to quit"),
    ("chat.suspend", "Ctrl+Z", "suspend to the shell; fg resumes"),
    ("app.quit", "Ctrl+Q", "quit"),
)
"""The id of the binding, if there is one; its default key; what it does."""

_LOOKUP = "what prompt lookup searches: all chats since the models were loaded, or this conversation"


def key_of(keymap: Mapping[str, str], binding: str, usual: str) -> str:
    """The key of a binding as it is written: the user's own if there is one."""
    keys = keymap.get(binding)
    return ", ".join(written_key(key) for key in keys.split(",")) if keys else usual


def key_sections(keymap: Mapping[str, str]) -> Iterator[Section]:
    """A section for each key, for the search."""
    for binding, usual, what in _KEYS:
        yield Section(SectionAddress("Keys", key_of(keymap, binding, usual)), "Keys", what)


def help_page(keymap: Mapping[str, str], first: Command[Any] | None = None) -> Iterator[Widget]:
    """Short tables, a command that was asked about first."""
    if first is not None:
        yield Static(f"/{first.name}", classes="title", markup=False)
        yield _table([(first.heading, first.help)], "commands")
    yield Static("Keys", classes="title")
    yield _table([(key_of(keymap, name, usual), what) for name, usual, what in _KEYS], "keys")
    yield Static("Colours", classes="title")
    yield Static(Content("\n").join(legend_rows()))
    yield Static("Figures", classes="title")
    yield _table([*_figures()], "figures")
    yield Static("Commands", classes="title")
    yield _table([(command.heading, command.help) for command in commands().values()], "commands")


def _figures() -> Iterator[tuple[str, str]]:
    """The figures of the panel, and two settings that it does not show."""
    for figure in FIGURES:
        if figure is VERIFIER:
            yield "lookup", _LOOKUP
        if figure.help:
            yield figure.label, figure.help


def _table(rows: Sequence[tuple[str, str]], name: str) -> Grid:
    cells = (
        Static(Content(text), classes=kind) for row in rows for text, kind in zip(row, ("name", "text"), strict=True)
    )
    return Grid(*cells, classes=name)
