"""A fixture shared by the tests of the recipe's lessons."""

from __future__ import annotations

import pytest

from builtin_pair import mixture
from builtin_pair.chats import SPECIALS, VOCABULARY_SIZE
from builtin_pair.mixture import KINDS
from builtin_pair.tokenizer import BytePairTokenizer


@pytest.fixture(scope="session")
def tokenizer() -> BytePairTokenizer:
    """A tokenizer as large as the published pair's, trained on a few chats of each kind."""
    few = dict.fromkeys(KINDS, 60)
    return BytePairTokenizer.train(mixture.texts(1, few), VOCABULARY_SIZE, SPECIALS)
