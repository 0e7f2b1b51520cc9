"""The exported page's script, run by node: its figures and its clock are those of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest

from specchat.traces.exports.html import turn_data
from specchat.traces.timeline import Playhead, Timeline
from specchat.traces.trace import Trace
from support.sample_traces import sample_trace, start_line

NODE = shutil.which("node")
PLAYER = files("specchat.traces.exports").joinpath("player.js")
PAGE = files("specchat.traces.exports").joinpath("page.js")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def run(expression: str, trace: Trace | None = None) -> Any:
    """What an expression over `Player` and the turn's `rounds` is."""
    rounds = json.dumps(turn_data(trace)["rounds"]) if trace else "[]"
    code = f"const Player = require({json.dumps(str(PLAYER))}); const rounds = {rounds};"
    code += f"console.log(JSON.stringify({expression}));"
    done = subprocess.run([str(NODE), "-e", code], capture_output=True, text=True, check=True, timeout=600)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_figures_after_every_round_are_those_of_the_statistics() -> None:
    trace = sample_trace()
    shown = run("[0, 1, 2, 3, 4].map((n) => Player.figures(Player.totals(rounds), n))", trace)
    names = {"speed": "tokens_per_second", "rate": "acceptance_rate", "alpha": "alpha", "tau": "block_efficiency"}
    for count, figures in enumerate(shown):
        stats = trace.stats_after(count)
        assert (figures["tokens"], figures["rounds"]) == (stats["num_tokens"], count)
        for ours, theirs in names.items():
            assert figures[ours] == (None if stats[theirs] is None else pytest.approx(stats[theirs], rel=1e-3))


def test_its_timeline_is_the_timeline() -> None:
    trace = sample_trace()
    timeline = Timeline(trace)
    moments = [0, 0.0999, 0.1, 0.25, 0.39, 0.4, 5]
    counts = [-1, 0, 1, 3, 9]
    theirs = run(
        f"[{moments}.map((t) => Player.due(rounds, t)), {counts}.map((n) => Player.at(rounds, n)),"
        " Player.duration(rounds)]",
        trace,
    )
    assert theirs == [[*map(timeline.due, moments)], [*map(timeline.at, counts)], timeline.duration]


def test_its_playhead_is_the_playhead() -> None:
    steps = "let h = { ...Player.stopped(10, 2), place: 0 }; const seen = [];"
    steps += "const see = (now) => seen.push(Player.position(h, now));"
    steps += "h = Player.played(h, 100); see(101); h = Player.atSpeed(h, 0.5, 101); see(103);"
    steps += "h = Player.paused(h, 103); see(150); h = Player.sought(h, 7, 150); see(160); h = Player.played(h, 160);"
    steps += "see(162); see(999); h = Player.played(h, 999); see(1000); h = Player.sought(h, 99, 1000); see(1000);"
    theirs = run(f"(() => {{ {steps} return seen; }})()")
    head, ours = Playhead(10, speed=2).played(100), []
    ours.append(head.position(101))
    head = head.at_speed(0.5, 101)
    ours.append(head.position(103))
    head = head.paused(103)
    ours.append(head.position(150))
    head = head.sought(7, 150)
    ours.append(head.position(160))
    head = head.played(160)
    ours += [head.position(162), head.position(999)]
    head = head.played(999)
    ours.append(head.position(1000))
    head = head.sought(99, 1000)
    ours.append(head.position(1000))
    assert theirs == ours


def test_a_short_turn_is_slowed_down_so_that_it_can_be_followed() -> None:
    speeds = {60: 1, 6: 1, 5.9: 0.5, 1.5: 0.25, 0.15: 1 / 64, 0: 1 / 64}
    assert run(f"{[*speeds]}.map(Player.easySpeed)") == [*speeds.values()]


def test_a_round_is_described_in_words() -> None:
    summaries = run("rounds.map((round, index) => Player.roundSummary(round, index, rounds.length))", sample_trace())
    assert summaries[0] == ("round 1 of 4 · nothing drafted · k 0 (fixed) · 3.5 ms: draft 1.0, verify 2.0, other 0.5")
    assert summaries[2].startswith("round 3 of 4 · drafted by model, 1 of 3 accepted · k 3 (fixed)")


def test_a_ribbon_word_falls_into_runs_of_one_glyph_and_missing_numbers_are_dashes() -> None:
    numbers = "Player.percent(null), Player.number(null, 2), Player.speedText(612.34), Player.percent(0.615)"
    runs, *shown = run(f"[Player.runs('●●○··◆'), {numbers}]")
    assert runs == [["●", 2], ["○", 1], ["·", 2], ["◆", 1]]
    assert shown == ["–", "–", "612", "62 %"]


def test_a_turn_without_rounds_has_figures_and_no_duration() -> None:
    figures = "Player.figures(Player.totals(rounds), 0).tau"
    times = "Player.duration(rounds), Player.due(rounds, 1), Player.at(rounds, 1)"
    assert run(f"[{figures}, {times}]", Trace(start_line(), ())) == [None, 0, 0, 0]


def test_the_page_around_it_parses() -> None:
    subprocess.run([str(NODE), "--check", str(PAGE)], check=True, capture_output=True, timeout=600)
