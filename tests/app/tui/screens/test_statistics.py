"""The pages of statistics, where their figures come from, and their window."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Static, TabbedContent

from app.tui.chatting import Chat, ask, at_rest, chat, command
from app.tui.scripted_client import ScriptedClient, script
from specchat.learning import Learning
from specchat.stats.charts import as_text
from specchat.stats.summary import Figures, Summary
from specchat.store.records import StoredMessage, StoredSession
from specchat.store.store import Store
from specchat.store.turns import Counters
from specchat.tui.screens.statistics import StatisticsScreen
from specchat.tui.screens.statistics_pages import pages, pairs_page, summary_page, turn_page, why_page
from specchat.tui.side_answer import Stored, answered, stored_of
from specchat_engine.codec import to_json
from specchat_engine.decoding.stats import AcceptanceCounts, speedup_over_plain
from specchat_engine.decoding.trace_lines import settings_in
from specchat_engine.settings import Settings
from support.sample_traces import CAT, sample_trace

COSTS = {"verify": [[1, 2.0], [2, 2.0], [4, 2.0]], "draft_step": 0.5}
TRACE = sample_trace(CAT * 4, params={"k": 3, "temperature": 0.8})
STATS = TRACE.stats | {"speedup": speedup_over_plain(2.0, Figures.of(TRACE.rounds))}
MEASURED = TRACE._replace(end={**(TRACE.end or {}), "costs": COSTS, "stats": STATS})
TURN = answered(MEASURED, settings_in(MEASURED.start, Settings()), ("model", "none"), 8)


def test_the_turn_page_has_totals_break_even_and_the_what_if_chart() -> None:
    text = as_text(turn_page(TURN, 78))
    assert "32 in 16 rounds" in text
    assert "of 24 compared" in text
    assert "needs α" in text
    assert "ran: k 3" in text
    assert "best: k" in text


def test_the_why_page_gives_reasons_below_the_figures() -> None:
    text = as_text(why_page(TURN, 78))
    assert "32 tokens in" in text
    assert text.index("compared") < text.index("What could be gained")


def test_the_why_page_gives_no_advice_about_what_it_could_not_compare() -> None:
    unknown = replace(TURN, stats={key: value for key, value in TURN.stats.items() if key != "speedup"})
    text = as_text(why_page(unknown, 140))
    assert "Not compared with plain" in text
    assert "No advice about k and the draft: too little was measured" in text


def test_settings_and_costs_are_those_of_the_trace() -> None:
    assert (TURN.settings.k, TURN.settings.drafter, TURN.settings.sampling.temperature) == (3, "model", 0.8)
    assert TURN.costs.draft_step == 0.5
    odd = TRACE._replace(start=TRACE.start | {"params": {"k": "many"}}, end={**(TRACE.end or {}), "costs": 3})
    fallen_back = answered(odd, settings_in(odd.start, Settings(k=5)), ("none",), 8)
    assert fallen_back.settings.k == 5
    assert fallen_back.costs.verify


@pytest.mark.parametrize("width", [40, 78, 140])
def test_every_page_fits_its_width(width: int) -> None:
    summary = TURN.view.summary
    kept = Stored(summary, summary + summary, {"a very long name of a pair " * 9: Counters(1, 2, 3)})
    for name, page in pages(TURN, kept, "a pair").items():
        rows = as_text(page(width)).split("\n")
        assert max(map(len, rows)) <= max(width, 60), name


@pytest.mark.parametrize("width", [32, 40, 59])
def test_a_narrow_page_wraps_between_words_and_leaves_nothing_out(width: int) -> None:
    pair = "a large target 70B ⇠ a small draft 1B"
    kept = Stored(TURN.view.summary, TURN.view.summary, {pair: Counters(1, 2, 3)})
    for name, page in pages(TURN, kept, pair).items():
        text = as_text(page(width))
        assert max(map(len, text.split("\n"))) <= width, name
        assert "…" not in text, name
        expected = {
            "Turn": "τ 2.33 predicted drafted compared pass measured",
            "Pair": pair,
            "All pairs": f"{pair} tok/s",
        }
        assert set(expected.get(name, "").split()) <= set(text.replace(",", "").split()), name


def test_without_answers_the_pages_say_that_there_is_nothing_yet() -> None:
    for page in pages(None, Stored(Summary(), Summary(), {}), "a pair").values():
        assert "Nothing recorded yet" in as_text(page(78))


def test_sessions_and_pairs_are_totals_of_stored_answers(tmp_path: Path) -> None:
    summary = Summary.of_turn(TRACE.rounds, TRACE.stats)
    stats = dict(TRACE.stats) | {"summary": to_json(summary)}
    with Store.open(tmp_path / "s.db") as store:
        for session, pair, kept in (
            (1, "one", stats),
            (1, "two", stats),
            (2, "one", stats),
            (2, "one", {"summary": 3}),
        ):
            if store.session(session) is None:
                store.create(StoredSession(session))
            message = StoredMessage(store.totals().whole.num_turns + 10, session, None, "assistant", "x")
            store.add_message(message)
            store.keep_stats(message.id, pair, kept)
        found = stored_of(store, 1, "one")
    assert (found.session.turns, found.pair.turns) == (2, 2)
    assert found.session.total == summary.total + summary.total
    assert set(found.pairs) == {"one", "two"}
    assert "answers         2" in as_text(summary_page(found.session, 78))
    assert "one " in as_text(pairs_page(found.pairs, "one", 78))


def page(pilot: Chat) -> str:
    pane = pilot.app.screen.query_one(TabbedContent).active_pane
    assert pane is not None
    return str(pane.query_one(".page", Static).render())


async def test_the_window_opens_at_the_requested_page_arrows_change_it_and_a_key_copies_it() -> None:
    async with chat(ScriptedClient(script("> one| two~bad~> three|> four"))) as pilot:
        await pilot.press("f7")
        await at_rest(pilot)
        assert "Nothing recorded yet" in page(pilot)
        await pilot.press("escape")
        await ask(pilot, "Who?")
        await command(pilot, "/why")
        await at_rest(pilot)
        assert isinstance(pilot.app.screen, StatisticsScreen)
        assert "What could be gained" in page(pilot)
        await pilot.press("left")
        await at_rest(pilot)
        assert "4 in 3 rounds" in page(pilot)
        await pilot.press("right", "right")
        await at_rest(pilot)
        assert "answers         1" in page(pilot)
        await pilot.press("escape", "f7")
        await at_rest(pilot)
        await pilot.press("c")
        assert "What if" in pilot.app.clipboard
        assert pilot.app.clipboard.splitlines() == [line.rstrip() for line in page(pilot).rstrip().splitlines()]
        panel = pilot.app.screen.query_one("#panel")
        assert str(panel.border_subtitle).endswith("C copies: sent to the terminal")
        await pilot.press("right")
        await at_rest(pilot)
        assert str(panel.border_subtitle).endswith("C copies")


async def test_learn_opens_the_page_about_what_the_draft_has_learned() -> None:
    async with chat(ScriptedClient(script("> one| two~bad~> three|> four"))) as pilot:
        await command(pilot, "/learn")
        await at_rest(pilot)
        assert isinstance(pilot.app.screen, StatisticsScreen)
        assert "Learning is off" in page(pilot)
        await pilot.press("escape")
        await command(pilot, "/learn on")
        learned = Learning().of(Path("guide.gguf"), Path("draft.gguf"))
        learned.saw(5000, "free", [(learned.base, AcceptanceCounts(150, 50))])
        await command(pilot, "/learn show")
        await at_rest(pilot)
        assert "Learning is on: 5,000 tokens recorded" in page(pilot)
        assert "free  ○ 0.75" in page(pilot)
        await pilot.press("right")
        await at_rest(pilot)
        assert "Nothing recorded yet" in page(pilot)
