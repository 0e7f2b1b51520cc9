"""A byte-level BPE tokenizer that gives the same ids as llama.cpp does with its pre-tokenizer `qwen2`.

Byte-pair encoding: Sennrich et al., arXiv 1508.07909; over bytes: Radford et al., "Language Models are Unsupervised
Multitask Learners" (2019). The pattern that cuts a text into words is that of llama.cpp's LLAMA_VOCAB_PRE_TYPE_QWEN2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Self

from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

PRE_TOKENIZER = "qwen2"
"""The name under which llama.cpp knows the pattern below."""

_WORDS = (
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class BytePairTokenizer:
    """Text to token ids and back; the special tokens have the lowest ids, in the order given at training."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], size: int, specials: Sequence[str]) -> Self:
        """A tokenizer of exactly `size` entries learned from `texts`.

        Raises:
            ValueError: the texts hold too few different words for that many entries.
        """
        tokenizer = _byte_level(BPE())
        trainer = BpeTrainer(
            vocab_size=size,
            special_tokens=_added(specials),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        if tokenizer.get_vocab_size() != size:
            raise ValueError(
                f"only {tokenizer.get_vocab_size()} of {size} entries could be learned: give more text or ask for fewer"
            )
        return cls(tokenizer)

    @classmethod
    def of(cls, tokens: Sequence[str], merges: Sequence[str], specials: int) -> Self:
        """The tokenizer with these `tokens` and `merges`, as the properties give them; the first tokens are special."""
        halves = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
        tokenizer = _byte_level(BPE({token: index for index, token in enumerate(tokens)}, halves))
        tokenizer.add_special_tokens(_added(tokens[:specials]))
        return cls(tokenizer)

    @classmethod
    def load(cls, path: Path) -> Self:
        """The tokenizer that `save` wrote."""
        return cls(Tokenizer.from_file(str(path)))

    def save(self, path: Path) -> None:
        """Writes everything to one JSON file."""
        self._tokenizer.save(str(path))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; a special token's name in it becomes that token."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, faster than one by one."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens left out, broken UTF-8 as replacement characters."""
        text: str = self._tokenizer.decode(list(ids))
        return text

    @property
    def tokens(self) -> list[str]:
        """Every entry in the order of ids, bytes written in the byte-level alphabet."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(vocabulary, key=vocabulary.__getitem__)

    @property
    def merges(self) -> list[str]:
        """The merges in order of rank, the two halves parted by a space."""
        pairs = json.loads(self._tokenizer.to_str())["model"]["merges"]
        return [pair if isinstance(pair, str) else " ".join(pair) for pair in pairs]

    @property
    def specials(self) -> list[str]:
        """The special tokens in the order of their ids."""
        added = self._tokenizer.get_added_tokens_decoder()
        return [added[index].content for index in sorted(added)]


def _byte_level(model: BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _added(specials: Sequence[str]) -> list[AddedToken]:
    return [AddedToken(text, special=True, normalized=False) for text in specials]


_FRAGMENTS = (
    "the quick brown fox", "It's what we'd call speculative; they'LL see", "def f(x):\n    return x",
    "\tif a:\r\n\t\tb", "SELECT * FROM t WHERE a='b';",
    '{"key": [1, 2.5, null]}', "naïve café Ærø", "Привет, мир", "日本語の文章",
    "العربية",
    "हिन्दी", "ไทย", "😀", "👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "\u00a0", "\u3000",
    "\u2028", "\u200b", "\u00ad", "\ufeff", "½ ² ٣ Ⅷ", "ǅ ʰ ª",
    "€£¥", "→∑√", "'s 'S 'Re", "x" * 40, "snake_case_name", "CamelCase",
    "0x1F 1e-9 12345", "\x01\x02\x1b[0m", "\x7f\x85\x9f",
)  # fmt: skip
_GAPS = (" ", "  ", "\n", "\n\n", "\t", " \n ", "\r\n", "", "        ", "   \n\n\t", "\x0b", "\x0c")


def awkward_texts(random: Random, count: int) -> Iterator[str]:
    """Mixes of prose, code, scripts, emoji, spaces and control characters (never NUL), to compare tokenizers on."""
    for _ in range(count):
        parts: list[str] = []
        for _ in range(random.randint(1, 8)):
            parts.append(random.choice(_FRAGMENTS) if random.random() < 0.75 else _random_characters(random))
            parts.append(random.choice(_GAPS))
        yield "".join(parts)


def _random_characters(random: Random) -> str:
    last = random.choice((0x7F, 0x24F, 0x2FFF, 0xD7FF, 0x1FAFF))
    return "".join(chr(random.randint(1, last)) for _ in range(random.randint(1, 6))).translate(_NO_SURROGATES)


_NO_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "?")
