"""Stored prompts and roles in the app."""

from pathlib import Path

from app.tui.chatting import ask, chat, command, note, notices, press, prompt, questions
from app.tui.scripted_client import ScriptedClient
from specchat.chat.saved_texts import saved_prompts, saved_roles


async def test_variables_are_asked_for_one_after_the_other() -> None:
    saved_prompts().save("translate", "Translate into {{language}}:\n{{text}}")
    client = ScriptedClient()
    async with chat(client) as pilot:
        await command(pilot, "/prompt translate")
        assert "fill in language, text" in note(pilot)
        assert prompt(pilot).selected_text == "{{language}}"
        await pilot.press(*"German", "tab")
        assert prompt(pilot).selected_text == "{{text}}"
        await press(pilot, *"hi", "enter")
        assert client.asked[0][0].content == "Translate into German:\nhi"


async def test_a_stored_prompt_is_written_with_its_words_and_a_variable_that_is_left_holds_it_once() -> None:
    saved_prompts().save("translate", "Into {{language}}: {{text}}")
    client = ScriptedClient()
    async with chat(client) as pilot:
        await command(pilot, "/prompt translate German")
        assert prompt(pilot).text == "Into German: {{text}}"
        await press(pilot, "enter")
        assert client.asked == []
        assert "not filled in: text" in note(pilot)
        await press(pilot, "enter")
        assert client.asked[0][0].content == "Into German: {{text}}"


async def test_the_last_message_is_saved_as_it_was_typed(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("a note")
    client = ScriptedClient()
    async with chat(client) as pilot:
        prompt(pilot).write(f"Sum up @{file} please")
        await press(pilot, "escape", "enter")
        assert questions(pilot)[0].raw.startswith("Sum up")
        assert "a note" in client.asked[0][0].content
        await command(pilot, "/prompt save sum ")
        assert saved_prompts().read("sum") == f"Sum up @{file} please"
        assert "saved: /prompt sum" in note(pilot)


async def test_a_role_is_the_system_prompt_from_the_next_message_on() -> None:
    saved_roles().save("tutor", "Explain slowly.")
    client = ScriptedClient()
    async with chat(client) as pilot:
        await command(pilot, "/role tutor ")
        await ask(pilot)
        assert [message.content for message in client.asked[0]] == ["Explain slowly.", "Hi"]
        await command(pilot, "/system ")
        assert notices(pilot)[-1] == "· The system prompt (role tutor): Explain slowly."
        await command(pilot, "/role none ")
        await ask(pilot)
        assert client.asked[1][0].content == "Hi"
