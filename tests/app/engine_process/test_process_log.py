"""Why a process ended, from its exit code and its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.engine_process.process import describe_death, relevant_line


@pytest.mark.parametrize(
    ("returncode", "words"),
    [(-9, "SIGKILL: killed from outside"), (-6, "SIGABRT"), (-11, "SIGSEGV"), (-64, "SIG"), (3, "exit code 3")],
)
def test_the_signal_or_the_exit_code_is_named(tmp_path: Path, returncode: int, words: str) -> None:
    assert words in describe_death(returncode, tmp_path / "none.log", 0)


def test_a_failed_assertion_is_the_reason_whatever_follows_it() -> None:
    tail = "loading\n/tmp/build/x/llama-context.cpp:178: GGML_ASSERT(n <= m) failed\nwarning: no such error\n\n"
    assert relevant_line(tail) == "llama-context.cpp:178: GGML_ASSERT(n <= m) failed"


def test_the_last_complaint_comes_before_the_last_line() -> None:
    assert relevant_line("MemoryError: no room\nbye\n") == "MemoryError: no room"
    assert relevant_line("hello\nbye\n") == "bye"


def test_what_an_earlier_process_wrote_is_not_the_reason(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("old error\n")
    assert "old" not in describe_death(-9, log, log.stat().st_size)
    assert "old error" in describe_death(-9, log, 0)
