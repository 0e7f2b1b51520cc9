"""What can stand at the cursor: a command's name, its argument, or a file after an `@`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from specchat.chat.commands.command import Command, Files, unquoted
from specchat.chat.commands.registry import commands
from specchat.chat.controller import Sources
from specchat.chat.mentions import mention_at, paths_beginning, written
from specchat.terminal.filter import clean_line

MOST = 200

_TYPED = re.compile(r"/([^\s/]*)(\s+)?")


@dataclass(frozen=True, slots=True)
class Completion:
    """A text for the characters from `start` to `end` of what is typed, and a few words about it."""

    text: str
    help: str
    start: int
    end: int

    def applied(self, typed: str) -> tuple[str, int]:
        """The completed text, and the place of the cursor in it."""
        return typed[: self.start] + self.text + typed[self.end :], self.start + len(self.text)


def complete(text: str, cursor: int, sources: Sources) -> list[Completion]:
    """What completes the word before the cursor, the most likely first; nothing in an ordinary word."""
    match = _TYPED.match(text)
    if match is None or not 0 < cursor <= _line_end(text):
        return _files_mentioned(text, cursor, sources)
    if cursor <= match.end(1):
        return _names(text[1:cursor].lower(), match.end(1))
    command = commands().get(match[1].lower())
    if command is None or not match[2] or cursor < match.end():
        return []
    return _arguments(command, text, match.end(), cursor, sources)


def is_open_ended(text: str) -> bool:
    """True for a command that takes more than what is offered, so that Enter sends it as it is."""
    match = _TYPED.match(text)
    command = commands().get(match[1].lower()) if match and match[2] else None
    return command is not None and command.open_ended


def _names(typed: str, end: int) -> list[Completion]:
    return [
        Completion(f"/{command.name}{' ' if command.arguments else ''}", command.help, 0, end)
        for command in commands().values()
        if command.name.startswith(typed)
    ]


def _arguments(command: Command[Any], text: str, start: int, cursor: int, sources: Sources) -> list[Completion]:
    before = ""
    for index, words in enumerate(command.words):
        last = index == len(command.words) - 1
        gap = None if last else re.compile(r"\S+\s+").match(text, start, cursor)
        if gap is not None:
            before, start = gap[0].strip().lower(), gap.end()
            continue
        end = _line_end(text) if last else _word_end(text, start)
        offered = words if isinstance(words, Files) else words(sources, before)
        if isinstance(offered, Files):
            return _files(text[start:cursor], start, end, sources)
        return list(_matching(offered, text[start:cursor], start, end, "" if last else " "))
    return []


def _matching(names: Iterable[tuple[str, str]], typed: str, start: int, end: int, after: str) -> Iterator[Completion]:
    """Names that begin with the typed text, then, if it has two letters or more, those that contain it."""
    offered = [(clean_line(name), clean_line(words), name.endswith(" ")) for name, words in names]
    typed = typed.casefold()
    for begins in (True, False) if len(typed) > 1 else (True,):
        for name, words, goes_on in offered:
            if typed in name.casefold() and name.casefold().startswith(typed) is begins:
                yield Completion(name + (" " if goes_on else after), words, start, end)


def _files(typed: str, start: int, end: int, sources: Sources) -> list[Completion]:
    return [
        Completion(written(path, closed=not path.endswith("/")), "", start, end)
        for path in paths_beginning(unquoted(typed), sources.folder)[:MOST]
    ]


def _files_mentioned(text: str, cursor: int, sources: Sources) -> list[Completion]:
    mention = mention_at(text, cursor)
    if mention is None:
        return []
    typed = unquoted(text[mention.start + 1 : cursor])
    completions = []
    for path in paths_beginning(typed, sources.folder)[:MOST]:
        folder = path.endswith("/")
        after = "" if folder or text[mention.end :].startswith((" ", "\n")) else " "
        completions.append(Completion(f"@{written(path, closed=not folder)}{after}", "", mention.start, mention.end))
    return completions


def _word_end(text: str, start: int) -> int:
    space = re.compile(r"\s").search(text, start)
    return space.start() if space else len(text)


def _line_end(text: str) -> int:
    end = text.find("\n")
    return end if end >= 0 else len(text)
