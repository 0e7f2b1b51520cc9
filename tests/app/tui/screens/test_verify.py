"""/verify: the last answer once more, plainly."""

from textual.widgets import Static

from app.tui.chatting import Chat, ask, chat, command, header, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.screens.verify import VerifyScreen


async def told(pilot: Chat) -> str:
    for _ in range(60):
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, VerifyScreen)
        text = str(pilot.app.screen.query_one("#told", Static).render())
        if text[0] in "✓✕" and "looking closer" not in text:
            return text
    raise AssertionError(text)


async def test_equal_texts_are_reported_and_the_conversation_is_unchanged() -> None:
    client = ScriptedClient(script("> one| two> three"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/verify")
        assert "3 tokens, all equal" in await told(pilot)
        assert (client.settings[-1].k, client.settings[-1].max_tokens) == (0, 3)
        assert client.noises[0] == client.noises[1]
        await pilot.press("escape")
        assert shown(pilot) == ["Who?", " one two three"]


async def test_the_first_difference_is_inspected() -> None:
    client = ScriptedClient(script("> one| two> three"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.variants = [script("> one|> two")]
        await command(pilot, "/verify")
        text = await told(pilot)
        assert "part at token 2: the answer says ·two, plain decoding ·two" in text
        assert "survive top-k" in text
        assert [(position, asked) for _, position, asked in client.inspected] == [(1, (1, 2))]


async def test_a_plain_answer_needs_no_window() -> None:
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/verify")
        assert "plain already" in header(pilot)
