"""How much a model thinks: by command, in the header, in the session, and what is seen of the thought."""

from dataclasses import replace

import pytest

from app.tui.chatting import answer, ask, chat, command, header, note, quiet, seen
from app.tui.scripted_client import LOADED, ScriptedClient, script
from specchat_engine.prompt.thinking_switch import ThinkingSwitch

SWITCH = ThinkingSwitch("enable_thinking")
WORDS = ThinkingSwitch("", "reasoning_effort", {"low": "low", "medium": "medium", "high": "high"})


def client(switch: ThinkingSwitch = SWITCH, notation: str = "> Hello") -> ScriptedClient:
    return ScriptedClient(script(notation), load_events=(replace(LOADED, thinking=switch),))


async def test_the_level_goes_to_the_engine_and_stands_in_the_header() -> None:
    scripted = client()
    async with chat(scripted) as pilot:
        assert "think" not in header(pilot)
        await command(pilot, "/think low")
        assert "think low   ctx" in header(pilot)
        await ask(pilot)
        assert scripted.settings[-1].thinking == "low"
        await command(pilot, "/think auto")
        assert "think" not in header(pilot)
        await command(pilot, "/think medium")
        await pilot.resize_terminal(80, 24)
        await quiet(pilot)
        assert "think medium" in header(pilot)
        assert "hybrid · k auto" in header(pilot)


@pytest.mark.parametrize(
    ("switch", "level", "why"),
    [(ThinkingSwitch(), "high", "no switch"), (WORDS, "off", "its reasoning_effort is low instead")],
)
async def test_a_model_that_cannot_think_so_says_why(switch: ThinkingSwitch, level: str, why: str) -> None:
    async with chat(client(switch)) as pilot:
        await command(pilot, f"/think {level}")
        assert why in note(pilot)
        assert "think high" not in header(pilot)


async def test_a_thought_that_the_prompt_opened_is_one_from_its_first_token_on() -> None:
    scripted = client(notation="> Hm|> well|>x|> Yes")
    closing = scripted.rounds[2]
    scripted.rounds[2] = replace(closing, token=replace(closing.token, text="</think>"))
    scripted.opens_reasoning, scripted.hold_after = True, 2
    async with chat(scripted) as pilot:
        await ask(pilot)
        assert any("▾ thinking … 0.0 s · 2 tokens" in row for row in seen(pilot))
        scripted.go.set()
        await quiet(pilot)
        assert any("▸ thought for 0.0 s · 3 tokens · 645 tok/s" in row for row in seen(pilot))
        assert answer(pilot).has_thoughts
        assert any(row.strip() == "Yes" for row in seen(pilot))
