"""Explanations: of the figures, by a key and by command, and of tokens."""

from __future__ import annotations

from textual.widgets import Static

from app.tui.chatting import Chat, ask, at_rest, chat, command, note, press, quiet, text_at
from app.tui.scripted_client import ScriptedClient, script
from specchat.stats.figures.figure import Explanation
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.explain import ExplainScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.widgets.listing import Listing

ROUNDS = "> one| two~bad~/late/> three| a b c> d"


def names(pilot: Chat) -> list[str]:
    found: list[Explanation] = [*pilot.app.screen.query_one("#names", Listing).items]
    return [one.name for one in found]


def marked(pilot: Chat) -> str:
    chosen = pilot.app.screen.query_one("#names", Listing).chosen
    assert chosen is not None
    return str(chosen.name)


async def test_one_key_explains_the_figures_with_the_answers_numbers_and_narrow_screens_show_one() -> None:
    async with chat(ScriptedClient(script(ROUNDS)), (80, 24)) as pilot:
        await ask(pilot)
        await press(pilot, "f12")
        assert isinstance(pilot.app.screen, ExplainScreen)
        assert names(pilot)[:4] == ["tok/s", "× plain", "accepted", "α"]
        await press(pilot, "down", "down", "down")
        assert "Of 5 drafted tokens that were compared with the target, 4 were accepted: 80 %." in text_at(
            pilot, "text"
        )
        await pilot.resize_terminal(50, 20)
        await quiet(pilot)
        assert not pilot.app.screen.query_one("#names").display
        await press(pilot, "up", "up")
        assert text_at(pilot, "text").startswith("× plain")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_a_question_mark_explains_a_figure_of_the_panel_the_selected_answer_and_its_token() -> None:
    async with chat(ScriptedClient(script(ROUNDS))) as pilot:
        await ask(pilot)
        await press(pilot, "f9")
        await press(pilot, "down", "down", "question_mark")
        assert marked(pilot) == "accepted"
        assert "4 of 6 drafted tokens became part of the answer" in text_at(pilot, "text")
        assert "coupled" in str(pilot.app.screen.query_one("#names", Listing).items[-1].value)
        await press(pilot, "escape", "escape")
        await press(pilot, "tab", "question_mark")
        assert marked(pilot) == "tok/s", "of the selected answer"
        await press(pilot, "escape")
        await press(pilot, "t", "up", "question_mark")
        assert [name[0] for name in names(pilot)] == ["●", "○", "·", "◆"], "of its marked token"


async def test_the_command_explains_one_figure_and_enter_reads_more() -> None:
    async with chat(ScriptedClient(script(ROUNDS)), (80, 24)) as pilot:
        await ask(pilot)
        await command(pilot, "/explain verifier ")
        assert marked(pilot) == "verifier"
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, HelpScreen)
        section = str(pilot.app.screen.query_one("#section Static", Static).render())
        assert "The drafter proposes k tokens." in " ".join(section.split())
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, ExplainScreen)


async def test_before_the_first_answer_figures_are_explained_in_general_and_an_unknown_one_is_not() -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/explain alpa ")
        assert "did you mean alpha?" in note(pilot)
        await press(pilot, "f12")
        assert "Tokens per second while decoding." in text_at(pilot, "text")


async def test_a_token_of_the_inspector_is_explained_beside_the_others_and_the_alternatives() -> None:
    async with chat(ScriptedClient(script("> one| two~bad~/late/> three"))) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f4")
        await at_rest(pilot, 0.4)
        await press(pilot, "down", "question_mark")
        assert marked(pilot) == "○ bad"
        assert "drew “·three”, so “bad” was rejected." in text_at(pilot, "text")
        assert len(names(pilot)) > 4
        await press(pilot, "down", "down")
        assert marked(pilot) == "◆ ·three"
        await press(pilot, *["down"] * len(names(pilot)))
        assert "ranks" in text_at(pilot, "text")
