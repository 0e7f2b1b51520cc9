"""What /preset, /prompt and /role store, with the user's real files; and what /tag and /title change."""

import pytest

from app.chat.commands.recording_front_end import RecordingFrontEnd
from specchat.chat.commands.command import Refusal
from specchat.chat.commands.completion import complete
from specchat.chat.controller import Sources
from specchat.chat.saved_texts import saved_prompts, saved_roles
from specchat.settings.paths import presets_file
from specchat.settings.presets import BUILT_IN, read_presets

SOURCES = Sources(
    prompts=lambda: (("translate", "Translate"), ("review", "Review this")),
    roles=lambda: (("tutor", "Explain"),),
    tags=lambda: (("work", "2 sessions"), ("home", "1 session")),
    own_tags=lambda: (("work", ""),),
)


@pytest.fixture
def ui() -> RecordingFrontEnd:
    return RecordingFrontEnd()


async def test_a_saved_preset_can_be_applied(ui: RecordingFrontEnd) -> None:
    saved = await ui.give("/temp 0.4", "/set top-k 7", "/preset save letters")
    assert saved == "saved: /preset letters is temperature 0.4, top k 7"
    before = ui.chat.settings
    assert await ui.give("/temp 1", "/set top-k 9", "/preset letters") == "letters from the next round on"
    assert ui.chat.settings == before


async def test_every_preset_is_listed_until_it_is_removed(ui: RecordingFrontEnd) -> None:
    listed = await ui.give("/temp 0.4", "/preset save letters", "/preset")
    names = [line.partition(":")[0] for line in listed.splitlines()[1:]]
    assert names == [*(preset.name for preset in BUILT_IN), "letters"]
    await ui.give("/preset forget letters")
    assert read_presets() == BUILT_IN


@pytest.mark.parametrize("command", ["/preset save greedy", "/preset forget greedy"])
async def test_built_in_presets_cannot_be_changed(ui: RecordingFrontEnd, command: str) -> None:
    assert "'greedy' is built in" in await ui.give(command)
    assert not presets_file().exists()


async def test_the_last_message_is_stored_and_comes_back_with_its_words(ui: RecordingFrontEnd) -> None:
    ui.chat.session.ask("Explain {{what}}")
    assert "/prompt mine writes it" in await ui.give("/prompt save mine")
    await ui.give("/prompt mine the rule")
    assert ui.filled == ["Explain the rule"]
    assert (await ui.give("/prompt")).splitlines()[1:] == ["mine: Explain {{what}}"]
    await ui.give("/prompt forget mine")
    assert saved_prompts().names() == []
    assert await ui.give("/prompt") == "nothing is stored yet: /prompt save NAME"
    assert "no message of yours yet" in await RecordingFrontEnd().give("/prompt save mine")


async def test_the_system_message_is_stored_as_a_role_and_comes_back(ui: RecordingFrontEnd) -> None:
    await ui.give("/system Explain slowly.", "/role save tutor")
    assert saved_roles().name_of("Explain slowly.") == "tutor"
    assert "no system prompt to save" in await ui.give("/role none", "/role save other")
    await ui.give("/role tutor")
    assert ui.chat.conversation.session.system == "Explain slowly."
    assert "role tutor" in await ui.give("/system")


async def test_tags_are_added_removed_and_shown(ui: RecordingFrontEnd) -> None:
    assert "/tag work adds one" in await ui.give("/tag")
    assert await ui.give("/tag work", "/tag draft") == "tags: #draft #work"
    assert await ui.give("/tag forget home") == "this session has no tag #home"
    assert await ui.give("/tag forget work") == "removed: #work"
    assert await ui.give("/tag") == "tags: #draft"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("/prompt ", ["translate", "review", "save ", "forget translate", "forget review"]),
        ("/role ", ["tutor", "none", "save ", "forget tutor"]),
        ("/tag ", ["home", "forget work"]),
    ],
)
def test_names_are_completed(text: str, offered: list[str]) -> None:
    assert [item.text for item in complete(text, len(text), SOURCES)] == offered


async def test_a_session_gets_another_title(ui: RecordingFrontEnd) -> None:
    assert await ui.give("/title The lighthouse") == "the title of this session is “The lighthouse”"
    assert ui.chat.conversation.session.title == "The lighthouse"
    with pytest.raises(Refusal, match="/title TEXT"):
        await ui.give("/title")
