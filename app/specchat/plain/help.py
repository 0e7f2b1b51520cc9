"""`/help` in the plain chat: the commands, one of them, or what the docs have about some words."""

from __future__ import annotations

from specchat.chat.commands.registry import commands
from specchat.chat.help_sections import help_search
from specchat.manual.search import Hit, ManualSearch
from specchat.plain.paper import Paper, spoken
from specchat.terminal.pieces import MARKS

_MOST = 8


class PlainHelp:
    """Says what was asked for. The results of a search are numbered, and a number reads that section."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper
        self._search: ManualSearch | None = None
        self._found: list[Hit] = []

    def show(self, about: str | None = None) -> None:
        """`about` is a command, the number of a result, words to search for, or None for all commands."""
        if about is None:
            self._list()
        elif about in commands():
            self._command(about)
        elif about.isascii() and about.isdigit() and 0 < int(about) <= len(self._found):
            self._read(self._found[int(about) - 1])
        else:
            self._find(about)

    def _list(self) -> None:
        for command in commands().values():
            if command.plain:
                self._command(command.name)
        self._paper.say("!COMMAND runs a shell command, after asking; its output goes with the next message.")
        self._paper.say("Ctrl+C stops an answer. A backslash at the end of a line continues the message.")

    def _command(self, name: str) -> None:
        command = commands()[name]
        self._paper.say(f"{command.heading}: {command.sentence(plain=True)}")

    def _find(self, words: str) -> None:
        if self._search is None:
            self._search = help_search(plain=True)
        self._found = self._search.find(words, _MOST)
        for number, hit in enumerate(self._found, 1):
            excerpt = hit.excerpt
            for mark in MARKS:
                excerpt = excerpt.replace(mark, "")
            self._paper.say(f"{number}: {spoken(hit.section.name.replace(' › ', ', '))}: {spoken(excerpt)}")
        self._paper.say("/help and a number reads that." if self._found else "The help has nothing about these words.")

    def _read(self, hit: Hit) -> None:
        self._paper.say(f"{spoken(hit.section.name.replace(' › ', ', '))}:")
        for line in hit.section.text.splitlines():
            if line:
                self._paper.say(spoken(line))
