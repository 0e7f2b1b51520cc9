"""The inspector: what it shows of a token, and branches from there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.tui.chatting import Chat, ask, at_rest, chat, note, press, shown, text_at
from app.tui.scripted_client import ScriptedClient, script
from specchat.terminal.pieces import visible
from specchat.traces.trace import Trace
from specchat.tui.screens.inspector import InspectorScreen, asked_at, position_of, prefix_at, spots
from specchat_engine.decoding.rounds import Outcome, Round, TargetToken, TokenKind


@asynccontextmanager
async def inspecting(client: ScriptedClient) -> AsyncIterator[Chat]:
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f4")
        await at_rest(pilot, 0.4)
        assert isinstance(pilot.app.screen, InspectorScreen)
        yield pilot


async def test_the_last_round_is_shown_with_outcomes_and_what_the_engine_says_of_the_marked_position() -> None:
    client = ScriptedClient(script("> one| two~bad~/late/> three"))
    async with inspecting(client) as pilot:
        assert "round 2 of 2" in text_at(pilot, "round")
        rows = text_at(pilot, "tokens").split("\n")[1:]
        assert [row[2] for row in rows] == ["●", "○", "·", "◆"]
        assert "rejected: the target drew ·three" in rows[1]
        assert "never compared" in rows[2]
        assert "inspecting" not in text_at(pilot, "others")
        await pilot.press("down")
        await at_rest(pilot, 0.4)
        assert [(position, asked) for _, position, asked in client.inspected] == [(1, (1,)), (2, (1, 2))]
        assert client.inspected[0][0] == (2, 1, 2)
        assert "removed by top-k" in text_at(pilot, "others")
        assert "1.000" in text_at(pilot, "others")
        await pilot.press("r")
        assert "0.500" in text_at(pilot, "others"), "raw probabilities are one key away"


async def test_a_rejected_token_can_begin_a_branch() -> None:
    client = ScriptedClient(script("> one| two~bad~> three"))
    async with inspecting(client) as pilot:
        await press(pilot, "down", "enter")
        assert client.prefixes[-1] == (2, 1, 1)
        assert shown(pilot) == ["Who?", " one two three"]


async def test_a_running_answer_cannot_be_inspected() -> None:
    client = ScriptedClient(script("> one| two"), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f4")
        assert "when it is over" in note(pilot)


async def test_a_token_that_ends_the_answer_cannot_begin_a_branch() -> None:
    client = ScriptedClient(script("> one|>"))
    async with inspecting(client) as pilot:
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, InspectorScreen)
        assert "it ends the answer" in text_at(pilot, "others")
        assert len(client.asked) == 1


def numbered(rounds: list[Round]) -> list[Round]:
    """The same rounds with ids that count up; rejected and discarded tokens count from 1,000."""
    said, thrown = iter(range(1000)), iter(range(1000, 2000))
    made = []
    for event in rounds:
        drafted = tuple(
            replace(token, id=next(said if token.outcome is Outcome.ACCEPTED else thrown)) for token in event.drafted
        )
        made.append(replace(event, drafted=drafted, token=replace(event.token, id=next(said))))
    return made


def trace(notation: str, prefix: tuple[int, ...] = ()) -> Trace:
    return Trace({"prefix": list(prefix)}, tuple(numbered(script(notation))))


def test_a_rejected_token_has_its_corrections_position_and_discarded_ones_have_none() -> None:
    rows = spots(trace("> one| two~bad~/late/> three"), 1)
    assert [(row.text, row.position) for row in rows] == [(" two", 1), ("bad", 2), ("late", None), (" three", 2)]
    assert rows[1].remark == "rejected: the target drew ·three"
    assert rows[2].remark == "never compared"
    assert [row.glyph for row in rows] == ["●", "○", "·", "◆"]


def test_a_given_prefix_counts_as_output() -> None:
    made = trace("> one| two> three", prefix=(7, 8))
    assert made.tokens == (7, 8, 0, 1, 2)
    assert position_of(made, 1) == 3
    assert prefix_at(made, 3, 99) == (7, 8, 0, 99)


def test_a_position_is_inspected_with_all_its_tokens() -> None:
    made = trace("~bad~> good")
    assert asked_at(made, 0, 0) == (1000, 0)


def test_a_round_that_ends_on_an_accepted_token_has_no_target_token() -> None:
    [event] = numbered(script(" a b> c"))
    made = Trace({}, (replace(event, token=TargetToken(None, "", None, TokenKind.NONE)),))
    assert [row.text for row in spots(made, 0)] == [" a", " b"]
    assert made.tokens == (0, 1)


@given(st.text(max_size=20))
def test_a_token_is_shown_on_one_line_without_control_characters(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(text)


@given(st.lists(st.sampled_from(["> a", " b> c", " b~x~> c", "~x~/y/> d", " a b/z/> e"]), min_size=1, max_size=8))
def test_every_emitted_token_has_exactly_one_position(parts: list[str]) -> None:
    made = trace("|".join(parts))
    tokens = made.tokens
    found = {
        row.position: row.id
        for place in range(len(made.rounds))
        for row in spots(made, place)
        if row.position is not None and row.id < 1000
    }
    assert found == dict(enumerate(tokens))
