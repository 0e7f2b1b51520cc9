"""Code blocks and their numbers."""

from app.tui.chatting import ask, chat, command, note, seen
from app.tui.scripted_client import ScriptedClient, script

BLOCKS = "> First:\n\n```python\nx = 1\n```\n\n|> Then:\n\n```\ny = 2\n```\n\n|> done"


async def test_a_code_block_is_copied_by_the_number_that_it_shows() -> None:
    async with chat(ScriptedClient(script(BLOCKS)), size=(80, 24)) as pilot:
        await command(pilot, "/copy 1")
        assert "the last answer has no code blocks" in note(pilot)
        await ask(pilot)
        numbered = [row.split() for row in seen(pilot) if "x = 1" in row or "y = 2" in row]
        assert numbered == [["x", "=", "1", "1"], ["y", "=", "2", "2"]]
        await command(pilot, "/copy 3")
        assert "the last answer has 2 code blocks" in note(pilot)
        assert pilot.app.clipboard == ""
        await command(pilot, "/copy 2")
        assert pilot.app.clipboard == "y = 2"
        assert "code block 2" in note(pilot)
