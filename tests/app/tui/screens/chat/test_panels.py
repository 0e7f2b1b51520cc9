"""The panel of figures in the chat: explained by keys, hidden and shown."""

from app.tui.chatting import Chat, ask, chat, press, prompt
from app.tui.scripted_client import ScriptedClient
from specchat.tui.widgets.dashboard import Dashboard


def panel(pilot: Chat) -> Dashboard:
    return pilot.app.screen.query_one(Dashboard)


def text(pilot: Chat) -> str:
    return str(panel(pilot).render())


async def test_keys_and_a_click_explain_one_figure_after_the_other_and_hide_the_panel() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        wide = pilot.app.screen.query_one("#transcript").size.width
        assert "The time to read the prompt" not in text(pilot)
        await press(pilot, "f9")
        assert "tokens in" in text(pilot)
        assert "read the prompt" in text(pilot)
        await press(pilot, "down", "down", "down")
        assert "were equal to it: α 1.00" in " ".join(text(pilot).split())
        await press(pilot, "escape")
        assert prompt(pilot).has_focus
        assert panel(pilot).display
        assert "were equal to it" not in text(pilot)
        row = next(at for at, line in enumerate(text(pilot).split("\n")) if "by place" in line)
        await pilot.click(Dashboard, offset=(5, row + 1))
        await pilot.pause()
        assert "The first token of a draft was accepted" in " ".join(text(pilot).split())
        await press(pilot, "f9")
        assert prompt(pilot).has_focus
        assert pilot.app.screen.query_one("#transcript").size.width > wide + 40
        await press(pilot, "f9")
        assert panel(pilot).has_focus
        assert pilot.app.screen.query_one("#transcript").size.width == wide


async def test_the_legend_is_shown_once_on_a_very_wide_screen_and_the_panel_on_a_narrow_one_for_a_while() -> None:
    async with chat(ScriptedClient(), (200, 50)) as pilot:
        legend = pilot.app.screen.query_one("#legend")
        assert panel(pilot).display
        assert not legend.display, "it stands below the panel"
        await press(pilot, "f9")
        await press(pilot, "f9")
        assert not panel(pilot).display
        assert legend.display
        await pilot.resize_terminal(80, 24)
        await press(pilot, "f9")
        assert panel(pilot).region.width == 80, "it stands over the conversation while it is looked at"
        assert panel(pilot).has_focus
        assert pilot.app.screen.query_one("#row").region.height == 1
        await press(pilot, "escape")
        assert panel(pilot).size.width == 0
        assert prompt(pilot).has_focus
