import pytest

from app.tui.chatting import (
    answer,
    ask,
    chat,
    figures,
    header,
    note,
    prompt,
    questions,
    quiet,
    transcript,
)
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.transcript.answer import View
from specchat.tui.widgets.knobs import KnobRow, Knobs
from specchat.tui.widgets.load_knobs import LoadKnobRow


async def test_k_turns_while_an_answer_streams_and_goes_to_the_engine_at_once() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot)
        await pilot.press("alt+up")
        assert client.settings[-1].k == 4, "one step from auto"
        await pilot.press("alt+up")
        assert client.settings[-1].k == 5
        assert "k 5 from the next round on" in note(pilot)


async def test_the_knobs_change_what_the_engine_uses_next() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await pilot.press("f2", "right", "down", "right", "down", "right", "down", "0", ".", "5", "enter")
        settings = client.settings[-1]
        assert (settings.k, settings.drafter, settings.verifier) == (4, "model", "rejection")
        assert settings.sampling.temperature == 0.5
        assert len(pilot.app.screen.query(KnobRow)) == 12
        await pilot.press("f2")
        assert prompt(pilot).has_focus


async def test_the_verifier_turns_while_an_answer_streams_and_a_lossy_one_stays_named_under_the_answer() -> None:
    client = ScriptedClient(script(" a> b| c> d"), hold_after=1)
    async with chat(client, (80, 24)) as pilot:
        await ask(pilot)
        assert "● active · hybrid · k auto" in header(pilot)
        await pilot.press("f2", "down", "down", "t", "enter")
        assert client.settings[-1].verifier == "typical"
        assert "≈ lossy typical · hybrid · k auto" in header(pilot)
        assert "typical ≈lossy" in str(pilot.app.focused.render())  # type: ignore[union-attr]
        await pilot.press("right")
        assert "● active · hybrid · k auto" in header(pilot)
        client.go.set()
        await quiet(pilot)
        assert figures(pilot).endswith(" · ≈ typical (lossy)")


async def test_an_answer_under_the_usual_rule_says_nothing_of_it_and_one_where_nothing_was_drafted_neither() -> None:
    client = ScriptedClient(script(" a> b"))
    async with chat(client) as pilot:
        await ask(pilot)
        assert "coupled" not in figures(pilot)
        await pilot.press("f2", "down", "down", "t", "enter", "f2")
        client.rounds = script("> a|> b")
        await ask(pilot)
        assert "tok/s" in figures(pilot)
        assert "lossy" not in figures(pilot)


async def test_escape_stops_an_answer_first_and_then_leaves_the_knobs() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await pilot.press("escape")
        assert not pilot.app.screen.query_one(Knobs).display
        await ask(pilot)
        await pilot.press("f2", "escape")
        await quiet(pilot)
        assert figures(pilot).startswith("stopped")
        assert pilot.app.screen.query_one(Knobs).display
        assert pilot.app.screen.active_bindings["escape"].binding.description == "Back"
        await pilot.press("escape")
        assert not pilot.app.screen.query_one(Knobs).display
        assert prompt(pilot).has_focus


async def test_the_arrows_go_round_and_round_the_knobs() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("f2", "up")
        assert isinstance(pilot.app.focused, LoadKnobRow)
        await pilot.press("down", "down")
        assert isinstance(pilot.app.focused, KnobRow)
        assert pilot.app.focused.knob.label == "drafter"


async def test_a_knob_says_why_a_typed_value_cannot_be() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("f2", "9", "9", "enter")
        assert "k is '99': use auto, or a whole number from 0 to 32" in note(pilot)


async def test_escape_stops_the_answer_and_keeps_what_was_said() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot)
        await pilot.press("escape")
        await quiet(pilot)
        assert figures(pilot).startswith("stopped")
        await ask(pilot, "More")
        assert [message.content for message in client.asked[-1]] == ["Hi", " Hello", "More"]


async def test_the_view_cycles_and_a_chosen_view_stays_when_the_answer_ends() -> None:
    client = ScriptedClient(script("> a|~ b~> c|> d"), hold_after=2)
    async with chat(client) as pilot:
        await ask(pilot)
        await pilot.press("f3")
        assert answer(pilot).view is View.COLOURED
        client.go.set()
        await quiet(pilot)
        assert answer(pilot).view is View.COLOURED
        await pilot.press("f3")
        assert answer(pilot).view is View.MARKDOWN
        await pilot.press("f3")
        assert answer(pilot).view is View.TRACE


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_a_new_line_is_a_key_away(key: str) -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await pilot.press("a", key, "b", "enter")
        await quiet(pilot)
        assert client.asked[0][0].content == "a\nb"


async def test_the_prompt_grows_to_six_rows() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*["a", "ctrl+j"] * 9)
        await pilot.pause()
        assert prompt(pilot).size.height == 6


async def test_up_on_the_first_line_brings_back_what_was_sent() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot, "one")
        await ask(pilot, "two")
        await pilot.press("n", "up", "up")
        assert prompt(pilot).text == "one"
        await pilot.press("down", "down")
        assert prompt(pilot).text == "n"


async def test_control_c_once_warns_and_twice_quits() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "Ctrl+C again quits" in note(pilot)
        assert pilot.app.is_running
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert pilot.app.return_code == 0
    assert client.closed


async def test_control_c_copies_a_selection_instead() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("a", "b", "shift+left", "ctrl+c")
        await pilot.pause()
        assert pilot.app.clipboard == "b"
        assert "again quits" not in note(pilot)


async def test_a_selection_in_the_trace_is_copied_without_soft_line_breaks() -> None:
    async with chat(ScriptedClient(script("> some| words that are> longer| than> the row\n|> end")), (40, 20)) as pilot:
        await ask(pilot)
        await pilot.press("f3")
        transcript(pilot).text_select_all()
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert " some words that are longer than the row\n end\n" in pilot.app.clipboard


async def test_a_new_chat_is_empty_and_forgets_the_running_answer() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "old")
        await pilot.press("ctrl+n")
        await quiet(pilot)
        assert not questions(pilot)
        client.hold_after = None
        await ask(pilot, "new")
        assert [message.content for message in client.asked[-1]] == ["new"]
        assert answer(pilot).text == " Hello there world"


async def test_the_transcript_follows_its_end_only_while_the_user_is_there() -> None:
    lines = "|".join(f"> line {number}\n\n" for number in range(60))
    client = ScriptedClient(script(lines), hold_after=50)
    async with chat(client, (80, 24)) as pilot:
        await ask(pilot)
        shown = transcript(pilot)
        assert shown.scroll_y == shown.max_scroll_y > 0
        await pilot.press("pageup")
        await quiet(pilot)
        place = shown.scroll_y
        client.go.set()
        await quiet(pilot)
        assert shown.scroll_y == place < shown.max_scroll_y
        assert shown.unseen > 0
        await pilot.press("ctrl+end")
        await quiet(pilot)
        assert shown.scroll_y == shown.max_scroll_y


async def test_the_help_opens_and_closes() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("f1")
        await pilot.pause()
        assert len(pilot.app.screen_stack) == 2
        await pilot.press("escape")
        await pilot.pause()
        assert len(pilot.app.screen_stack) == 1


async def test_the_engine_reads_what_is_being_written_and_nothing_while_it_answers() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await pilot.press(*"Why")
        await pilot.pause(0.6)
        assert client.prepared[-1][-1].content == "Why"
        await ask(pilot, "?")
        told = len(client.prepared)
        await pilot.press(*"And")
        await pilot.pause(0.6)
        assert len(client.prepared) == told
