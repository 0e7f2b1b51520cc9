from app.tui.chatting import answer, ask, at_rest, chat, figures, header, note, press, prompt, quiet, seen, transcript
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


async def test_the_arrows_go_round_the_knobs_which_change_what_the_engine_uses_next() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await pilot.press("f2", "right", "down", "right", "down", "right", "down", "0", ".", "5", "enter")
        settings = client.settings[-1]
        assert (settings.k, settings.drafter, settings.verifier) == (4, "model", "rejection")
        assert settings.sampling.temperature == 0.5
        assert len(pilot.app.screen.query(KnobRow)) == 12
        await pilot.press("up", "up", "up", "up")
        assert isinstance(pilot.app.focused, LoadKnobRow)
        await pilot.press("down", "9", "9", "enter")
        assert "k is '99': use auto, or a whole number from 0 to 32" in note(pilot)
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


async def test_escape_stops_an_answer_first_which_stays_and_then_leaves_the_knobs() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await pilot.press("escape")
        assert not pilot.app.screen.query_one(Knobs).display
        await ask(pilot)
        await press(pilot, "f2", "escape")
        assert figures(pilot).startswith("stopped")
        assert pilot.app.screen.query_one(Knobs).display
        assert pilot.app.screen.active_bindings["escape"].binding.description == "Back"
        await pilot.press("escape")
        assert not pilot.app.screen.query_one(Knobs).display
        assert prompt(pilot).has_focus
        await ask(pilot, "More")
        assert [message.content for message in client.asked[-1]] == ["Hi", " Hello", "More"]


async def test_the_view_cycles_and_a_chosen_view_stays_when_the_answer_ends() -> None:
    client = ScriptedClient(script("> # Title\n\n|> text|~ b~> more"), hold_after=2)
    async with chat(client) as pilot:
        await ask(pilot)
        await pilot.press("f3")
        assert answer(pilot).view is View.COLOURED
        await pilot.press("f3")
        assert answer(pilot).view is View.MARKDOWN
        assert "  Title" in seen(pilot), "Markdown streams too"
        client.go.set()
        await quiet(pilot)
        assert answer(pilot).view is View.MARKDOWN
        assert "  text more" in seen(pilot)
        await pilot.press("f3")
        assert answer(pilot).view is View.TRACE


async def test_the_prompt_grows_to_six_rows() -> None:
    async with chat(ScriptedClient()) as pilot:
        prompt(pilot).write("a\n" * 9)
        await pilot.pause()
        assert prompt(pilot).size.height == 6


async def test_control_c_copies_a_selection_else_it_warns_once_and_quits_the_second_time() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await pilot.press("a", "b", "shift+left", "ctrl+c")
        await pilot.pause()
        assert pilot.app.clipboard == "b"
        assert "again quits" not in note(pilot)
        await pilot.press("home", "ctrl+c")
        await pilot.pause()
        assert "Ctrl+C again quits" in note(pilot)
        assert pilot.app.is_running
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert pilot.app.return_code == 0
    assert client.closed


async def test_a_selection_in_the_trace_is_copied_without_soft_line_breaks() -> None:
    async with chat(ScriptedClient(script("> some| words that are> longer| than> the row\n|> end")), (40, 20)) as pilot:
        await ask(pilot)
        await pilot.press("f3")
        transcript(pilot).text_select_all()
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert " some words that are longer than the row\n end\n" in pilot.app.clipboard


async def test_the_engine_reads_what_is_being_written_and_nothing_while_it_answers() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await pilot.press(*"Why")
        await at_rest(pilot, 0.4)
        assert client.prepared[-1][-1].content == "Why"
        await ask(pilot, "?")
        count = len(client.prepared)
        await pilot.press(*"And")
        await at_rest(pilot, 0.4)
        assert len(client.prepared) == count


async def test_page_up_in_the_prompt_shows_what_was_said_before_and_a_new_answer_leaves_it_there() -> None:
    client = ScriptedClient(script("|".join(f"> line {number}\n\n" for number in range(60))), hold_after=50)
    async with chat(client, (80, 24)) as pilot:
        await ask(pilot)
        said = transcript(pilot)
        assert said.scroll_y == said.max_scroll_y > 0
        await press(pilot, "pageup")
        place = said.scroll_y
        client.go.set()
        await quiet(pilot)
        assert said.scroll_y == place < said.max_scroll_y
        assert said.unseen > 0
        await press(pilot, "ctrl+end")
        assert said.scroll_y == said.max_scroll_y
