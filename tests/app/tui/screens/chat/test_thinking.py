"""How much a model thinks: by command, in the header, in the session, and what is seen of the thought."""

from dataclasses import replace

import pytest

from app.tui.chatting import answer, ask, chat, command, header, note, quiet, seen
from app.tui.scripted_client import LOADED, ScriptedClient, chat_options, script
from specchat.chat.archive import session_to_resume
from specchat.settings.paths import sessions_db
from specchat.tui.app import SpecchatApp
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


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_the_level_has_room_on_narrow_and_wide_screens(size: tuple[int, int]) -> None:
    async with chat(client(), size) as pilot:
        await command(pilot, "/think medium")
        assert "think medium" in header(pilot)
        assert "hybrid · k auto" in header(pilot)


async def test_a_model_without_a_switch_says_so_and_its_header_claims_nothing() -> None:
    async with chat(client(ThinkingSwitch())) as pilot:
        await command(pilot, "/think high")
        assert "no switch" in note(pilot)
        assert "think high" not in header(pilot)


async def test_a_model_that_always_thinks_says_what_off_means() -> None:
    async with chat(client(WORDS)) as pilot:
        await command(pilot, "/think off")
        assert "its reasoning_effort is low instead" in note(pilot)


async def test_a_level_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    async with chat(client()) as pilot:
        await command(pilot, "/think hard")
        assert "use auto, on, off, low, medium or high" in note(pilot)
        await command(pilot, "/think")
        assert "thinking needs a value: use auto" in note(pilot)


async def test_the_session_keeps_the_level() -> None:
    async with chat(client()) as pilot:
        await ask(pilot)
        await command(pilot, "/think off")
        await quiet(pilot)
    scripted = client()
    app = SpecchatApp(chat_options(), scripted, resume=session_to_resume("last", sessions_db()))
    async with app.run_test(size=(140, 40)) as pilot:
        await quiet(pilot)
        assert "think off" in header(pilot)
        await ask(pilot)
        assert scripted.settings[-1].thinking == "off"


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
