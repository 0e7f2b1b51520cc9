from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.bench.gain import Gain
from specchat.worker.codec import decode_command, decode_events, encode_command, encode_event, encode_events
from specchat.worker.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Ended,
    Event,
    Freeze,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    Load,
    Loaded,
    Loading,
    ModelSummary,
    Notice,
    Prepare,
    Quit,
    Recall,
    Recalled,
    Set,
    Started,
    Step,
    Threads,
    Time,
    Timed,
    Timing,
    WorkerFailed,
)
from specchat_engine import LoadOptions, Settings
from specchat_engine.analysis.inspect import InspectedToken, Inspection
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Candidate, DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.memory.measured import MemoryUse
from specchat_engine.sampling.params import SamplingParams
from support.sample_rounds import sample_round

SETTINGS = Settings(
    k=2,
    drafter="lookup",
    verifier="block",
    sampling=SamplingParams(temperature=0.0, logit_bias=((5, -math.inf), (7, 0.5)), grammar="x"),
    stop=("\n",),
)
COMMANDS: list[Command] = [
    Load("t.gguf", None, LoadOptions(n_ctx=512, devices=("A", "B"), tensor_split=(3.0, 1.0))),
    Load("t.gguf", "d.gguf", LoadOptions()),
    Generate((ChatMessage("user", "naïve \u2028 \ud800 text"),), turn=1, attempt=2, seed=2**63, settings=SETTINGS),
    Generate((), turn=0, attempt=0, seed=1, settings=SETTINGS, prefix=(5, 0, 2**31), frozen=True),
    Inspect((ChatMessage("user", "u"),), (1, 2, 3), position=1, asked=(9,), seed=3, settings=SETTINGS),
    Freeze(True),
    Freeze(False),
    Step(),
    Step(12),
    Threads("auto", 2),
    Threads(0, "auto"),
    Keep("a folder", 10**12),
    Recall("a folder"),
    Time("t.gguf", "d.gguf", LoadOptions(n_ctx=512), 2.5),
    Prepare((ChatMessage("system", "s"), ChatMessage("user", "u")), seed=3, settings=SETTINGS),
    Set(SETTINGS),
    Cancel(),
    Quit(),
]
EVENTS: list[Event] = [
    Loading(0.5),
    Loaded(
        ModelSummary("t", "t.gguf", 1, 2),
        None,
        ("lookup", "none"),
        SamplingParams(top_k=1),
        "differs",
        512,
        "recurrent",
        "the vocabularies differ",
        MemoryUse(10, 0, 2**40, 0, None),
    ),
    Started({"type": "start", "seed": 7}),
    Notice("dropped the oldest turn"),
    sample_round([("a", "x"), ("r", "\x1b")], (TokenKind.CORRECTION, "\n")),
    Ended("length", "text", {"alpha": None}),
    Ended("length", "text", {}, MeasuredCosts(((1, 2.5), (4, 3.0)), 0.25)),
    Inspected(
        Inspection(
            7,
            2,
            (
                InspectedToken(2, "\x1b", 0.5, 1, 1.0, None, 0.25, 3, 0.0),
                InspectedToken(9, "b", 0.1, 2, 0.0, "top-k"),
            ),
            SETTINGS.sampling,
        )
    ),
    Kept(False, "too large"),
    Kept(True),
    Recalled(True),
    Timing(0.25),
    Timed(Gain(1.42, (1.2, 1.6), 55.0, 40.0, 0.7)),
    Timed(Gain(0.9, None, 55.0, 60.0, None)),
    Timed(None),
    WorkerFailed("no room"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_comes_out_as_it_went_in(command: Command) -> None:
    line = encode_command(command)
    assert decode_command(line) == command
    assert line.isascii()
    assert "\n" not in line


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_comes_out_as_it_went_in(event: Event) -> None:
    line = encode_event(event)
    assert [*decode_events(line.encode())] == [event]
    assert "\n" not in line


NUMBERS = st.one_of(st.none(), st.floats(0, 1))
TIMES = st.floats(0, 1e6)
ROUNDS = st.builds(
    Round,
    index=st.integers(0, 2**40),
    source=st.sampled_from(["model", "lookup", "none"]),
    k=st.integers(0, 32),
    reason=st.text(),
    drafted=st.lists(
        st.builds(DraftedToken, st.integers(0), st.text(), NUMBERS, NUMBERS, st.sampled_from(Outcome)), max_size=4
    ).map(tuple),
    token=st.builds(TargetToken, st.one_of(st.none(), st.integers(0)), st.text(), NUMBERS, st.sampled_from(TokenKind)),
    top=st.lists(st.builds(Candidate, st.integers(0), st.text(), st.floats(0, 1)), max_size=3).map(tuple),
    ms=st.builds(RoundTimes, TIMES, TIMES, TIMES, TIMES),
    t_ms=TIMES,
)


@given(st.lists(st.one_of(ROUNDS, st.sampled_from([Notice("kept apart"), Ended("end", "text", {})])), max_size=8))
def test_rounds_that_follow_each_other_share_a_line_and_come_out_in_order(events: list[Event]) -> None:
    lines = [*encode_events(events)]
    assert [event for line in lines for event in decode_events(line.encode())] == events
    others = sum(not isinstance(event, Round) for event in events)
    assert len(lines) <= 2 * others + 1


@pytest.mark.parametrize(
    "rounds", ["null", "7", "[[1]]", "[null]", '[[1,"model",1,"",[[1]],[1,"",null,"plain"],[],[],1]]']
)
def test_rounds_that_make_no_sense_are_none(rounds: str) -> None:
    assert not [*decode_events(f'{{"type":"rounds","rounds":{rounds}}}')]


def test_fields_from_a_newer_version_are_ignored_and_missing_ones_have_defaults() -> None:
    line = json.dumps({"cmd": "set", "settings": {"k": 3, "mood": "good", "sampling": {"warmth": 1}}, "more": []})
    assert decode_command(line) == Set(Settings(k=3))


def test_an_older_side_that_knows_no_costs_and_no_memory_is_understood() -> None:
    assert [*decode_events('{"type": "end", "reason": "end", "text": "t", "stats": {}}')] == [Ended("end", "t", {})]
    loaded = json.loads(encode_event(EVENTS[1]))
    del loaded["memory"]
    [understood] = decode_events(json.dumps(loaded))
    assert isinstance(understood, Loaded)
    assert understood.memory == MemoryUse()


@pytest.mark.parametrize(
    "line",
    ["", "{", "null", "[1]", '"x"', '{"cmd": "dance"}', '{"cmd": "set"}', '{"cmd": "set", "settings": {"k": -1}}'],
)
def test_a_command_that_makes_no_sense_is_none(line: str) -> None:
    assert decode_command(line) is None


@given(st.one_of(st.binary(), st.text(), st.dictionaries(st.text(), st.integers()).map(json.dumps)))
def test_no_line_breaks_the_reader(line: str | bytes) -> None:
    assert not [*decode_events(line)]
    assert decode_command(line) is None
