"""The inspector: what it shows of a token, and branches from there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.widgets import Static

from app.tui.chatting import Chat, ask, chat, header, quiet, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.screens.inspector import InspectorScreen


@asynccontextmanager
async def inspecting(client: ScriptedClient) -> AsyncIterator[Chat]:
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f4")
        await pilot.pause(0.8)
        assert isinstance(pilot.app.screen, InspectorScreen)
        yield pilot


def text(pilot: Chat, name: str) -> str:
    return str(pilot.app.screen.query_one(f"#{name}", Static).render())


async def test_the_last_round_is_shown_with_outcomes_and_alternatives() -> None:
    client = ScriptedClient(script("> one| two~bad~/late/> three"))
    async with inspecting(client) as pilot:
        assert "round 2 of 2" in text(pilot, "round")
        rows = text(pilot, "tokens").split("\n")[1:]
        assert [row[2] for row in rows] == ["●", "○", "·", "◆"]
        assert "rejected: the target drew ·three" in rows[1]
        assert "never compared" in rows[2]
        assert "inspecting" not in text(pilot, "others")


async def test_the_engine_inspects_the_marked_position_and_all_tokens_of_it() -> None:
    client = ScriptedClient(script("> one| two~bad~/late/> three"))
    async with inspecting(client) as pilot:
        await pilot.press("down")
        await pilot.pause(0.6)
        assert [(position, asked) for _, position, asked in client.inspected] == [(1, (1,)), (2, (1, 2))]
        assert client.inspected[0][0] == (2, 1, 2)
        assert "removed by top-k" in text(pilot, "others")


async def test_a_rejected_token_can_begin_a_branch() -> None:
    client = ScriptedClient(script("> one| two~bad~> three"))
    async with inspecting(client) as pilot:
        await pilot.press("down", "enter")
        await quiet(pilot)
        assert client.prefixes[-1] == (2, 1, 1)
        assert shown(pilot) == ["Who?", " one two three"]


async def test_raw_probabilities_are_one_key_away() -> None:
    client = ScriptedClient(script("> three"))
    async with inspecting(client) as pilot:
        assert "1.000" in text(pilot, "others")
        await pilot.press("r")
        assert "0.500" in text(pilot, "others")


async def test_a_running_answer_cannot_be_inspected() -> None:
    client = ScriptedClient(script("> one| two"), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f4")
        assert "when it is over" in header(pilot)


async def test_a_token_that_ends_the_answer_cannot_begin_a_branch() -> None:
    client = ScriptedClient(script("> one|>"))
    async with inspecting(client) as pilot:
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, InspectorScreen)
        assert "it ends the answer" in text(pilot, "others")
        assert len(client.asked) == 1
