import pytest
from textual.widgets import Static

from app.tui.chatting import chat
from app.tui.scripted_client import ScriptedClient


@pytest.mark.parametrize(("size", "stacked"), [((80, 24), False), ((40, 15), True)])
async def test_what_a_key_does_is_beside_it_or_below_it_where_that_is_too_narrow(
    size: tuple[int, int], stacked: bool
) -> None:
    async with chat(ScriptedClient(), size) as pilot:
        await pilot.press("f1")
        await pilot.pause()
        key, does = (pilot.app.screen.query(f".keys .{kind}").first(Static) for kind in ("name", "text"))
        assert (does.region.y > key.region.y) is stacked
        assert all(cell.region.width > 20 for cell in pilot.app.screen.query(".text"))
