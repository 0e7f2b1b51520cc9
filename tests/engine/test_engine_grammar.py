"""The built-in pair under grammars: the same text with any drafter, and a session that survives a bad grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Session, SettingError, Settings
from specchat_engine.analysis.audit import Case, audit

PROMPT = "Describe a person as JSON."
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer"},
        "likes": {"type": "array", "items": {"enum": ["tea", "café", "日本茶"]}, "maxItems": 2},
    },
    "required": ["name", "age", "likes"],
}
GRAMMARS = {
    "schema": json.dumps(SCHEMA),
    "accents": 'root ::= "É" [à-ü]{2,4} (" " ("日" | "本")+)? "."',
    "prose": 'root ::= ([A-Z] [a-z, ]{10,40} "." " "?){2}',
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine.load(*builtin_pair(), LoadOptions(threads=1, n_ctx=512)) as engine:
        yield engine


def answered(session: Session, prompt: str = PROMPT) -> str:
    for _ in session.generate(prompt):
        pass
    return session.text


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("name", GRAMMARS)
def test_the_text_under_a_grammar_does_not_depend_on_the_drafter(engine: Engine, name: str, temperature: float) -> None:
    """But where a near-tie falls the other way, since a pass over several tokens computes other last bits."""
    sampling = SamplingParams(temperature=temperature, grammar=GRAMMARS[name])
    cases = [
        Case(name, PROMPT, Settings(drafter=drafter, k=k, ngram_min=1, sampling=sampling, max_tokens=40))
        for drafter, k in (("model", 5), ("lookup", 8), ("grammar", 8), ("hybrid", "auto"))
    ]
    found = audit(partial(engine.session, None, seed=2), engine.memory, engine.vocabulary, cases)
    assert found.compared == len(cases)
    assert [difference.reason for difference in found.unexplained] == []
    assert temperature > 0 or not found.findings


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_under_a_schema_is_json_of_that_shape(engine: Engine, seed: int) -> None:
    sampling = SamplingParams(temperature=1.5, min_p=0.02, grammar=GRAMMARS["schema"])
    session = engine.session(settings=Settings(sampling=sampling, max_tokens=200), seed=seed)
    value = json.loads(answered(session))
    assert session.end_reason == "end"
    assert [*value] == ["name", "age", "likes"]
    assert len(value["name"]) <= 12
    assert isinstance(value["age"], int)
    assert {*value["likes"]} <= {"tea", "café", "日本茶"}


def test_a_bad_grammar_is_refused_when_the_session_is_made_and_when_a_turn_begins(engine: Engine) -> None:
    with pytest.raises(SettingError, match="line 1: Expected ::="):
        engine.session(settings=Settings(sampling=SamplingParams(grammar="hello")))
    with pytest.raises(SettingError, match="logit_bias names token 4096: this vocabulary has 0 to 4095"):
        engine.session(settings=Settings(sampling=SamplingParams(logit_bias=((4096, 1.0),))))
    session = engine.session(settings=Settings(max_tokens=8), seed=1)
    usual = session.settings
    session.settings = replace(usual, sampling=SamplingParams(grammar='root ::= "x" other'))
    with pytest.raises(SettingError, match="Rule 'other' not found"):
        answered(session, "hello")
    session.settings = usual
    assert answered(session, "hello") == answered(engine.session(settings=usual, seed=1), "hello")
