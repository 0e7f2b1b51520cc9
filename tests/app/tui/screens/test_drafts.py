"""The draft picker times drafts."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from app.tui.chatting import Chat, command, notices, press, quiet, screen
from app.tui.screens.test_models import chatting, choose, lists, options, shown, until
from app.tui.scripted_client import ScriptedClient
from specchat.bench.samples import Estimate, Gain
from specchat.engine_process.protocol import DraftTimed, TaskFailed
from specchat.models.candidates import DraftCandidate
from specchat.models.last_pairs import DraftTiming, last_draft, read_timings, write_timings
from specchat.settings.options import ChatOptions
from specchat.tui.draft_timer import DraftTimer
from specchat.tui.screens.drafts import DraftsScreen
from specchat_engine.load_options import LoadOptions
from support.tiny_models import TinyModels, write_tiny_model

__all__ = ["options"]


def gain(speedup: float) -> DraftTimed:
    return DraftTimed(Gain(Estimate(speedup, None, (speedup - 0.1, speedup + 0.1), 4), 50.0 * speedup, 50.0, 0.7))


async def open_picker(pilot: Chat) -> None:
    await command(pilot, "/draft")
    await until(pilot, lambda: "fit" in str(pilot.app.screen.query_one("#panel").border_subtitle or ""))


def rows(pilot: Chat) -> list[str]:
    (listing,) = lists(pilot)
    return [str(listing.get_option_at_index(at).prompt) for at in range(listing.option_count)]


async def test_drafts_are_timed_ranked_and_the_best_is_kept_and_loaded(
    options: ChatOptions, tiny_models: TinyModels
) -> None:
    second = write_tiny_model(tiny_models.draft.with_name("second.gguf"), seed=5, like=1, layers=1)
    try:
        async with chatting(options) as (pilot, client):
            client.gains = {"draft": gain(1.42), "second": gain(1.7)}
            await open_picker(pilot)
            await pilot.press("f6")
            await until(pilot, lambda: "second is fastest" in shown(pilot))
            assert {path.stem for path in client.timed} >= {"draft", "second"}
            assert "second" in rows(pilot)[0]
            assert "1.70 × plain, measured" in rows(pilot)[0]
            assert "draft" in rows(pilot)[1]
            assert "1.42 × plain, measured" in rows(pilot)[1]
            assert "Measured: 1.70 × plain (95 % 1.60 to 1.80), 85.0 tokens/s, α 0.70" in shown(pilot)
            assert [one.speedup for one in read_timings(tiny_models.target)] == [1.7, 1.42]
            assert last_draft(tiny_models.target) == second
            await press(pilot, "enter")
            assert client.loaded[-1] == (tiny_models.target, second)
            assert len(client.loaded) == 2
    finally:
        second.unlink()


async def test_escape_stops_the_timing_then_closes_and_the_chats_pair_is_loaded_again(
    options: ChatOptions, tiny_models: TinyModels
) -> None:
    async with chatting(options) as (pilot, client):
        client.hold_timing = True
        await open_picker(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: "timing 50 %" in shown(pilot) and "Esc stops" in shown(pilot))
        await pilot.press("enter")
        assert "Esc stops that" in shown(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "stopped after 0 of" in shown(pilot))
        assert len(client.timed) == 1
        assert read_timings(tiny_models.target) == []
        await press(pilot, "escape")
        assert pilot.app.screen is screen(pilot)
        assert client.loaded == [(tiny_models.target, None)] * 2
        assert not notices(pilot)


async def test_nothing_is_timed_before_the_headers_are_read(options: ChatOptions) -> None:
    read = threading.Event()

    def judge() -> Iterator[DraftCandidate]:
        read.wait(600)
        return iter(())

    async with chatting(options) as (pilot, client):
        timer = DraftTimer(client, options.target, options.load, lambda: False)
        await pilot.app.push_screen(DraftsScreen("big", judge, timer, ()))
        await pilot.press("f6")
        assert "reading headers" in shown(pilot)
        read.set()


def test_a_timing_that_is_stopped_before_it_begins_ends_without_a_result(tiny_models: TinyModels) -> None:
    client = ScriptedClient(hold_timing=True)
    timer = DraftTimer(client, tiny_models.target, LoadOptions(), lambda: False)
    steps = timer.run([tiny_models.draft, tiny_models.target])
    timer.stop()
    assert [(step.gain, step.trouble) for step in steps] == [(None, "")]
    assert client.timed == [tiny_models.draft]
    assert client.stopped


async def test_a_draft_that_cannot_be_timed_says_why_and_the_others_are_timed(
    options: ChatOptions, tiny_models: TinyModels
) -> None:
    write_timings(tiny_models.target, [DraftTiming("/elsewhere/other.gguf", 1.2, "model", "4")])
    async with chatting(options) as (pilot, client):
        client.gains = {"draft": TaskFailed("the engine's process ended (SIGABRT)", died=True)}
        await open_picker(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: "no draft is faster than plain decoding here" in shown(pilot))
        await choose(pilot, "draft")
        assert "not timed" in next(row for row in rows(pilot) if " draft" in row)
        assert "It was not timed: the engine's process ended (SIGABRT)" in shown(pilot)
        assert [one.speedup for one in read_timings(tiny_models.target)] == [1.2]
        assert last_draft(tiny_models.target) is None


async def test_earlier_timings_are_in_the_list(options: ChatOptions, tiny_models: TinyModels) -> None:
    timed = DraftTiming(str(tiny_models.draft), 1.3, "model", "4", {"facts": 0.91, "copy": 0.5})
    write_timings(tiny_models.target, [timed])
    async with chatting(options) as (pilot, client):
        await open_picker(pilot)
        assert "1.30 × plain, measured" in rows(pilot)[0]
        assert "α by kind: facts 0.91 · copy 0.50" in shown(pilot)
        await press(pilot, "escape")
        assert len(client.loaded) == 1


async def test_drafts_are_not_timed_while_an_answer_runs(options: ChatOptions) -> None:
    async with chatting(options) as (pilot, client):
        client.hold_after = 1
        await pilot.press(*"Hi", "enter")
        await until(pilot, lambda: len(client.asked) == 1)
        screen(pilot).call_later(screen(pilot).model_windows.browse, "draft")
        await until(pilot, lambda: bool(pilot.app.screen.query("#facts")) and "✓ tokenizer" in shown(pilot))
        await pilot.press("f6")
        assert "an answer is running" in shown(pilot)
        assert client.timed == []
        await pilot.press("escape")
        client.go.set()
        await quiet(pilot)
