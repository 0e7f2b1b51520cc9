"""Models that think, read from files: their thoughts are told apart, counted, and come before any grammar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from llguidance import LLTokenizer

from specchat_engine import Engine, LoadOptions, Message, Prompt, SamplingParams, Session, Settings
from specchat_engine.answers.parser import Answer, parse_answer
from specchat_engine.grammar.matcher import tokenizer_of
from support.thinking_models import write_harmony_pair, write_thinking_pair

QUESTION = [Message("user", "hello")]
BASE = Settings(k=4, drafter="model", max_tokens=200, sampling=SamplingParams(temperature=0.8))
WORD = replace(BASE.sampling, grammar='root ::= "yes"')


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    files = write_thinking_pair(tmp_path_factory.mktemp("thinker"))
    with Engine.load(files.target, files.draft, LoadOptions(threads=1, n_ctx=512)) as engine:
        yield engine


@pytest.fixture(scope="module")
def harmony(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    files = write_harmony_pair(tmp_path_factory.mktemp("harmony"))
    with Engine.load(files.target, files.draft, LoadOptions(threads=1, n_ctx=512)) as engine:
        yield engine


def answered(engine: Engine, messages: Any = QUESTION, seed: int = 1, **changes: Any) -> tuple[Session, Answer]:
    """An answer in which thoughts are visible, and its parts."""
    session = engine.session(settings=replace(BASE, **changes), seed=seed)
    for _ in session.answer(Prompt(messages, shown=engine.answer_format.reasoning_marks), 0):
        pass
    return session, parse_answer(session.text, engine.answer_format)


def test_a_thought_between_tags_that_are_control_tokens_is_one(thinker: Engine) -> None:
    session, answer = answered(thinker, thinking="on")
    assert answer.reasoning.startswith("Let")
    assert answer.content.startswith("Yes")
    assert session.stats.reasoning is not None
    assert session.stats.reasoning.num_tokens < session.stats.num_tokens
    assert answered(thinker, thinking="off")[1].reasoning == ""


def test_gpt_oss_thinks_in_its_channel_of_analysis(harmony: Engine) -> None:
    session, answer = answered(harmony, thinking="high", sampling=WORD)
    assert answer.reasoning.strip().startswith("Let")
    assert answer.content == "yes"
    assert session.text.endswith("<|end|><|start|>assistant<|channel|>final<|message|>yes")
    assert session.stats.reasoning is not None
    assert session.stats.reasoning.num_tokens == session.answer_ids.index(end_of_message(harmony)) + 1
    assert session.stats.reasoning.alpha is not None


def end_of_message(engine: Engine) -> int:
    (token,) = engine.vocabulary.tokenize("<|end|>", special=True)
    return token


def test_a_thought_of_gpt_oss_is_counted_also_if_nobody_asked_to_see_its_marks(harmony: Engine) -> None:
    session = harmony.session(settings=replace(BASE, max_tokens=20), seed=1)
    for _ in session.answer(QUESTION, 0):
        pass
    assert session.stats.reasoning is not None
    assert session.stats.reasoning.num_tokens == 20


def test_a_model_whose_template_thinks_does_so_before_a_grammar_without_being_asked(thinker: Engine) -> None:
    _, answer = answered(thinker, sampling=WORD)
    assert (bool(answer.reasoning), answer.content) == (True, "yes")
    _, silent = answered(thinker, sampling=WORD, thinking="off")
    assert (silent.reasoning, silent.content) == ("", "yes")


@pytest.mark.parametrize("rule", ["same", "typical"])
@pytest.mark.parametrize("name", ["thinker", "harmony"])
def test_a_grammar_holds_after_the_thought_under_each_rule(
    name: str, rule: str, request: pytest.FixtureRequest
) -> None:
    engine: Engine = request.getfixturevalue(name)
    for seed in range(5):
        session, answer = answered(engine, seed=seed, thinking="high", sampling=WORD, thought_verifier=rule)
        assert (answer.content, session.end_reason) == ("yes", "end")
        assert answer.reasoning


@pytest.mark.parametrize("name", ["thinker", "harmony"])
def test_formats_and_calls_use_what_was_prepared(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, built = request.getfixturevalue(name), list[object]()

    def counted(*arguments: Any) -> LLTokenizer:
        built.append(arguments)
        return tokenizer_of(*arguments)

    monkeypatch.setattr("specchat_engine.llama.vocabulary.tokenizer_of", counted)
    monkeypatch.setattr(engine.vocabulary, "_tokenizers", {})
    engine.prepare_grammars()
    assert len(built) == 1
    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
    asked = Prompt(QUESTION, shown=engine.answer_format.marks)
    for prompt, grammar in ((replace(asked, tools=(tool,), must_call=True), ""), (asked, '{"type": "integer"}')):
        session = engine.session(settings=replace(BASE, max_tokens=3, sampling=SamplingParams(grammar=grammar)))
        assert [*session.answer(prompt, 0)]
    assert len(built) == 1
