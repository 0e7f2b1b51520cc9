"""/tag: what it reads, what it changes and what it says."""

from __future__ import annotations

import pytest

from specchat.chat.commands import invocations as asked
from specchat.chat.commands.completing import complete
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import parse
from specchat.chat.commands.tagging import TagsDone, do_tag

SOURCES = Sources(tags=lambda: (("work", "2 sessions"), ("home", "1 session")), own_tags=lambda: (("work", ""),))


@pytest.mark.parametrize(
    ("text", "invocation"),
    [
        ("/tag", asked.SetTags()),
        ("/tag Work #draft work", asked.SetTags(("work", "draft"))),
        ("/tag forget #work", asked.ForgetTags(("work",))),
        ("/tag #forget", asked.SetTags(("forget",))),
    ],
)
def test_tags_are_read_with_or_without_their_sign(text: str, invocation: asked.Invocation) -> None:
    assert parse(text, SOURCES) == invocation


@pytest.mark.parametrize(
    ("text", "reason"),
    [("/tag forget", "name the tag"), ("/tag a#b", "'a#b' cannot be a tag"), ("/tag #", "'#' cannot")],
)
def test_what_cannot_be_a_tag_is_refused(text: str, reason: str) -> None:
    refused = parse(text, SOURCES)
    assert isinstance(refused, asked.Refusal)
    assert reason in refused.reason


def test_the_tags_of_other_sessions_and_those_to_forget_are_offered() -> None:
    assert [(offer.text, offer.help) for offer in complete("/tag ", 5, SOURCES)] == [
        ("home", "1 session"),
        ("forget work", "removes it"),
    ]


@pytest.mark.parametrize(
    ("invocation", "done"),
    [
        (asked.SetTags(("draft",)), TagsDone("tags: #draft #work", ("draft", "work"))),
        (asked.SetTags(), TagsDone("tags: #work")),
        (asked.ForgetTags(("work",)), TagsDone("removed: #work", ())),
        (asked.ForgetTags(("home",)), TagsDone("this session has no tag #home")),
    ],
)
def test_what_a_command_does(invocation: asked.SetTags | asked.ForgetTags, done: TagsDone) -> None:
    assert do_tag(invocation, ("work",)) == done


def test_without_tags_the_command_says_how_to_add_one() -> None:
    assert "/tag work adds one" in do_tag(asked.SetTags(), ()).words
