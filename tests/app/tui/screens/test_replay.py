"""The replay window."""

from pathlib import Path

from app.tui.chatting import Chat, ask, at_rest, chat, command, note, press, text_at
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.screens.explain import ExplainScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.screens.replay import Played, ReplayScreen
from specchat.tui.widgets.deck import DeckBar
from support.sample_traces import CAT, encoded, sample_trace


def played(pilot: Chat) -> Played:
    return pilot.app.screen.query_one(Played)


def rows(pilot: Chat) -> str:
    widget = played(pilot)
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


def controls(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one(DeckBar).render())


async def test_the_last_answer_plays_forward_and_back_round_by_round_and_is_explained() -> None:
    async with chat(ScriptedClient(script("> one| two~bad~> three|> four"))) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/replay")
        assert isinstance(pilot.app.screen, ReplayScreen)
        await pilot.press("end")
        await at_rest(pilot)
        assert "Who?" in rows(pilot)
        assert "one twobad three four" in rows(pilot)
        assert "round 3 of 3" in controls(pilot)
        await pilot.press("f12")
        await at_rest(pilot)
        assert isinstance(pilot.app.screen, ExplainScreen)
        assert "4 tokens in" in text_at(pilot, "text")
        await pilot.press("enter")
        await at_rest(pilot)
        assert isinstance(pilot.app.screen, HelpScreen)
        await pilot.press("escape", "escape")
        await pilot.press("left")
        await at_rest(pilot)
        assert "one twobad three▌" in rows(pilot)
        await pilot.press("left", "left")
        await at_rest(pilot)
        assert "round 0 of 3" in controls(pilot)
        assert "one" not in rows(pilot)
        await press(pilot, "escape")
        assert not pilot.app.screen.query(Played)


async def test_a_file_with_several_turns_plays_turn_by_turn_and_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    turns = [sample_trace(question="First?"), sample_trace(CAT[:1], question="Second?", ended=False)]
    file.write_text("".join(line for turn in turns for line in encoded(turn)))
    broken = tmp_path / "x.jsonl"
    broken.write_text("{}\n")
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/replay")
        assert "no answer yet" in note(pilot)
        await command(pilot, f"/replay {broken}")
        assert "is not a trace" in note(pilot)
        await command(pilot, f"/replay {file}")
        await pilot.press("end")
        await at_rest(pilot)
        assert "The cat sat on the red" in rows(pilot)
        await pilot.press("n", "end")
        await at_rest(pilot)
        assert "Second?" in rows(pilot)
        assert "the recording stops here" in rows(pilot)
