"""What the help can be searched for: the documentation, and a section for each command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specchat.chat.commands.registry import commands
from specchat.manual.search import ManualSearch
from specchat.manual.sections import DESIGN, Section, SectionAddress, docs

COMMANDS_PAGE = "Commands"


def command_sections(*, plain: bool = False) -> Iterator[Section]:
    """A section for each command; `plain` has those of the line-by-line chat, and what they do there."""
    for command in commands().values():
        if command.plain or not plain:
            yield Section(SectionAddress(COMMANDS_PAGE, command.heading), COMMANDS_PAGE, command.sentence(plain=plain))


def help_search(more: Sequence[Section] = (), *, plain: bool = False) -> ManualSearch:
    """A search over the commands, the documentation and `more`."""
    return ManualSearch((*command_sections(plain=plain), *more, *docs()), aside=DESIGN)
