"""The audit covers thoughts, grammars after them, and calls of tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from specchat_engine import Engine, LoadOptions, SamplingParams, Settings
from specchat_engine.analysis.adversary import Adversary
from specchat_engine.analysis.audit import Audit, Case, audit
from specchat_engine.analysis.recording import record
from support.planted_bugs import PLANTED
from support.thinking_models import ThinkingModels, write_harmony_pair, write_thinking_pair

GRAMMAR = r'root ::= "{" [a-z ]{2,12} "}"'
TOOLS = (
    {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 12}, "day": {"enum": ["today", "tomorrow"]}},
            "required": ["city", "day"],
        },
    },
)
WAYS = (("model", 4, "coupled"), ("adversary", 6, "coupled"), ("model", 4, "rejection"), ("adversary", 4, "block"))


@pytest.fixture(scope="module", params=[write_thinking_pair, write_harmony_pair], ids=["tags", "harmony"])
def loaded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Adversary]]:
    files: ThinkingModels = request.param(tmp_path_factory.mktemp("thinker"))
    adversary = Adversary()
    options = LoadOptions(threads=1, n_ctx=1024)
    with Engine.load(files.target, files.draft, options, drafters={adversary.name: adversary.made}) as engine:
        yield engine, adversary


def cases(kind: str, temperature: float, max_tokens: int = 60) -> list[Case]:
    grammar = GRAMMAR if kind == "grammar" else ""
    base = Settings(
        sampling=SamplingParams(temperature=temperature, grammar=grammar),
        thinking="off" if kind == "calls" else "high",
        max_tokens=max_tokens,
        ngram_min=1,
    )
    tools = TOOLS if kind == "calls" else ()
    return [
        Case(kind, "hello", replace(base, drafter=drafter, k=k, verifier=verifier), tools)
        for drafter, k, verifier in WAYS
    ]


def audited(loaded: tuple[Engine, Adversary], asked: list[Case], seed: int = 1) -> Audit:
    engine, adversary = loaded
    return audit(partial(engine.session, None, seed=seed), engine.memory, engine.vocabulary, asked, adversary=adversary)


@pytest.mark.parametrize("temperature", [0.0, 1.5])
@pytest.mark.parametrize("kind", ["thoughts", "grammar", "calls"])
def test_sound_code_raises_no_alarm(loaded: tuple[Engine, Adversary], kind: str, temperature: float) -> None:
    result = audited(loaded, cases(kind, temperature))
    assert [finding.reason for finding in result.findings] == []
    assert result.compared == len(WAYS)


@pytest.mark.parametrize("kind", ["grammar", "calls"])
def test_wrong_draws_are_found_under_a_grammar(
    loaded: tuple[Engine, Adversary], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a thought: in the call itself this model has no preferences, and rounding may decide what survives."""
    PLANTED["target uses the noise of the next position"](monkeypatch, type(loaded[0].memory))
    thoughtful = [replace(case, settings=replace(case.settings, thinking="high")) for case in cases(kind, 1.5)]
    assert audited(loaded, thoughtful).unexplained


def test_a_token_that_the_grammar_excludes_is_a_bug(
    loaded: tuple[Engine, Adversary], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session forgets its grammar; the audit does not."""
    monkeypatch.setattr("specchat_engine.session.constraint_of", lambda *_: None)
    assert audited(loaded, cases("calls", 0.8)).unexplained


def test_what_an_answer_followed_is_recorded(loaded: tuple[Engine, Adversary]) -> None:
    engine, _ = loaded
    (case, *_) = cases("grammar", 0.8)
    recording = record(engine.session(settings=case.settings, seed=1), case.prompt)
    assert recording.held.text != GRAMMAR
    text = b"".join(engine.vocabulary.piece(token) for token in recording.tokens).decode()
    assert text.endswith("}")
