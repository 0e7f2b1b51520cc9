"""`specchat run` as a process, on the built-in pair."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.analysis.audit import Case, audit

QUESTION = "What is speculative decoding?"
PLAIN = ("-k", "0")
WAYS = (("-k", "4", "--drafter", "model"), ("-k", "7", "--drafter", "lookup"))


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SPECCHAT, "run", *arguments, *FLAGS],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )


def trace(environment: dict[str, str], *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(environment, *arguments, "--json").stdout.splitlines()]


def emitted(rounds: Sequence[dict[str, Any]], what: str) -> list[Any]:
    """The texts or ids of the answer's tokens."""
    tokens = []
    for line in rounds:
        tokens += [token[what] for token in line["drafted"] if token["outcome"] == "accepted"]
        tokens += [line["token"][what]] if line["token"]["kind"] != "none" else []
    return tokens


def is_numerics(start: dict[str, Any], question: str, way: Sequence[str]) -> bool:
    """True if the audit attributes the difference to numerics. `start` is a trace's first line."""
    params = SamplingParams(**{name: value for name, value in start["params"].items() if name != "k"})
    settings = Settings(k=int(way[1]), drafter=way[3], sampling=params, max_tokens=200)
    with Engine.load(*builtin_pair(), LoadOptions(threads=1)) as engine:
        cases = [Case("text", question, settings)]
        found = audit(lambda each: engine.session(None, each, start["seed"]), engine.memory, engine.vocabulary, cases)
    return bool(found.differences) and not found.unexplained


def test_a_terminal_gets_colours(specchat: Callable[..., Terminal]) -> None:
    terminal = specchat("run", QUESTION)
    terminal.wait_for("exit code 0")
    shown = terminal.screen(colours=True)
    assert "\x1b[38;2;79;157;234m" in shown
    assert "tok/s" in shown
    assert "seed 7" in shown


def test_a_pipe_gets_the_text_alone_and_the_json_lines_contain_the_whole_answer(environment: dict[str, str]) -> None:
    asked = (QUESTION, "--drafter", "model", "-k", "4")  # passes of other widths may differ in their last bits
    done = run(environment, *asked)
    start, *rounds, end = trace(environment, *asked)
    assert done.stdout.rstrip("\n") == end["text"].rstrip("\n")
    assert "\x1b" not in done.stdout + done.stderr
    source, figures = done.stderr.splitlines()
    assert "from the help: speculative decoding" in source
    assert "tok/s" in figures
    assert [start["type"], end["type"], *{line["type"] for line in rounds}] == ["start", "end", "round"]
    assert "".join(emitted(rounds, "text")) == end["text"] != ""
    assert start["prompt_tokens"] == end["stats"]["prompt_tokens"] > 0
    assert end["stats"]["num_rounds"] == len(rounds)


@pytest.mark.parametrize(("question", "temperature"), [(QUESTION, 0.8), ("Show me the code of textwrap.indent", 0.0)])
def test_the_text_is_the_same_with_and_without_speculation(
    environment: dict[str, str], question: str, temperature: float
) -> None:
    flags = (question, "--temp", str(temperature), "-n", "200")
    start, *plain, _ = trace(environment, *flags, *PLAIN)
    wanted = emitted(plain, "id")
    for way in WAYS:
        _, *rounds, _ = trace(environment, *flags, *way)
        said = emitted(rounds, "id")
        assert said == wanted or is_numerics(start, question, way), " ".join(way)


def test_verify_finds_no_bug_in_the_built_in_pair(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*SPECCHAT, "verify", "--prompts", "1", "-n", "12", "--json", "-t", "1"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    *cases, audited = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(case["temperature"], case["drafter"]) for case in cases} >= {(0, "model"), (0.8, "model"), (0.8, "lookup")}
    assert audited["answers"] == len(cases) > 80
    assert (audited["unexplained"], done.stderr) == (0, "")
    assert 0 <= audited["logit_noise"]["median"] <= audited["logit_noise"]["max"] < 0.1
