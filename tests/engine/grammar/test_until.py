"""A rule matches the shortest text that ends with a mark, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine.grammar.until import until
from specchat_engine.llama.vocabulary import Vocabulary
from support.grammar_walks import allows


@settings(max_examples=150, deadline=None)
@given(st.text("ab]", min_size=1, max_size=5), st.text("ab]é", max_size=9))
def test_a_text_goes_on_to_the_first_mark(vocabulary: Vocabulary, mark: str, text: str) -> None:
    grammar = "\n".join(["root ::= thought", *until(mark, "thought")])
    for whole in (text, text + mark):
        assert allows(vocabulary, grammar, whole) is (whole.find(mark) == len(whole) - len(mark) >= 0)


@pytest.mark.parametrize("mark", ["</think>", "\n</parameter>\n", "<|end|>", "-^]\\"])
def test_the_marks_of_models_can_be_written(vocabulary: Vocabulary, mark: str) -> None:
    grammar = "\n".join(['root ::= thought "!"', *until(mark, "thought")])
    assert allows(vocabulary, grammar, f"Ein {mark[:-1]} é{mark[0]}{mark}!")
    assert not allows(vocabulary, grammar, f"a{mark}b{mark}!")


@pytest.mark.parametrize("mark", ["", "é"])
def test_other_marks_are_refused(mark: str) -> None:
    with pytest.raises(ValueError, match="is no mark"):
        until(mark, "thought")
