"""How the commands for prompts and roles are read, completed and done."""

import pytest

from specchat.chat.commands.completing import complete
from specchat.chat.commands.invocations import (
    ForgetPrompt,
    ForgetRole,
    Refusal,
    SavePrompt,
    SaveRole,
    SetSystem,
    UsePrompt,
    UseRole,
)
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import parse
from specchat.chat.commands.saved import do_prompt, do_role
from specchat.chat.saved_texts import saved_prompts, saved_roles
from specchat.errors import ConfigError

SOURCES = Sources(
    prompts=lambda: (("translate", "Translate"), ("review", "Review this")), roles=lambda: (("tutor", "Explain"),)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/prompt", UsePrompt()),
        ("/prompt translate", UsePrompt("translate")),
        ("/prompt Translate  German two words", UsePrompt("translate", "German two words")),
        ("/prompt save mine", SavePrompt("mine")),
        ("/prompt forget review", ForgetPrompt("review")),
        ("/role", UseRole()),
        ("/role tutor", UseRole("tutor")),
        ("/role save mine", SaveRole("mine")),
        ("/role forget tutor", ForgetRole("tutor")),
        ("/role none", SetSystem(None)),
    ],
)
def test_prompts_and_roles_are_named(text: str, expected: object) -> None:
    assert parse(text, SOURCES) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/prompt translat German", "did you mean translate?"),
        ("/prompt save", "name the prompt: /prompt save NAME"),
        ("/prompt forget nothing", "there is no prompt nothing"),
        ("/role tutr", "did you mean tutor?"),
    ],
)
def test_a_name_that_nothing_has_is_a_line(text: str, why: str) -> None:
    found = parse(text, SOURCES)
    assert isinstance(found, Refusal)
    assert why in found.reason


def test_without_stored_prompts_the_line_says_how_to_store_one() -> None:
    found = parse("/prompt review", Sources())
    assert isinstance(found, Refusal)
    assert found.reason == "there is no prompt review: /prompt save review stores one"


def test_names_are_completed() -> None:
    offered = [item.text for item in complete("/prompt ", 8, SOURCES)]
    assert offered == ["translate", "review", "save ", "forget translate", "forget review"]
    assert [item.text for item in complete("/role ", 6, SOURCES)] == [
        "tutor",
        "none",
        "save ",
        "forget tutor",
    ]


def test_the_last_message_is_stored_and_comes_back_with_its_words() -> None:
    assert "/prompt mine writes it" in do_prompt(SavePrompt("mine"), "Explain {{what}}").words
    assert do_prompt(UsePrompt("mine", "the rule"), None).text == "Explain the rule"
    assert do_prompt(UsePrompt(), None).words.splitlines()[1:] == ["mine: Explain {{what}}"]
    do_prompt(ForgetPrompt("mine"), None)
    assert saved_prompts().names() == []


def test_without_a_message_nothing_is_stored() -> None:
    with pytest.raises(ConfigError, match="no message of yours yet"):
        do_prompt(SavePrompt("mine"), None)


def test_the_system_message_is_stored_as_a_role_and_comes_back() -> None:
    do_role(SaveRole("tutor"), "Explain slowly.")
    assert do_role(UseRole("tutor"), None).text == "Explain slowly."
    assert saved_roles().name_of("Explain slowly.") == "tutor"
    with pytest.raises(ConfigError, match="no system message to save"):
        do_role(SaveRole("other"), None)
