"""All figures of one answer agree, whatever the load was during it, after it and in earlier answers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.plain.paper import spoken_figures
from specchat.stats.advice import Answered
from specchat.stats.causes import causes
from specchat.stats.charts import as_text
from specchat.stats.figures import figure_called
from specchat.stats.figures.speed import in_short
from specchat.stats.line import statistics_line
from specchat.stats.turn import TurnModel, TurnView
from specchat.store.turns import Counters
from specchat.tui.screens.statistics_pages import turn_page, why_page
from specchat.tui.widgets.dashboard import rows, strip
from specchat_engine.decoding.costs import MeasuredCosts, PassTimes
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.settings import AUTO, DraftLength, Settings
from specchat_engine.testing import ScriptedModel, random_law
from support.drawn_rounds import made_round

TOLERANCE = 0.035
"""A figure that is closer to 1 than this says "as fast as plain"; rounded to per cent, it may be named either way."""

START = {"seed": 7, "verifier": "coupled", "lossless": True}
_PLAIN_PASSES = 16


@dataclass(frozen=True)
class Machine:
    """C(w) = 2 ms · (1 + slope · (w − 1)), a draft step, time between passes, and how busy other programs keep it.

    All times are `busy` times as long. On top of that, each pass waits for a time slice with probability `waits`.
    """

    slope: float
    step: float
    other: float
    busy: float
    waits: float

    def took(self, milliseconds: float, chance: random.Random) -> float:
        return self.busy * milliseconds + (8.0 if chance.random() < self.waits else 0.0)

    def verify(self, width: int) -> float:
        return 2.0 * (1 + self.slope * (width - 1))


machines = st.builds(
    Machine,
    st.floats(0.01, 1.2),
    st.floats(0.02, 2.0),
    st.floats(0.0, 2.0),
    st.sampled_from([1.0, 1.0, 2.0, 8.0]),
    st.sampled_from([0.0, 0.0, 0.05, 0.4]),
)


@dataclass(frozen=True)
class Story:
    """An answer as the app sees it: rounds, the last line of its trace, and what earlier answers measured."""

    rounds: Sequence[Round]
    stats: TurnStats
    before: MeasuredCosts
    costs: MeasuredCosts
    k: DraftLength

    @property
    def turn(self) -> Answered:
        return Answered(
            tuple(self.rounds), Settings(k=self.k, drafter="model"), self.costs, self.stats.to_json(), earlier_turns=1
        )

    def views(self) -> tuple[TurnView, TurnView]:
        """While it streams, and at its end."""
        model = TurnModel(self.before)
        model.observe(self.rounds)
        return model.view(), model.final_view(self.stats.to_json())


def answer(
    machine: Machine, after: Machine, earlier: float, alpha: float, ks: Sequence[int], k: DraftLength, seed: int
) -> Story:
    """An answer on this machine. Plain passes follow `after` it, and earlier answers took `earlier` times as long."""
    chance, target, stats = random.Random(seed), ScriptedModel(random_law(8)), TurnStats()
    times, made = PassTimes(target, [ScriptedModel(random_law(8))]), []
    for index in range(60):
        drafted = ks[index % len(ks)]
        accepted = next((place for place in range(drafted) if chance.random() >= alpha), drafted)
        draft = drafted * machine.busy * machine.step
        verify = machine.took(machine.verify(drafted + 1), chance)
        event = made_round(drafted, accepted, index=index, ms=(draft, verify, machine.busy * machine.other))
        computed = drafted * machine.step + machine.verify(drafted + 1) + machine.other
        times.observe(event, event.ms, computed, after_pause=False)
        stats.observe(event)
        made.append(event)
    for _ in range(_PLAIN_PASSES):
        took = after.took(after.verify(1), chance)
        times.plain.observe(took, took, after.verify(1))
    stats.plain_ms, stats.cpu_share = times.plain_ms, times.cpu_share
    widths = (1, 2, 4, 8, 16)
    recorded = MeasuredCosts(tuple((w, earlier * machine.verify(w)) for w in widths), earlier * machine.step)
    return Story(made, stats, recorded, recorded, k)


def shown(story: Story) -> dict[str, str]:
    """Everything that is shown of the answer when it is over, by place."""
    view, turn = story.views()[1], story.turn
    stats = story.stats.to_json()
    return {
        "line": statistics_line(stats, START),
        "under the answer": view.line(),
        "panel": "\n".join("".join(text for text, _ in row.pieces) for row in rows(view, 60)),
        "row": strip(view, 78).plain,
        "why": as_text(why_page(turn, 100)),
        "statistics": as_text(turn_page(turn, 100)),
        "in short": in_short(view),
        "spoken": spoken_figures(stats, START),
        "advice": "\n".join(advice.sentence for advice in causes(turn).values()),
    }


_NUMBER = r"(\d+(?:\.\d+)?)"
_FACTORS = (rf"{_NUMBER} × plain", rf"{_NUMBER} times as fast as", rf"× plain +{_NUMBER}\n")
_FASTER, _SLOWER = (
    (rf": gains {_NUMBER} %", rf"(?<!been ){_NUMBER} % faster$"),
    (
        rf": costs {_NUMBER} %",
        rf"{_NUMBER} % slower",
        rf"drafting cost {_NUMBER} %",
        rf"plain decoding would have been {_NUMBER} % faster",
    ),
)


def speeds_in(text: str) -> Iterator[float]:
    """What a text says of the answer's speed, in times that of plain decoding."""
    text = re.sub(r"no α pays off: [^\n]*", "", text)  # what it would be at α 1
    for pattern in _FACTORS:
        yield from (float(number) for number in re.findall(pattern, text))
    panel = "\n".join(line for line in text.splitlines() if "× plain  " in line)
    yield from (1 + float(number) / 100 for number in re.findall(_FASTER[0], text) + re.findall(_FASTER[1], panel))
    for pattern in _SLOWER:
        yield from (1 - float(number) / 100 for number in re.findall(pattern, text))
    if "as fast as plain" in text.lower():
        yield 1.0


def speeds(story: Story) -> dict[str, float]:
    """All that is said of the answer's speed, by place."""
    found = {f"{place} {at}": one for place, text in shown(story).items() for at, one in enumerate(speeds_in(text))}
    if (kept := Counters.of_turn(story.stats.to_json()).speedup) is not None:
        found["store"] = kept
    if (prediction := story.turn.prediction) is not None:
        found["what if"] = 1 / (1 + prediction.gain(0))
    return found


@settings(max_examples=60)
@given(
    machine=machines,
    after=machines,
    same=st.booleans(),
    earlier=st.sampled_from([0.05, 0.3, 1.0, 4.0, 20.0]),
    alpha=st.floats(0.02, 0.98),
    ks=st.lists(st.integers(0, 8), min_size=1, max_size=6),
    auto=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_figure_of_an_answer_contradicts_another(
    machine: Machine,
    after: Machine,
    same: bool,
    earlier: float,
    alpha: float,
    ks: list[int],
    auto: bool,
    seed: int,
) -> None:
    story = answer(machine, machine if same else after, earlier, alpha, ks, AUTO if auto else max(ks), seed)
    found = speeds(story)
    if story.stats.speedup is None:
        assert found == {}
        assert "×? plain" in shown(story)["under the answer"]
        return
    assert {place for place in found if place.startswith(("line", "panel", "in short", "under", "row"))}
    faster = {place: one for place, one in found.items() if one > 1 + TOLERANCE}
    slower = {place: one for place, one in found.items() if one < 1 - TOLERANCE}
    assert not (faster and slower), (faster, slower)


@settings(max_examples=30)
@given(machines, st.floats(0.02, 0.98), st.integers(1, 8), st.sampled_from([0.05, 1.0, 20.0]), st.integers(0, 10**6))
def test_a_speed_up_is_what_plain_decoding_would_have_taken_on_the_same_busy_machine(
    machine: Machine, alpha: float, k: int, earlier: float, seed: int
) -> None:
    story = answer(machine, machine, earlier, alpha, [k], k, seed)
    if story.stats.speedup is None:
        return
    plain_ms = machine.busy * machine.verify(1) + 8.0 * machine.waits
    true = (story.stats.num_tokens * plain_ms + story.stats.other_ms) / story.stats.decode_ms
    assert story.stats.speedup == pytest.approx(true, rel=0.4)
    if not machine.waits:
        assert story.stats.speedup == pytest.approx(true)
        assert story.views()[0].expected == pytest.approx(true), "the forecast"


_DRAFTING = re.compile(r"(?:draft|time draft +[█▏▎▍▌▋▊▉░]+|rafting took|the draft model takes) +(\d+)(?: %|   )")


@settings(max_examples=100)
@given(machines, machines, st.floats(0.02, 0.98), st.integers(1, 8), st.integers(0, 10**6))
def test_drafting_takes_the_same_share_of_the_time_wherever_it_is_said(
    machine: Machine, after: Machine, alpha: float, k: int, seed: int
) -> None:
    """`Drafting took 1 % of the time` beside `Drafting took 0 % of the time`."""
    story = answer(machine, after, 1.0, alpha, [k], k, seed)
    time = figure_called("time")
    assert time is not None
    texts = shown(story) | {"explained": time.sentence(story.views()[1]), "marked": time.value(story.views()[1])}
    assert len({share for text in texts.values() for share in _DRAFTING.findall(text)}) == 1, texts


CALM = Machine(0.1, 0.2, 0.1, 1.0, 0.0)
BUSY = Machine(0.1, 0.2, 0.1, 8.0, 0.4)


def test_plain_passes_from_before_a_load_say_nothing_of_it() -> None:
    """`0.13 × plain, 87 % slower`, beside `gains 542 %`."""
    for machine, after in ((BUSY, CALM), (CALM, BUSY)):
        story = answer(machine, after, 1.0, 0.8, [4], 4, 1)
        assert speeds(story) == {}
        assert all("slower" not in text and "gains" not in text for text in shown(story).values())


def test_the_gauge_says_what_was_measured_and_no_forecast_stands_beside_the_answers_own_speed() -> None:
    """`1.68 × plain` beside `gains 179 %`; `needs α 0.00 …: gains 542 %`; `5.04 × plain expected`."""
    story = answer(CALM, CALM, 1.0, 0.8, [4], 4, 1)
    view = story.views()[1]
    assert view.break_even is not None
    assert view.break_even.speedup == view.speedup
    for text in (shown(story)["panel"], shown(story)["statistics"]):
        assert len(set(re.findall(rf"{_NUMBER} × plain", text))) <= 1
        assert "expected" not in text


def test_a_disturbed_answer_gets_no_advice() -> None:
    """`k 5 would have been 145 % faster here`."""
    quiet = Machine(0.01, 0.05, 0.1, 1.0, 0.0)
    assert causes(answer(quiet, quiet, 1.0, 0.95, [1], 1, 1).turn)
    busy = Machine(0.01, 0.05, 0.1, 8.0, 0.4)
    story = answer(busy, busy, 1.0, 0.95, [1], 1, 1)
    assert causes(story.turn) == {}
    assert story.turn.prediction is None
    assert "using the CPU" in shown(story)["in short"]
    assert "No advice: other programs disturbed this answer" in shown(story)["why"]
