"""What is said after an answer; `tests/app/stats` has the causes themselves."""

from dataclasses import replace

import pytest

from app.tui.chatting import Chat, answer, ask, chat, note, press, prompt, seen
from app.tui.scripted_client import ScriptedClient, ended, script
from specchat.stats.advice import Advice, AdviceHistory, Answered, Cause
from specchat.stats.summary import Figures
from specchat.traces.trace import Trace
from specchat.tui.screens.chat.advisor import Review, review
from specchat.tui.side_answer import answered
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import speedup_over_plain
from specchat_engine.settings import Settings

REJECTED = script("|".join(["~ a~/ b//c/> d"] * 90))
COSTLY = {"verify": [[1, 0.5], [4, 2.0], [8, 4.0]], "draft_step": 0.1}
PLAIN_MS = 0.375
"""C(1) when these rounds were made: their passes took three quarters of the time in the costs."""

START = {"type": "start", "messages": [{"role": "user", "content": "Hi"}], "machine": {"threads": 2}}


def trace(rounds: list[Round]) -> Trace:
    stats = ended(rounds).stats | {"speedup": speedup_over_plain(PLAIN_MS, Figures.of(rounds))}
    line = {"type": "end", "reason": "end", "text": "", "stats": stats, "costs": COSTLY}
    return Trace(START, tuple(rounds), line)


def looked(before: list[tuple[int, int]], settings: Settings, memory: AdviceHistory | None = None) -> Review:
    drafters = ("hybrid", "model", "lookup", "none")
    turn = answered(trace(REJECTED), settings, drafters, 32, len(before))
    return review(turn, before, memory or AdviceHistory())


def test_drafts_that_do_not_pay_are_reported_with_a_remedy() -> None:
    found = looked([], Settings(k=4))
    assert found.advice is not None
    assert found.advice.remedy is not None
    assert found.advice.remedy(Settings(k=4)).k == "auto"
    assert found.memory.answers == 1
    assert looked([], Settings(k=4), found.memory).advice is None, "it is not said again at once"


def test_without_advice_a_pair_that_was_better_before_is_mentioned() -> None:
    memory = looked([], Settings(k=4)).memory
    found = looked([(100, 80)] * 9, Settings(k=4), memory)
    assert found.notice is not None
    assert "the mean of this pair is 0.80" in found.notice
    assert looked([(100, 0)] * 9, Settings(k=4), memory).notice is None


ADVICE = Advice(Cause.LENGTH, "k 8 would have been 6 % faster here", 0.06, ("Measured.",), lambda s: replace(s, k=8))


def advises(monkeypatch: pytest.MonkeyPatch, advice: Advice | None) -> list[Answered]:
    turns: list[Answered] = []

    def causes(turn: Answered) -> dict[Cause, Advice]:
        turns.append(turn)
        return {}

    monkeypatch.setattr("specchat.tui.screens.chat.advisor.causes", causes)
    monkeypatch.setattr("specchat.tui.screens.chat.advisor.advise", lambda _found, memory: (advice, memory))
    return turns


async def ask_and_look_back(pilot: Chat) -> None:
    await ask(pilot)
    await pilot.app.workers.wait_for_complete()


async def test_advice_stands_under_the_answer_and_a_key_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = advises(monkeypatch, ADVICE)
    client = ScriptedClient()
    async with chat(client) as pilot:
        await ask_and_look_back(pilot)
        assert answer(pilot)._remarks == ["k 8 would have been 6 % faster here · Ctrl+T takes it · /why"]
        assert [turn.earlier_turns for turn in turns] == [0]
        await pilot.press("ctrl+t")
        assert client.settings[-1].k == 8
        await pilot.press("ctrl+t")
        assert "it is set so already" in note(pilot)
        await ask_and_look_back(pilot)
        assert [turn.earlier_turns for turn in turns] == [0, 1]
        assert "Hi" in turns[1].prompt


async def test_a_command_that_helps_waits_in_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    advises(monkeypatch, replace(ADVICE, remedy=None, command="/set threads 1"))
    async with chat(ScriptedClient()) as pilot:
        await ask_and_look_back(pilot)
        assert answer(pilot)._remarks == ["k 8 would have been 6 % faster here · Ctrl+T writes /set threads 1 · /why"]
        await pilot.press("ctrl+t")
        assert prompt(pilot).text == "/set threads 1"


async def test_a_stopped_answer_gets_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = advises(monkeypatch, ADVICE)
    async with chat(ScriptedClient(hold_after=1)) as pilot:
        await ask(pilot)
        await press(pilot, "escape")
        assert turns == []
        await pilot.press("ctrl+t")
        assert "there is no advice to take" in note(pilot)


async def test_long_advice_is_wrapped_and_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    advises(monkeypatch, replace(ADVICE, sentence="a word " * 20 + "and the end"))
    async with chat(ScriptedClient(), (80, 24)) as pilot:
        await ask_and_look_back(pilot)
        assert any(row.endswith("/why") for row in seen(pilot))
