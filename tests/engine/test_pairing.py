"""Two vocabularies fit when a token id means the same in both; else the first difference is named."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from specchat_engine import PairError
from specchat_engine.pairing import PADDING, check_pair


@dataclass(frozen=True)
class Table:
    """A vocabulary with made-up entries."""

    type: str = "byte-level BPE"
    size: int = 1000
    special: dict[str, int] = field(default_factory=lambda: {"bos": 1, "eos": 2, "eot": 3})
    adds_bos: bool = False
    other: dict[int, str] = field(default_factory=dict)

    def text(self, token: int) -> str:
        return self.other.get(token, f"t{token}")


def refusal(target: Table, draft: Table) -> str:
    with pytest.raises(PairError) as caught:
        check_pair(target, draft)
    message = str(caught.value)
    assert message.splitlines() == [message]
    assert "use a draft model of the target's family" in message
    return message


def test_equal_vocabularies_fit() -> None:
    check_pair(Table(), Table())


@pytest.mark.parametrize(("target", "draft"), [(1000, 1000 + PADDING), (1000 + PADDING, 1000), (1000, 999)])
def test_vocabularies_that_differ_in_padding_fit(target: int, draft: int) -> None:
    check_pair(Table(size=target), Table(size=draft))


@pytest.mark.parametrize(("target", "draft"), [(1000, 1001 + PADDING), (1001 + PADDING, 1000)])
def test_more_entries_than_padding_explains_are_refused_with_both_sizes(target: int, draft: int) -> None:
    message = refusal(Table(size=target), Table(size=draft))
    assert str(target) in message
    assert str(draft) in message


def test_another_kind_of_tokenizer_is_refused() -> None:
    assert "target's is byte-level BPE, the draft's SentencePiece" in refusal(Table(), Table(type="SentencePiece"))


def test_the_first_differing_token_is_named_with_both_texts() -> None:
    message = refusal(Table(), Table(other={500: "line\nbreak", 700: "other"}))
    assert "from token 500 on: 't500' in the target, 'line\\nbreak' in the draft" in message


@pytest.mark.parametrize("name", ["eos", "eot"])
def test_another_end_token_is_refused(name: str) -> None:
    table = Table()
    message = refusal(table, replace(table, special=table.special | {name: 9}))
    assert f"special token {name} differs" in message


def test_a_bos_token_counts_only_where_prompts_begin_with_it() -> None:
    table = Table()
    check_pair(table, replace(table, special=table.special | {"bos": -1}))
    with_bos = replace(table, adds_bos=True)
    assert "bos differs" in refusal(with_bos, replace(with_bos, special=table.special | {"bos": 7}))


@pytest.mark.parametrize("which", [True, False])
def test_models_that_begin_their_prompts_differently_are_refused(which: bool) -> None:
    assert "bos" in refusal(Table(adds_bos=which), Table(adds_bos=not which))
