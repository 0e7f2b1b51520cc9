"""`specchat run` as a process, on the built-in pair."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from benchmarks.same_text import gap_at
from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams

QUESTION = "What is speculative decoding?"
PLAIN = ("-k", "0")
WAYS = (("-k", "4", "--drafter", "model"), ("-k", "7", "--drafter", "lookup"))
NEAR_TIE = 0.02
"""Passes over one and over several tokens use other kernels: values of log p + g nearer than this may change places."""


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SPECCHAT, "run", *arguments, *FLAGS],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def trace(environment: dict[str, str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(environment, *arguments, "--json").stdout.splitlines()]


def emitted(rounds: Sequence[dict[str, Any]], what: str) -> list[Any]:
    """The texts or the ids of the tokens that make the answer."""
    tokens = []
    for line in rounds:
        tokens += [token[what] for token in line["drafted"] if token["outcome"] == "accepted"]
        tokens += [line["token"][what]] if line["token"]["kind"] != "none" else []
    return tokens


def gap_in_plain_decoding(start: dict[str, Any], question: str, place: int) -> float:
    """The distance of the two best values of log p + g at an output position; `start` is a trace's first line."""
    params = SamplingParams(**{name: value for name, value in start["params"].items() if name != "k"})
    with Engine.load(*builtin_pair(), LoadOptions(threads=1)) as engine:
        return gap_at(engine, params, start["seed"], question, place)


def test_a_terminal_gets_colours(specchat: Callable[..., Terminal]) -> None:
    terminal = specchat("run", QUESTION)
    terminal.wait_for("exit code 0")
    shown = terminal.screen(colours=True)
    assert "\x1b[38;2;79;157;234m" in shown
    assert "tok/s" in shown
    assert "seed 7" in shown


def test_a_pipe_gets_the_text_alone(environment: dict[str, str]) -> None:
    done = run(environment, QUESTION)
    *_, end = trace(environment, QUESTION)
    assert done.stdout.rstrip("\n") == end["text"].rstrip("\n")
    assert "\x1b" not in done.stdout + done.stderr
    assert "tok/s" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_json_lines_tell_the_whole_answer(environment: dict[str, str]) -> None:
    start, *rounds, end = trace(environment, QUESTION)
    assert [start["type"], end["type"], *{line["type"] for line in rounds}] == ["start", "end", "round"]
    assert "".join(emitted(rounds, "text")) == end["text"] != ""
    assert start["prompt_tokens"] == end["stats"]["prompt_tokens"] > 0
    assert end["stats"]["num_rounds"] == len(rounds)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("question", [QUESTION, "Show me the code of textwrap.indent"])
def test_the_text_is_the_same_without_and_with_any_speculation(
    environment: dict[str, str], question: str, temperature: float
) -> None:
    flags = (question, "--temp", str(temperature), "-n", "200")
    start, *plain, _ = trace(environment, *flags, *PLAIN)
    wanted = emitted(plain, "id")
    for way in WAYS:
        _, *rounds, _ = trace(environment, *flags, *way)
        said = emitted(rounds, "id")
        if said != wanted:
            place = next(place for place in range(len(wanted) + 1) if said[: place + 1] != wanted[: place + 1])
            gap = gap_in_plain_decoding(start, question, place)
            assert gap < NEAR_TIE, f"{' '.join(way)}: another token at position {place}, with a gap of {gap:.4f}"
