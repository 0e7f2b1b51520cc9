"""`specchat replay`, in this process and on a real terminal."""

from __future__ import annotations

import json
import math
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from app.cli.conftest import Complaint, read_terminal
from specchat.cli import main
from specchat.cli.replay import play, read_speed, read_turns
from specchat.traces.trace import Trace, read_trace
from specchat_engine.decoding.rounds import Round
from support.sample_traces import encoded, sample_trace
from support.tiny_models import TinyModels

SPECCHAT = [sys.executable, "-m", "specchat"]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes turns into one file and returns its path."""

    def write(*turns: Trace) -> str:
        path = tmp_path / "trace.jsonl"
        path.write_text("".join(line for trace in turns for line in encoded(trace)), "utf-8")
        return str(path)

    return write


class Watched:
    """An output that notes what came when, and a clock that only sleeping moves."""

    def __init__(self, interrupt_after: float = math.inf) -> None:
        self.now = 50.0
        self.seen: list[tuple[float, str]] = []
        self.stats: Mapping[str, Any] = {}
        self._until = self.now + interrupt_after

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self._until:
            raise KeyboardInterrupt

    def start(self, line: Mapping[str, Any]) -> None:
        self._note("start")

    def round(self, event: Round) -> None:
        self._note(event.text)

    def error(self, message: str) -> None:
        raise AssertionError(message)

    def end(self, line: Mapping[str, Any]) -> None:
        self._note("end")
        self.stats = line["stats"]

    def _note(self, what: str) -> None:
        self.seen.append((round(self.now - 50.0, 6), what))


@pytest.mark.parametrize("speed", [1.0, 0.01])
def test_every_round_is_shown_when_it_is_due(speed: float) -> None:
    watched = Watched()
    assert play(sample_trace(), watched, speed, watched.clock, watched.sleep) == 0
    texts = ["The", " cat sat on the", " red mat", "."]
    rounds = [(round(0.1 * (place + 1) / speed, 6), text) for place, text in enumerate(texts)]
    assert watched.seen == [(0.0, "start"), *rounds, (rounds[-1][0], "end")]
    at_once = Watched()
    assert play(sample_trace(), at_once, math.inf, at_once.clock, at_once.sleep) == 0
    assert {moment for moment, _ in at_once.seen} == {0.0}, "without a limit nothing waits"


def test_ctrl_c_ends_with_the_statistics_of_what_was_shown() -> None:
    watched = Watched(interrupt_after=0.25)
    assert play(sample_trace(), watched, 1.0, watched.clock, watched.sleep) == 130
    assert [what for _, what in watched.seen] == ["start", "The", " cat sat on the", "end"]
    assert (watched.stats["num_rounds"], watched.stats["num_tokens"]) == (2, 5)


def test_a_pipe_gets_the_plain_text_at_once_and_standard_error_the_statistics(
    capsys: pytest.CaptureFixture[str], written: Callable[..., str]
) -> None:
    slow = sample_trace(step_ms=3_600_000.0)
    assert main(["replay", written(slow)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "The cat sat on the red mat.\n"
    assert captured.err == (
        "specchat: 8 tokens · 571 tok/s · ×? plain · accepted 62 % · α 0.83 · τ 2.0 · "
        "draft 29 % verify 57 % other 14 % · seed 7\n"
    )


def test_a_branched_answer_begins_with_its_prefix(
    capsys: pytest.CaptureFixture[str], written: Callable[..., str]
) -> None:
    assert main(["replay", written(sample_trace(prefix=[1], prefix_text="Once: "))]) == 0
    assert capsys.readouterr().out == "Once: The cat sat on the red mat.\n"


def test_json_repeats_the_lines_and_invents_no_end(
    capsys: pytest.CaptureFixture[str], written: Callable[..., str]
) -> None:
    turns = [sample_trace(), sample_trace(ended=False, turn=1)]
    assert main(["replay", written(*turns), "--json"]) == 0
    assert read_trace(capsys.readouterr().out.splitlines()) == turns


def test_one_turn_of_several_can_be_chosen(capsys: pytest.CaptureFixture[str], written: Callable[..., str]) -> None:
    turns = [sample_trace(), sample_trace(turn=1, ended=False)]
    assert main(["replay", written(*turns), "--turn", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["turn"] == 1
    assert main(["replay", written(*turns), "--turn", "3"]) == 2
    assert capsys.readouterr().err.endswith("has 2 turns\n")


def test_a_missing_end_is_reported(capsys: pytest.CaptureFixture[str], written: Callable[..., str]) -> None:
    assert main(["replay", written(sample_trace(ended=False))]) == 0
    assert capsys.readouterr().err.endswith("the recording stops here: the trace has no end\n")
    failed = sample_trace(reason="error")._replace(error="llama_decode \x1b[2J failed")
    assert main(["replay", written(failed)]) == 0
    assert capsys.readouterr().err.endswith("the turn failed: llama_decode \ufffd[2J failed\n")


def test_a_file_that_is_not_a_trace_or_does_not_exist_is_one_line(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    for path, words in (
        (tmp_path / "notes.txt", "line 1: this is not JSON"),
        (tmp_path / "missing", "does not exist: name a file that `run --json` wrote"),
        (tmp_path, "Is a directory"),
    ):
        line = complaint("replay", str(path), code=1)
        assert line.startswith(f"specchat: {path}")
        assert words in line


class Terminal(StringIO):
    """Standard error on a terminal."""

    def isatty(self) -> bool:
        return True


def test_reading_a_trace_shows_progress_on_a_terminal_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, written: Callable[..., str]
) -> None:
    path, terminal = Path(written(sample_trace())), Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("specchat.cli.replay.MOMENT", 600.0)
    read_turns(path, None)
    assert terminal.getvalue() == "\r\x1b[K", "a moment"
    monkeypatch.setattr("specchat.cli.replay.MOMENT", 0.0)
    read_turns(path, None)
    assert "reading the trace: 0 of 0 MiB" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K"), "nothing stays in the row"
    monkeypatch.setattr("sys.stderr", StringIO())
    read_turns(path, None)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_a_speed_is_a_factor_or_max() -> None:
    assert [read_speed(word) for word in ("2", "0.5", "max")] == [2.0, 0.5, math.inf]


@pytest.mark.parametrize("word", ["0", "-1", "nan", "inf", "fast", "", "1001"])
def test_another_speed_is_wrong_usage(complaint: Complaint, written: Callable[..., str], word: str) -> None:
    line = complaint("replay", written(sample_trace()), f"--speed={word}")
    assert line.startswith(f"specchat: --speed is {word}".rstrip())


def test_the_extension_selects_the_export_and_existing_files_are_kept(
    capsys: pytest.CaptureFixture[str], written: Callable[..., str], tmp_path: Path
) -> None:
    path = written(sample_trace())
    for ending in ("md", "svg", "html", "jsonl"):
        out = tmp_path / f"out.{ending}"
        assert main(["replay", path, "--export", str(out)]) == 0
        assert out.exists()
        assert capsys.readouterr().err == f"specchat: wrote {out}\n"
        assert main(["replay", path, "-o", str(out)]) == 1
        refusal = capsys.readouterr().err
        assert f"{out} exists" in refusal
        assert "--force" in refusal
        assert main(["replay", path, "-o", str(out), "--force"]) == 0
        capsys.readouterr()
    assert main(["replay", path, "-o", str(tmp_path / "out.pdf")]) == 1
    assert "end it in .md, .svg" in capsys.readouterr().err


def test_a_recorded_run_is_replayed_as_it_was_printed(
    capsys: pytest.CaptureFixture[str], tiny_models: TinyModels, pipe_in: Callable[[bytes], None]
) -> None:
    pair = ["-m", str(tiny_models.target), "-d", str(tiny_models.draft), "-t", "1", "-s", "7", "-n", "24", "-k", "4"]
    assert main(["run", "hello", *pair, "--json"]) == 0
    recorded = capsys.readouterr().out
    pipe_in(recorded.encode())
    assert main(["replay", "-", "--json"]) == 0
    assert capsys.readouterr().out == recorded
    assert main(["run", "hello", *pair]) == 0
    printed = capsys.readouterr().out
    pipe_in(recorded.encode())
    assert main(["replay", "-", "--raw"]) == 0
    assert capsys.readouterr().out == printed


def test_a_replay_loads_neither_a_model_nor_the_app(written: Callable[..., str], tmp_path: Path) -> None:
    code = (
        "import sys; from specchat.cli import main; code = main(sys.argv[1:]);"
        "print(code, *sorted({'llama_cpp', 'textual', 'torch', 'numpy'} & set(sys.modules)))"
    )
    for words in ([], ["-o", str(tmp_path / "out.html")]):
        command = [sys.executable, "-c", code, "replay", written(sample_trace()), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "0"


def on_a_terminal(words: Sequence[str], interrupt_at: bytes = b"") -> tuple[bytes, bytes, int]:
    """What a terminal shows, what standard error says, and the exit code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLORTERM": "truecolor"}
    with subprocess.Popen(
        [*SPECCHAT, *words], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while chunk := read_terminal(ours):
            shown += chunk
            if interrupt_at and interrupt_at in shown:
                process.send_signal(signal.SIGINT)
                interrupt_at = b""
        assert process.stderr is not None
        said = process.stderr.read()
        code = process.wait(600)
    os.close(ours)
    return shown, said, code


def test_a_terminal_gets_the_question_and_the_coloured_answer(written: Callable[..., str]) -> None:
    shown, said, code = on_a_terminal(["replay", written(sample_trace(step_ms=1.0))])
    assert code == 0
    assert "› What is a round?".encode() in shown
    assert b"38;2;" in shown
    assert b"\x1b[2;9" in shown
    assert said.startswith(b"specchat: 8 tokens")


def test_ctrl_c_on_a_terminal_ends_with_130_and_the_statistics(written: Callable[..., str]) -> None:
    trace = sample_trace(step_ms=1.0)
    late = trace._replace(rounds=(*trace.rounds[:-1], replace(trace.rounds[-1], t_ms=3_600_000.0)))
    _, said, code = on_a_terminal(["replay", written(late)], interrupt_at=b"mat")
    assert code == 130
    assert said.startswith((b"specchat: 5 tokens", b"specchat: 7 tokens"))  # it may come while the round is written
    assert said.count(b"\n") == 1


def test_tui_needs_a_terminal_and_excludes_other_outputs(written: Callable[..., str], complaint: Complaint) -> None:
    file = written(sample_trace())
    assert "--tui needs a terminal" in complaint("replay", file, "--tui")
    assert "omit --speed, --export and --json" in complaint("replay", file, "--tui", "--json")


def test_control_characters_of_a_trace_reach_a_pipe_only_if_they_are_asked_for(
    capsys: pytest.CaptureFixture[str], written: Callable[..., str]
) -> None:
    trace = sample_trace()
    first = replace(trace.rounds[0], token=replace(trace.rounds[0].token, text="\x1b[2Jgone"))
    path = written(trace._replace(rounds=(first, *trace.rounds[1:])))
    assert main(["replay", path]) == 0
    assert "\ufffd[2Jgone" in (filtered := capsys.readouterr().out)
    assert "\x1b" not in filtered
    assert main(["replay", path, "--raw"]) == 0
    assert "\x1b[2Jgone" in capsys.readouterr().out
