import pytest

from app.tui.chatting import Chat, answer, ask, chat, header, note, press, prompt, questions, quiet
from app.tui.scripted_client import ScriptedClient
from specchat.stats.advice import Advice, Answered, Cause
from specchat.tui.screens.chat.tour import STEPS, Tour
from specchat.tui.transcript.body import View
from specchat.tui.widgets.step_bar import TourBar
from specchat_assets import TARGET_NAME
from specchat_engine.settings import Settings

DRAFTERS = ("hybrid", "model", "lookup", "none")


def test_the_tour_goes_step_by_step_to_its_end_and_shows_what_each_gave() -> None:
    tour = Tour(builtin=True)
    assert tour.title.startswith("Tour 1 of 5: what you see")
    for place, step in enumerate(STEPS):
        assert tour.step is step
        assert ("α 0.80" in tour.text) is (place > 0)
        tour.answered("612 tok/s · α 0.80")
    assert tour.step is None
    assert "That was all" in tour.text
    assert "may fare otherwise" in Tour(builtin=False).text
    tour = Tour(builtin=True)
    assert "may fare otherwise" not in tour.text
    tour.answered("20 tokens · ×? plain · α 0.90")
    assert "(×?: no plain pass was timed while the machine was as busy)" in tour.text


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.title)
def test_every_step_can_be_taken_with_any_pair(step) -> None:  # type: ignore[no-untyped-def]
    assert step.applied(Settings(), DRAFTERS).drafter == step.drafter
    assert step.applied(Settings(drafter="lookup"), ("lookup", "none")).drafter == "lookup"


def bar(pilot: Chat) -> str:
    return "".join(str(bar.render()) for bar in pilot.app.screen.query(TourBar) if bar.display)


async def test_the_visitor_asks_the_questions_and_can_leave_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_back: list[Answered] = []

    def causes(turn: Answered) -> dict[Cause, Advice]:
        looked_back.append(turn)
        return {}

    monkeypatch.setattr("specchat.tui.screens.chat.advisor.causes", causes)
    client = ScriptedClient()
    async with chat(client, (100, 40), target=TARGET_NAME) as pilot:
        await ask(pilot, "/tour")
        assert "Tour 1 of 5" in bar(pilot)
        assert prompt(pilot).text == STEPS[0].prompt
        await press(pilot, "enter")
        assert client.asked[-1][-1].content.startswith(STEPS[0].prompt)
        assert (client.settings[-1].k, client.settings[-1].sampling.temperature) == (5, 1.2)
        assert "Tour 2 of 5" in bar(pilot)
        assert "That was 938 tok/s" in bar(pilot)
        assert answer(pilot).view is View.TRACE, "the steps speak of its colours"
        await pilot.app.workers.wait_for_complete()
        assert [turn.settings.sampling.temperature for turn in looked_back] == [0.0]
        await press(pilot, "escape")
        assert bar(pilot) == ""
        assert prompt(pilot).text == ""
        assert (client.settings[-1].k, client.settings[-1].sampling.temperature) == ("auto", 0.7)
        assert len(questions(pilot)) == 1


async def test_the_first_question_is_asked_again_in_an_empty_conversation() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await ask(pilot, "/tour")
        for _ in STEPS[:4]:
            await press(pilot, "enter")
        first, _, third, again = client.asked
        assert first[-1].content == STEPS[3].prompt
        assert again == first
        assert len(third) == 5
        assert [(entry.raw, entry.siblings.count) for entry in questions(pilot)] == [(STEPS[0].prompt, 2)]


async def test_esc_leaves_the_tour_also_where_a_question_is_asked_again() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await ask(pilot, "/tour")
        for _ in STEPS[:3]:
            await pilot.press("enter")
            await quiet(pilot)
        assert "Tour 4 of 5" in bar(pilot)
        await pilot.press("escape")
        await quiet(pilot)
        assert (bar(pilot), prompt(pilot).text, note(pilot)) == ("", "", "")
        await ask(pilot, "And now?")
        assert [entry.raw for entry in questions(pilot)][-1] == "And now?"
        assert len(questions(pilot)) == 4


async def test_the_tour_keeps_what_the_visitor_writes_and_begins_beside_what_was_said() -> None:
    async with chat(ScriptedClient(), (80, 24)) as pilot:
        await ask(pilot)
        await ask(pilot, "/tour")
        assert questions(pilot) == []
        assert "may fare otherwise" in bar(pilot)
        await press(pilot, *[*"x"], "enter")
        assert [entry.raw for entry in questions(pilot)] == [STEPS[0].prompt + "x"]
        await ask(pilot, "y")
        for _ in STEPS[2:]:
            await press(pilot, "enter")
        assert "the end" in bar(pilot)
        assert "k auto" in header(pilot)
