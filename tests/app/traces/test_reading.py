"""Trace files: whole, cut short, and hostile."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.errors import TraceError
from specchat.stats.line import statistics_line
from specchat.traces import checks
from specchat.traces.exports import KINDS, conversation, jsonl
from specchat.traces.exports.document import Document
from specchat.traces.timeline import Timeline
from specchat.traces.trace import LONGEST_LINE, Trace, lines_of, read_trace
from specchat_engine.decoding.trace_lines import REMOTE_SCHEMA, SCHEMA
from support.sample_traces import encoded, remote_trace, sample_trace, start_line, traces

QUICK = settings(max_examples=30)


def refusal(source: Path | list[str]) -> str:
    with pytest.raises(TraceError) as caught:
        read_trace(source)
    message = str(caught.value)
    assert "\n" not in message
    return message


def read_or_refused(lines: Iterable[bytes]) -> list[Trace]:
    """The turns, none where they were refused as they should be."""
    message = ""
    try:
        return read_trace(lines)
    except TraceError as refused:
        message = str(refused)
    assert message.startswith("the trace")
    assert "\n" not in message
    return []


def altered(kind: str, **changes: Any) -> list[str]:
    """A good trace whose first line of this type has other values; None takes one away."""
    lines = list(sample_trace().lines())
    place = next(index for index, line in enumerate(lines) if line["type"] == kind)
    lines[place] = {name: value for name, value in (lines[place] | changes).items() if value != "absent"}
    return [json.dumps(line) + "\n" for line in lines]


@QUICK
@given(st.lists(traces(), min_size=1, max_size=3))
def test_what_was_written_is_read_again(turns: list[Trace]) -> None:
    text = jsonl(Document("", (), tuple(turns)))
    assert read_trace(lines_of(io.BytesIO(text.encode()))) == turns
    assert read_trace(text.splitlines(keepends=False) if text.isascii() else text.split("\n")) == turns


@QUICK
@given(traces(), st.data())
def test_a_file_that_was_cut_anywhere_gives_the_rounds_before_the_cut(turn: Trace, data: st.DataObject) -> None:
    whole = jsonl(Document("", (), (turn,))).encode()
    first = whole.index(b"\n") + 1
    cut = data.draw(st.integers(first, len(whole)))
    (read,) = read_trace(lines_of(io.BytesIO(whole[:cut])))
    rounds = [line for line in whole[:cut].split(b"\n") if line.startswith(b'{"type": "round"') and line.endswith(b"}")]
    assert read.rounds == turn.rounds[: len(read.rounds)]
    assert len(read.rounds) in (len(rounds), len(rounds) - 1)
    assert read.end in (None, turn.end)


def test_after_a_kill_the_turn_has_no_end_and_half_a_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    lines = encoded(sample_trace())
    path.write_text("".join(lines[:3]) + lines[3][:40], "utf-8")
    (trace,) = read_trace(path)
    assert len(trace.rounds) == 2
    assert trace.end is None


def test_half_a_line_in_the_middle_is_refused() -> None:
    lines = encoded(sample_trace())
    assert "line 3: this is not JSON" in refusal([*lines[:2], lines[2][:40] + "\n", *lines[3:]])
    assert "line 3: this is not JSON" in refusal([*lines[:2], lines[2][:40], *lines[3:]])


def test_a_line_with_a_lone_surrogate_and_an_error_come_back(tmp_path: Path) -> None:
    trace = sample_trace(question="half \ud83d of a pair")
    path = tmp_path / "trace.jsonl"
    path.write_bytes(jsonl(Document("", (), (trace,))).encode("utf-8", "backslashreplace"))
    assert read_trace(path) == [trace]
    failed = sample_trace(reason="error")._replace(error="the pass failed")
    assert read_trace(encoded(failed)) == [failed]


def test_a_file_may_have_several_turns_and_unknown_lines_and_keys() -> None:
    first, second = sample_trace(), sample_trace(turn=1)
    lines = [dict(line) for line in (*first.lines(), *second.lines())]
    lines[1] |= {"inspect": {"deep": [1]}}
    lines[1]["ms"] |= {"wait": "long"}
    lines.insert(2, {"type": "notice", "text": "hello"})
    assert read_trace([json.dumps(line) + "\n" for line in lines]) == [first, second]


def test_older_lines_are_read_and_the_newest_version_that_is_read_is_the_one_that_is_written() -> None:
    lines = altered("round", ms={"draft": 1, "verify": 2, "other": 0})
    assert read_trace(lines)[0].rounds[0].ms.rollback == 0.0, "from before roll-backs were timed"
    assert max(SCHEMA, REMOTE_SCHEMA) == checks.READS
    newer = "line 1: its schema is 3, and this specchat reads up to 2: update specchat"
    assert newer in refusal(altered("start", schema=3))


def test_what_a_server_did_not_report_is_read_as_unknown() -> None:
    trace = remote_trace()
    (read,) = read_trace(encoded(trace))
    assert read == trace
    assert [token.is_unknown for token in read.rounds[1].drafted] == [False, True, True]
    assert read.is_remote
    assert not sample_trace().is_remote


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a trace: `specchat run --json PROMPT > FILE` writes one"),
        (b'{"type": "bench", "samples": []}\n', "is not a trace"),
        (b"# Title\n", "line 1: this is not JSON"),
        (b"[1, 2]\n", "line 1: this is not a JSON object"),
        (b'{"type": "round"}\n', "line 1: a line of type round stands outside a turn"),
        (b'{"type": "start", "schema": NaN}\n', "line 1: NaN is not a number that JSON knows"),
        (b"[" * 100_000 + b"\n", "line 1: it nests more than 32 levels deep"),
        (b'{"a":' * 500 + b"1" + b"}" * 500 + b"\n", "is not a trace"),
        (b'{"type": "start", "schema": 1' + b"0" * 5000 + b"}\n", "line 1: this is not JSON"),
    ],
    ids=["empty", "bench", "text", "list", "no start", "NaN", "deep", "deep and unknown", "long number"],
)
def test_what_is_no_trace_is_refused_in_one_line_that_names_the_file(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "some file.jsonl"
    path.write_bytes(content)
    message = refusal(path)
    assert words in message
    assert message.startswith(str(path))


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("start", {"seed": True}, "line 1: seed is True, not a whole number"),
        ("start", {"seed": "absent"}, "line 1: it has no seed"),
        ("start", {"messages": [{"role": "user"}]}, "line 1: it has no content"),
        ("start", {"messages": {"role": "user"}}, "line 1: messages is a dict, not a list of objects"),
        ("start", {"target": {"name": 5, "n_params": 1}}, "line 1: name is 5, not a text"),
        ("start", {"target": {"name": "x", "n_params": 1e9}}, "n_params is 1000000000.0, not a whole number"),
        ("start", {"lossless": 1}, "line 1: lossless is 1, not true, false or null"),
        ("start", {"prefix_text": 5, "prefix": []}, "line 1: prefix_text is 5, not a text"),
        ("start", {"prefix_text": "x", "prefix": ["x"]}, "not a list of whole numbers that are not negative"),
        ("start", {"prompt_tokens": -1}, "line 1: prompt_tokens is -1, not a whole number that is not negative"),
        ("round", {"t_ms": -5.0}, "line 2: t_ms is -5.0, not a number that is not negative"),
        ("round", {"t_ms": 250.0}, "line 3: t_ms goes back from 250.0 to 200.0"),
        ("round", {"ms": {"draft": -1, "verify": 0, "other": 0}}, "line 2: draft is -1"),
        ("round", {"ms": {"draft": 1, "verify": 0}}, "line 2: it has no other"),
        ("round", {"index": 3}, "line 2: round 3 stands where round 0 belongs"),
        ("round", {"drafted": [{"id": 1, "text": "", "q": 1.5, "p": None, "outcome": "accepted"}]}, "q is 1.5"),
        ("round", {"drafted": [{"id": 1, "text": "", "q": None, "p": None, "outcome": "stolen"}]}, "'stolen', not one"),
        ("round", {"drafted": [{"id": 1, "text": "", "p": None, "outcome": "accepted"}]}, "line 2: it has no q"),
        ("round", {"drafted": [[1]]}, "line 2: drafted is a list, not a list of objects"),
        ("round", {"token": {"id": 1, "text": "x", "p": 1, "kind": "none"}}, "of kind none needs an id that is null"),
        ("round", {"token": {"text": "x", "p": 1, "kind": "plain"}}, "line 2: it has no id"),
        ("round", {"top": [{"id": 1, "text": "x", "p": None}]}, "line 2: p is None, not a number from 0 to 1"),
        ("round", {"source": ["\x1b[2J"]}, "line 2: source is a list, not a text"),
        ("end", {"text": None}, "line 6: text is None, not a text"),
        ("end", {"stats": {"num_tokens": "many"}}, "line 6: num_tokens is 'many'"),
        ("end", {"stats": {"num_tokens": 10**400}}, "line 6: num_tokens is 1000"),
        ("end", {"stats": {"tokens_per_second": -3}}, "line 6: tokens_per_second is -3"),
        ("end", {"stats": {"num_accepted_tokens_per_pos": [1, "x"]}}, "not a list of whole numbers"),
    ],
)
def test_a_value_that_no_turn_has_is_refused_with_its_line(kind: str, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(altered(kind, **changes))


def test_too_deep_a_start_and_an_infinite_number_are_refused_with_nothing_that_a_terminal_obeys() -> None:
    machine: Any = 1
    for _ in range(100):
        machine = [machine]
    assert "line 1: it nests more than 32 levels deep" in refusal(altered("start", machine=machine))
    lines = altered("round", t_ms=12345.5)
    lines[1] = lines[1].replace("12345.5", "1e999")
    assert "line 2: t_ms is inf, not a number" in refusal(lines)
    assert refusal(altered("start", verifier="x", seed="\x1b]0;title\x07\u202e")).isprintable()


def test_a_line_that_is_far_too_long_is_refused_without_reading_it() -> None:
    class Long(io.RawIOBase):
        left = 8 * LONGEST_LINE

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            count = min(len(buffer), self.left)
            self.left -= count
            buffer[:count] = b"x" * count
            return count

    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match="line 1: it is longer than 8 MiB"):
            read_trace(lines_of(io.BufferedReader(Long())))
        assert tracemalloc.get_traced_memory()[1] < 4 * LONGEST_LINE
    finally:
        tracemalloc.stop()


def test_a_file_without_end_is_refused_without_keeping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.traces.trace.LARGEST_FILE", 10_000)
    line = json.dumps(start_line()) + "\n"
    with pytest.raises(TraceError, match="the file is larger than"):
        read_trace(line for _ in iter(int, 1))


_HOSTILE: list[Any] = [None, True, -1, -0.5, 0, 2**70, 1e300, float("inf"), float("nan"), "", "\x1b[2J", [], {}, [[]]]


@settings(max_examples=60)
@given(traces(), st.data())
def test_a_trace_with_any_value_replaced_is_rejected_in_one_line_or_usable(turn: Trace, data: st.DataObject) -> None:
    lines = json.loads(json.dumps(list(turn.lines())))
    holder: Any = lines
    key: Any = data.draw(st.integers(0, len(lines) - 1))
    while isinstance(holder[key], dict | list) and holder[key] and data.draw(st.integers(0, 3)):
        holder = holder[key]
        key = data.draw(st.sampled_from([*holder] if isinstance(holder, dict) else range(len(holder))))
    match data.draw(st.sampled_from(["replace", "remove", "double"])):
        case "replace":
            holder[key] = data.draw(st.sampled_from(_HOSTILE))
        case "remove":
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(key, holder[key])
    read = read_or_refused([(json.dumps(line) + "\n").encode() for line in lines])
    for trace in read:
        Timeline(trace).due(1.0)
        statistics_line(trace.stats, trace.start)
        assert read_trace(encoded(trace)) == [trace]
    for export in KINDS.values() if read else ():
        export(Document("title", tuple(conversation(read)), tuple(read))).encode("utf-8", "backslashreplace")


@settings(max_examples=60)
@given(st.integers(0, 5000), st.binary(min_size=1, max_size=4))
def test_a_file_with_changed_bytes_is_rejected_in_one_line_or_read(place: int, junk: bytes) -> None:
    whole = "".join(encoded(sample_trace())).encode()
    place %= len(whole)
    read_or_refused(lines_of(io.BytesIO(whole[:place] + junk + whole[place + len(junk) :])))
