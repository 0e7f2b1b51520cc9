"""The whole program with a real server: `specchat run`, the plain chat, and the app in a real terminal."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.terminal import SPECCHAT, Terminal, clean_environment
from specchat.traces.trace import Trace, read_trace

_QUESTION = "What is speculative decoding?"
_SECONDS = 120
_ENDLESS = ("--temp", "0", "--repeat-penalty", "100", "--repeat-last-n", "-1")
_STATISTICS = r"[\d.]+ tok/s · ×\? plain"


def _said(words: Sequence[str], home: Path, lines: str = "") -> subprocess.CompletedProcess[str]:
    """The program after it has read these lines. Raises CalledProcessError if it fails."""
    return subprocess.run(
        [*SPECCHAT, *words],
        env=clean_environment(home),
        cwd=home,
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    )


def _greedy(url: str) -> tuple[str, ...]:
    return ("--remote", url, "--temp", "0", "--seed", "7", "-n", "48")


def run_knows(url: str, home: Path, engine: str) -> bool:
    """Whether the trace of `specchat run --json` names the engine and its version, and has drafts and known tokens."""
    (trace,) = read_trace(_said(("run", _QUESTION, "--json", *_greedy(url)), home).stdout.splitlines())
    engine_info = trace.start["engine"]
    return engine_info["kind"] == engine and bool(engine_info["version"]) and _is_whole(trace)


def _is_whole(trace: Trace) -> bool:
    """Whether a trace has all text in its rounds."""
    return trace.reason in ("end", "length") and "".join(event.text for event in trace.rounds) == trace.text != ""


def plain_chat_keeps(url: str, home: Path, engine: str) -> bool:
    """Whether a plain chat names the engine, asks again, and exports both answers to the same question alike."""
    lines = f"{_QUESTION}\n/export jsonl first.jsonl\n/regen\n/export jsonl again.jsonl\nAnd why?\n/export md chat.md\n"
    chat = _said(("chat", "--plain", *_greedy(url)), home, lines)
    traces = [read_trace(home / name) for name in ("first.jsonl", "again.jsonl")]
    (first,), (again,) = traces
    written = (home / "chat.md").read_text()
    return (
        f", {engine} at " in chat.stderr
        and first.text == again.text
        and [_is_whole(first), _is_whole(again)] == [True, True]
        and first.start["seed"] == again.start["seed"]
        and first.text in written
        and "And why?" in written
    )


def app_edits(url: str, home: Path, engine: str) -> bool:
    """Whether the app answers, answers again, answers an edited question, and exports what is then on the screen."""
    file = home / "edited.jsonl"
    with _app((*_greedy(url),), home) as terminal:
        terminal.wait_for(rf"{engine} at ")
        terminal.type(_QUESTION)
        terminal.wait_for(_STATISTICS)
        terminal.type("/regen")
        terminal.wait_for(rf"‹2/2›(.|\n)*{_STATISTICS}", absent="esc Stop")
        terminal.type("/edit")
        terminal.wait_until(lambda shown: shown.count(_QUESTION) == 2, "the question in the prompt")
        terminal.type(" And k?")
        terminal.wait_for(rf"{re.escape(_QUESTION)} And k\?(.|\n)*{_STATISTICS}", absent="esc Stop")
        terminal.type(f"/export jsonl {file}")
        terminal.wait_for("exported to")
    (trace,) = read_trace(file)
    return trace.question == f"{_QUESTION} And k?" and _is_whole(trace)


def app_stops(url: str, home: Path, engine: str) -> bool:
    """Whether Esc stops an endless answer in the app, and the next question is answered."""
    with _app(("--remote", url, *_ENDLESS), home) as terminal:
        terminal.wait_for(rf"{engine} at ")
        terminal.type("Count as far as you can.")
        terminal.wait_for(r"so far +[1-9]\d* tokens(.|\n)*esc Stop")
        terminal.keys("Escape")
        terminal.wait_for(r"stopped · [\d.]+ tok/s")
        terminal.type("/set max_tokens 16")
        terminal.type(_QUESTION)
        terminal.wait_for(rf"max tokens · {_STATISTICS}")
    return True


@contextmanager
def _app(words: Sequence[str], home: Path) -> Iterator[Terminal]:
    """The chat in a terminal, until the end of the context. What does not appear there raises AssertionError."""
    terminal = Terminal((*SPECCHAT, "chat", *words), clean_environment(home))
    try:
        yield terminal
    finally:
        terminal.close()


def programs(engine: str) -> Sequence[tuple[str, Callable[[str], bool]]]:
    """What is done with the whole program, each with its name. Every one gets a home folder of its own."""

    def at_home(work: Callable[[str, Path, str], bool]) -> Callable[[str], bool]:
        def holds(url: str) -> bool:
            with tempfile.TemporaryDirectory() as home:
                return work(url, Path(home), engine)

        return holds

    return (
        (f"specchat run knows {engine}", at_home(run_knows)),
        ("a plain chat answers again and exports", at_home(plain_chat_keeps)),
        ("the app answers, edits and exports", at_home(app_edits)),
        ("Esc stops an answer in the app", at_home(app_stops)),
    )
