"""The mix of chats in a step of training."""

from __future__ import annotations

from collections import Counter

import pytest

from builtin_pair import mixture
from builtin_pair.chats import SPECIALS, VOCABULARY_SIZE
from builtin_pair.mixture import DRILL_GROUP, EARLY_SHARES, KINDS, SHARES, Mixture, drill
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.packing import TokenDocument


@pytest.fixture(scope="module")
def tokenizer() -> BytePairTokenizer:
    few = dict.fromkeys(KINDS, 60)
    return BytePairTokenizer.train(mixture.texts(1, few), VOCABULARY_SIZE // 4, SPECIALS)


def test_the_shares_add_up_to_one() -> None:
    for shares in (SHARES, EARLY_SHARES):
        assert sum(shares.values()) == pytest.approx(1.0)
        assert tuple(shares) == KINDS


def test_a_step_depends_only_on_its_seed_and_number(tokenizer: BytePairTokenizer) -> None:
    one, other = (Mixture(tokenizer, 3, 2048, 1024) for _ in range(2))
    assert one.documents(7, 256) == other.documents(7, 256)
    assert one.documents(7, 256) != one.documents(8, 256)


def test_every_kind_gets_about_its_share_of_the_tokens(tokenizer: BytePairTokenizer) -> None:
    mix = Mixture(tokenizer, 3, 60_000, 1024)
    tokens: Counter[int] = Counter()
    for document in mix.documents(1, 512):
        tokens[document.group] += len(document.ids)
    drilled = tokens.pop(DRILL_GROUP)
    total = sum(tokens.values())
    assert 0.04 < drilled / total < 0.14
    for number, kind in enumerate(KINDS):
        assert tokens[number] / total == pytest.approx(SHARES[kind], abs=0.08), kind


def test_a_drill_keeps_what_precedes_the_last_answer_and_its_first_words() -> None:
    learned = [False] * 4 + [True] * 6 + [False] * 4 + [True] * 20
    drilled = drill(TokenDocument(list(range(34)), learned, 1))
    assert drilled.ids == list(range(26))
    assert drilled.learned == learned[:26]
    short = TokenDocument([1] * 10 + [2] * 5, [False] * 10 + [True] * 5, 1)
    assert drill(short) == short
