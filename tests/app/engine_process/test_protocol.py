from __future__ import annotations

import json
import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.bench.samples import Estimate, Gain
from specchat.engine_process.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Count,
    DraftTimed,
    DraftTrial,
    Ended,
    Event,
    Freeze,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    LikelyToken,
    Load,
    Loaded,
    Loading,
    Notice,
    Offer,
    Position,
    Prepare,
    Quit,
    Recall,
    Recalled,
    Recounted,
    Scored,
    ServerInfo,
    Set,
    Started,
    StepRounds,
    Summarised,
    TaskFailed,
    Threads,
    Time,
    TokenCount,
    decode_command,
    decode_event,
)
from specchat.pipes import encode
from specchat_engine import LoadOptions, Settings
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import (
    Candidate,
    DraftedToken,
    Outcome,
    PromptProgress,
    Round,
    RoundTimes,
    TargetToken,
    TokenKind,
)
from specchat_engine.load_options import MemoryUse, ModelInfo
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.sampling.params import SamplingParams
from support.drawn_rounds import sample_round
from support.sample_traces import UNKNOWN

SETTINGS = Settings(
    k=2,
    drafter="lookup",
    verifier="block",
    sampling=SamplingParams(temperature=0.0, logit_bias=((5, -math.inf), (7, 0.5)), grammar="x"),
    stop=("\n",),
)
POSITION = Position(LikelyToken(5, "\ud83d", -0.5), (LikelyToken(6, "é", float("-inf")),))
COMMANDS: list[Command] = [
    Load("t.gguf", None, LoadOptions(n_ctx=512, devices=("A", "B"), tensor_split=(3.0, 1.0))),
    Generate(
        (
            ChatMessage("user", "naïve \u2028 \ud800 text", images=("data:image/png;base64,AA==",)),
            ChatMessage("assistant", "", (ToolCall("f", '{"a": 1}', "call00000"),), reasoning="2 + 2"),
            ChatMessage("tool", "3", (), "call00000", "f"),
        ),
        turn=1,
        attempt=2,
        seed=2**63,
        settings=SETTINGS,
        prefix=(5, 0, 2**31),
        frozen=True,
        tools=Offer(({"type": "function", "function": {"name": "f"}},), required=True, parallel=False),
        variables={"enable_thinking": False},
        logprobs=3,
    ),
    Generate((), seed=1, settings=SETTINGS, prefix="It\nwas “so”", prompt=(1, 2, 3), echo=True),
    Count(Generate((), seed=1, settings=SETTINGS, prompt="text", prediction="text")),
    Load("t.gguf", None, LoadOptions(parallel=4), serves=True),
    Inspect((ChatMessage("user", "u"),), (1, 2, 3), position=1, asked=(9,), sharpness=2.0, seed=3, settings=SETTINGS),
    Freeze(True),
    StepRounds(12),
    Threads(0, 2),
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
        ModelInfo("t", "t.gguf", 1, 2),
        None,
        ("lookup", "none"),
        SamplingParams(top_k=1),
        "differs",
        512,
        "recurrent",
        "the vocabularies differ",
        ("the context is shorter",),
        MemoryUse(10, 0, 2**40, 0, None),
    ),
    Loaded(
        ModelInfo("t", ""),
        None,
        ("remote",),
        SamplingParams(),
        None,
        0,
        server=ServerInfo("vLLM", "localhost:8000", "t", "0.32.0", ("t", "u")),
    ),
    PromptProgress(312, 1204, True),
    Started({"type": "start"}, 5, (POSITION,)),
    Scored((POSITION,)),
    TokenCount(17),
    Notice("dropped the oldest turn"),
    Summarised("what was said", 4),
    sample_round([("a", "x"), ("r", "\x1b")], (TokenKind.CORRECTION, "\n")),
    Recounted((sample_round([], (TokenKind.PLAIN, "x")), *UNKNOWN)),
    Ended("length", "text", {}, MeasuredCosts(((1, 2.5), (4, 3.0)), 0.25)),
    Inspected(
        Inspection(
            7,
            2,
            (InspectedToken(2, "\x1b", 0.5, 1, 1.0, None, 0.25, 3, 0.0), InspectedToken(9, "b", 0.1, 2, 0.0, "top-k")),
            SETTINGS.sampling,
        )
    ),
    Kept(False, "too large"),
    Recalled(True),
    DraftTrial(0.25),
    DraftTimed(Gain(Estimate(1.42, (1.3, 1.5), (1.2, 1.6), 5), 55.0, 40.0, 0.7)),
    DraftTimed(None),
    TaskFailed("too long", asked_wrong=True, too_long=True),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_comes_out_as_it_went_in(command: Command) -> None:
    line = encode(command, 3)
    assert decode_command(line) == (3, command)
    assert decode_command(encode(command)) == (0, command)
    assert line.isascii()
    assert line.count(b"\n") == 1


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_comes_out_as_it_went_in(event: Event) -> None:
    line = encode(event, 3)
    assert decode_event(line) == (3, event)
    assert line.isascii()
    assert line.count(b"\n") == 1


def test_every_declared_message_is_tried_here() -> None:
    assert {type(command) for command in COMMANDS} == {*get_args(Command)}
    assert {type(event) for event in EVENTS} == {*get_args(Event)}


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


@given(ROUNDS)
def test_any_round_comes_out_as_it_went_in(event: Round) -> None:
    assert decode_event(encode(event)) == (0, event)


def test_fields_from_a_newer_version_are_ignored_and_missing_ones_have_defaults() -> None:
    line = json.dumps({"type": "Set", "settings": {"k": 3, "mood": "good", "sampling": {"warmth": 1}}, "more": []})
    assert decode_command(line.encode()) == (0, Set(Settings(k=3)))


def test_an_older_side_that_knows_no_costs_and_no_memory_is_understood() -> None:
    line = b'{"type": "Ended", "reason": "end", "text": "t", "stats": {}}'
    assert decode_event(line) == (0, Ended("end", "t", {}))
    loaded = json.loads(encode(EVENTS[1]))
    del loaded["memory"]
    _, understood = decode_event(json.dumps(loaded).encode())
    assert isinstance(understood, Loaded)
    assert understood.memory == MemoryUse()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "null",
        "[1]",
        '"x"',
        '{"type": "Dance"}',
        '{"type": "Set"}',
        '{"type": "Set", "settings": {"k": -1}}',
        '{"type": "Threads", "target": -1, "draft": 1}',
        '{"type": "StepRounds", "rounds": "many"}',
        '{"type": ["Quit"]}',
        '{"type": "Notice", "text": "an event"}',
    ],
)
def test_a_command_that_makes_no_sense_is_none(line: str) -> None:
    assert decode_command(line.encode()) == (0, None)


@pytest.mark.parametrize("change", [{"drafted": [1]}, {"token": None}, {"index": "x"}, {"ms": {}}, {"top": {}}])
def test_a_round_that_makes_no_sense_is_none(change: dict[str, object]) -> None:
    line = json.loads(encode(sample_round([("a", "x")], (TokenKind.BONUS, "y"))))
    assert decode_event(json.dumps(line).encode())[1]
    assert decode_event(json.dumps(line | change).encode()) == (0, None)


@given(st.one_of(st.binary(), st.dictionaries(st.text(), st.integers()).map(lambda made: json.dumps(made).encode())))
def test_no_line_breaks_the_reader(line: bytes) -> None:
    assert decode_event(line)[1] is None
    assert decode_command(line)[1] is None


def test_a_line_that_nests_without_end_breaks_nothing() -> None:
    assert decode_event(b'{"type": "Started", "line": ' + b'{"a":' * 100_000) == (0, None)


def test_a_line_that_cannot_be_read_still_has_its_number() -> None:
    for line in (b'{"type": "Generate", "number": 3}', b'{"number": 3, "type": "Dance"}'):
        assert decode_command(line) == (3, None)
    for number in (b'"3"', b"true", b"null"):
        assert decode_command(b'{"type": "Generate", "number": ' + number + b"}") == (0, None)
