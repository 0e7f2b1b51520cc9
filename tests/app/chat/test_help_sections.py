from __future__ import annotations

from specchat.chat.commands.registry import commands
from specchat.chat.help_sections import command_sections, help_search
from specchat.manual.sections import Section, SectionAddress


def test_every_command_can_be_found_by_its_name_and_by_what_it_does() -> None:
    search = help_search()
    for command in commands().values():
        found = [hit.section.heading for hit in search.find(command.name)]
        assert f"/{command.name} {command.arguments}".strip() in found
    assert search.find("another answer to the last message")[0].section.heading == "/regen"


def test_the_plain_chat_finds_only_the_commands_that_it_has() -> None:
    headings = [section.heading for section in command_sections(plain=True)]
    assert "/theme [NAME]" not in headings
    stats = next(section for section in command_sections(plain=True) if section.heading.startswith("/stats"))
    assert stats.text == "A sentence for each figure of the last answer."


def test_more_sections_are_searched_too() -> None:
    more = Section(SectionAddress("Keys", "F99"), "Keys", "xyzzy")
    assert help_search((more,)).find("xyzzy")[0].section == more
