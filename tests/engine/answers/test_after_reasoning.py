"""Grammars that begin after the reasoning, in any syntax."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specchat_engine import Engine, LoadOptions
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.grammar import after_reasoning
from support.grammar_walks import allows
from support.tiny_models import EngineFiles

TAGS = AnswerFormat(thinks=True)
HARMONY = AnswerFormat("harmony", thinks=True)
GRAMMAR = 'root ::= "{" root-2 "}" | [root] # the root\nroot-2 ::= "root" root?'


@pytest.fixture(scope="module")
def engine(files: EngineFiles) -> Iterator[Engine]:
    with Engine.load(files.target, options=LoadOptions(threads=1)) as engine:
        yield engine


def follows(engine: Engine, grammar: str, text: str) -> bool:
    """Whether a whole text follows a grammar."""
    return allows(engine.vocabulary, grammar, text)


@pytest.mark.parametrize(
    ("text", "opened", "allowed"),
    [
        ("Any {thought} <b>.</think>\n\n{root}", True, True),
        ("</think>r", True, True),
        ("{root}", True, False),
        ("thought</think>other", True, False),
        ("<think>thought</think>\n{root{root}}", False, True),
        ("{root}", False, True),
        ("thought</think>{root}", False, False),
        ("<think>no end", False, False),
    ],
)
def test_the_answer_follows_the_grammar_after_the_reasoning(
    engine: Engine, text: str, opened: bool, allowed: bool
) -> None:
    assert follows(engine, after_reasoning(GRAMMAR, TAGS, opened=opened), text) is allowed


def test_a_text_that_mentions_the_root_is_not_renamed(engine: Engine) -> None:
    assert follows(engine, GRAMMAR, "{root}")
    assert not follows(engine, GRAMMAR, "<think>x</think>{root}")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (
            "<|channel|>analysis<|message|>Any {thought}.<|end|><|start|>assistant<|channel|>final<|message|>{root}",
            True,
        ),
        ("<|channel|>final<|message|>{root}", True),
        ("<|channel|>final<|message|>other", False),
        ("<|channel|>analysis<|message|>thought<|end|>{root}", False),
        ("{root}", False),
    ],
)
def test_in_harmony_the_grammar_is_that_of_the_final_message(engine: Engine, text: str, allowed: bool) -> None:
    assert follows(engine, after_reasoning(GRAMMAR, HARMONY, opened=False), text) is allowed
