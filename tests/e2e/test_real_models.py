"""The program on real models: only with a folder of them, named by SPECCHAT_MODELS (see docs/benchmarks.md).

What a model says is its own affair: the tests look at the structure of answers.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from specchat_engine import Engine, LoadOptions, Message, Prompt, SamplingParams, Settings
from specchat_engine.answers.parser import parse_answer
from support.real_models import DRAFT, SMALL, TARGET, RealModel, find

FOLDER = os.environ.get("SPECCHAT_MODELS", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="needs a folder of real models: SPECCHAT_MODELS=FOLDER make test")

Specchat = Callable[..., Terminal]

SHORT = ("-n", "24", "-c", "1024")
SECONDS = 600
"""A command may take this long: a busy machine takes far longer than a quiet one."""

END = 2
"""The token that ends an answer of the small model."""

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}, "unit": {"enum": ["C", "F"]}},
            "required": ["city", "unit"],
        },
    },
}


def file_of(model: RealModel) -> Path:
    """Its file; skips the test if the folder lacks it."""
    try:
        return find(Path(FOLDER), model)
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def pair() -> tuple[Path, Path]:
    """Target and draft model."""
    return file_of(TARGET), file_of(DRAFT)


@pytest.fixture(scope="module")
def small() -> Path:
    """The smallest model, which answers at once."""
    return file_of(SMALL)


@pytest.fixture(scope="module")
def engine(pair: tuple[Path, Path]) -> Iterator[Engine]:
    """The pair, loaded once."""
    with Engine.load(*pair, LoadOptions(n_ctx=1024, threads=1)) as loaded:
        yield loaded


def output(environment: dict[str, str], *arguments: str) -> str:
    """What a command prints. Fails if it does."""
    done = subprocess.run(
        [*SPECCHAT, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(environment: dict[str, str], *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last line of an answer's trace."""
    start, *_, end = map(json.loads, output(environment, "run", *arguments, "--json", *FLAGS).splitlines())
    return start, end


def test_a_conversation_on_a_small_model_is_edited_stopped_and_resumed(specchat: Specchat, small: Path) -> None:
    terminal = specchat("chat", "-m", str(small), *SHORT)
    terminal.patience = SECONDS
    terminal.wait_for("speculation [●○]")
    terminal.type("Name three rivers.")
    terminal.wait_for(r"▌ Name three rivers\.(.|\n)*tok/s")
    terminal.type("And three lakes?")
    terminal.wait_until(lambda shown: len(re.findall(r"tok/s · ", shown)) == 2, "a second answer")
    terminal.type("/edit answer The first is")
    terminal.wait_for(r"‹2/2›(.*\n)? +The first is")
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")

    again = specchat("chat", "-m", str(small), "--resume", "-n", "0", "-c", "8192", "--logit-bias", f"{END}=-inf")
    again.patience = SECONDS
    again.wait_for(r"▌ And three lakes\?(.|\n)*The first is")
    again.type("Tell me about the sea.")
    again.wait_for(r"▌ Tell me about the sea\.(.|\n)*esc Stop")
    again.wait_for(r"so far +[1-9]\d* tokens")
    again.keys("Escape")
    again.wait_for(r"stopped · [\d.]+ tok/s")


def test_a_pair_is_loaded_and_drafts(environment: dict[str, str], pair: tuple[Path, Path]) -> None:
    target, draft = pair
    flags = ("-m", str(target), "-d", str(draft), "-k", "3", "--drafter", "model", *SHORT)
    start, end = run(environment, "Write a Python function that adds two numbers.", *flags)
    assert start["target"]["n_params"] > 2 * start["draft"]["n_params"] > 0
    assert end["stats"]["num_accepted_tokens"] > 0
    assert 0 < end["stats"]["num_tokens"] <= 24


def test_an_answer_follows_a_json_schema(environment: dict[str, str], pair: tuple[Path, Path]) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 12}, "legs": {"enum": [2, 4, 6]}},
        "required": ["name", "legs"],
        "additionalProperties": False,
    }
    flags = ("-m", str(pair[0]), "-d", str(pair[1]), "-n", "64", "-c", "1024", "-j", json.dumps(schema))
    _, end = run(environment, "Describe a horse.", *flags)
    found = json.loads(end["text"])
    assert {name: type(value) for name, value in found.items()} == {"name": str, "legs": int}


def test_without_thinking_the_whole_answer_is_content(environment: dict[str, str], pair: tuple[Path, Path]) -> None:
    start, end = run(environment, "Say hello.", "-m", str(pair[0]), "--think", "off", *SHORT)
    assert end["text"].strip()
    assert "<think>" not in end["text"]
    assert not start.get("opens_reasoning")


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_a_required_call_names_the_tool_and_fits_its_schema(engine: Engine, temperature: float) -> None:
    settings = Settings(sampling=SamplingParams(temperature=temperature), max_tokens=96)
    session = engine.session(settings=settings, seed=7)
    asked = [Message("user", "Is it warm in Oslo today?")]
    for _ in session.answer(Prompt(asked, (WEATHER,), must_call=True), 0):
        pass
    (call,) = parse_answer(session.text, engine.answer_format, (WEATHER,)).tool_calls
    assert call.name == "weather"
    arguments = json.loads(call.arguments)
    assert isinstance(arguments["city"], str)
    assert arguments["unit"] in ("C", "F")


def test_a_second_turn_reads_only_what_is_new_and_a_cancelled_one_leaves_the_session_usable(engine: Engine) -> None:
    session = engine.session(settings=Settings(max_tokens=16), seed=7)
    for _ in session.generate("Write a haiku about rain."):
        pass
    assert len(session.answer_ids) <= 16
    for _ in session.generate("Another one, about snow."):
        session.cancel()
    assert session.end_reason == "cancelled"
    assert [message.role for message in session.messages] == ["user", "assistant"] * 2
    session.settings = replace(session.settings, max_tokens=4)
    for _ in session.generate("And now about fog."):
        pass
    assert session.end_reason in ("length", "end")
    assert session.text


@pytest.mark.parametrize("drafter", ["model", "lookup"])
def test_verify_finds_no_bug(environment: dict[str, str], pair: tuple[Path, Path], drafter: str) -> None:
    flags = ("-m", str(pair[0]), "-d", str(pair[1]), "--drafter", drafter, "-k", "3", "-c", "1024", "-t", "1")
    report = output(environment, "verify", "--prompts", "1", "--kind", "python", "-n", "24", "--json", *flags)
    *cases, audited = map(json.loads, report.splitlines())
    assert audited["answers"] == len(cases) > 0
    assert audited["unexplained"] == 0
