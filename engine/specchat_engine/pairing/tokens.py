"""Compares the vocabularies of two models: do token ids mean the same in both? This is the only place that decides it.

If not, drafts are translated through text, which costs time and accuracy: a warning. If so, the target decides which
tokens begin and end a text. A draft model with other special tokens reads the target's and guesses worse there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specchat_engine.gguf import GgufHeader
from specchat_engine.gguf.header import TOKENIZERS

PADDING: Final = 512
"""Vocabularies whose sizes differ by at most this many entries at the end are equal up to padding."""

FAMILY: Final = "drafting through text; a draft model of the target's family would guess better"

_SHOWN = 40
"""At most this many characters of a token are shown."""

_DEFAULTS: Final = {
    "SentencePiece": {"bos": 1, "eos": 2},
    "byte-level BPE": {"bos": 11, "eos": 11},
    "WordPiece": {"bos": 101},
    "unigram": {"eos": 1},
    "PLaMo-2": {"bos": 1, "eos": 2},
}
"""The ids that llama.cpp uses if a file does not name a token."""

_WITH_BOS: Final = frozenset(
    {
        "llama3",
        "llama-v3",
        "llama-bpe",
        "falcon3",
        "falcon-h1",
        "pixtral",
        "midm-2.0",
        "lfm2",
        "jina-v5-nano",
        "tekken",
        "chameleon",
    }
)
"""Pre-tokenizers for which llama.cpp begins prompts with a bos token if the file does not say."""


class Grade(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    BLOCKER = "blocker"


@dataclass(frozen=True, slots=True)
class PairFinding:
    """One finding: its topic, what was found, and what to do about it, empty if nothing."""

    grade: Grade
    topic: str
    finding: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The finding with its remedy."""
        return f"{self.finding}; {self.remedy}" if self.remedy else self.finding


def compare_tokens(target: GgufHeader, draft: GgufHeader) -> Iterator[PairFinding]:
    """Findings on the tokenizers and vocabularies and, if they are the same, on pre-tokenizers and special tokens."""
    tokenizers, vocabularies = _tokenizers(target, draft), _vocabularies(target, draft)
    yield tokenizers
    if tokenizers.grade is Grade.OK or vocabularies.grade is Grade.BLOCKER:
        yield vocabularies
    if tokenizers.grade is vocabularies.grade is Grade.OK:
        yield _pre_tokenizers(target, draft)
        yield from _special(target, draft)


def difference(findings: Iterable[PairFinding]) -> PairFinding | None:
    """The finding of `compare_tokens` that says why ids mean something else in the draft; None if they do not."""
    return next(
        (line for line in findings if line.topic in ("tokenizer", "vocabulary") and line.grade is not Grade.OK), None
    )


def kind(header: GgufHeader) -> str:
    """The kind of tokenizer in words."""
    return TOKENIZERS.get(header.tokenizer, header.tokenizer or "none")


def special(header: GgufHeader, name: str) -> int:
    """The id of a named token, -1 for none: from the file or else llama.cpp's default."""
    fallback = _DEFAULTS.get(kind(header), {}).get(name, -1)
    if header.tokenizer == "gemma4" or (name == "bos" and header.pre_tokenizer in ("glm4", "glm5", "chatglm-bpe")):
        fallback = -1
    token = header.integer(f"tokenizer.ggml.{name}_token_id")
    return token if token is not None and 0 <= token < header.n_vocab else fallback


def adds_bos(header: GgufHeader) -> bool:
    """Whether prompts begin with the bos token."""
    if header.tokenizer == "gemma4" or header.pre_tokenizer == "gemma4":
        return True
    flag = header.flag("tokenizer.ggml.add_bos_token")
    if flag is not None:
        return flag
    return kind(header) in ("SentencePiece", "WordPiece") or header.pre_tokenizer in _WITH_BOS


def _tokenizers(target: GgufHeader, draft: GgufHeader) -> PairFinding:
    of_target, of_draft = kind(target), kind(draft)
    if of_target != of_draft:
        return PairFinding(
            Grade.WARNING,
            "tokenizer",
            f"the tokenizers differ: the target's is {_name(of_target)}, the draft's {_name(of_draft)}",
            FAMILY,
        )
    return PairFinding(Grade.OK, "tokenizer", f"both are {_name(of_target)}")


def _pre_tokenizers(target: GgufHeader, draft: GgufHeader) -> PairFinding:
    of_target, of_draft = target.pre_tokenizer, draft.pre_tokenizer
    if of_target == of_draft:
        return PairFinding(
            Grade.OK, "pre-tokenizer", f"both split text like {_name(of_target)}" if of_target else "neither names one"
        )
    return PairFinding(
        Grade.WARNING,
        "pre-tokenizer",
        f"text is split like {_shown(of_target)} for the target and like {_shown(of_draft)} for the draft: "
        "it may guess worse",
        "compare with another draft of the family",
    )


def _vocabularies(target: GgufHeader, draft: GgufHeader) -> PairFinding:
    of_target, of_draft = target.tokens, draft.tokens
    if not (len(of_target) and len(of_draft)):
        return PairFinding(Grade.BLOCKER, "vocabulary", "a file lists no tokens", "use a file with its tokenizer")
    index = of_target.first_difference(of_draft)
    if index is not None:
        return PairFinding(
            Grade.WARNING,
            "vocabulary",
            f"the vocabularies differ from token {index} on: {_shown(of_target[index])} in the target, "
            f"{_shown(of_draft[index])} in the draft",
            FAMILY,
        )
    apart = abs(len(of_target) - len(of_draft))
    if apart > PADDING:
        return PairFinding(
            Grade.WARNING,
            "vocabulary",
            f"the vocabularies differ in size: {len(of_target)} entries in the target, {len(of_draft)} in the draft",
            FAMILY,
        )
    if apart:
        return PairFinding(Grade.OK, "vocabulary", f"equal up to {apart} entries of padding")
    return PairFinding(Grade.OK, "vocabulary", f"all {len(of_target):,} tokens are equal")


def _special(target: GgufHeader, draft: GgufHeader) -> Iterator[PairFinding]:
    differences = []
    if adds_bos(target) != adds_bos(draft):
        differences.append("only one of them begins prompts with a bos token")
    elif adds_bos(target) and special(target, "bos") != special(draft, "bos"):
        differences.append(f"bos is {special(target, 'bos')} in the target and {special(draft, 'bos')} in the draft")
    if special(target, "eos") != special(draft, "eos"):
        differences.append(f"eos is {special(target, 'eos')} in the target and {special(draft, 'eos')} in the draft")
    if differences:
        yield PairFinding(
            Grade.WARNING,
            "special tokens",
            f"{' and '.join(differences)}: the target's are used, and the draft guesses worse there",
            "prefer a draft that was tuned like the target (both base, or both instruct)",
        )
    else:
        yield PairFinding(Grade.OK, "special tokens", "both begin and end texts the same way")


def _shown(text: str) -> str:
    """A text from a file, quoted and shortened, with control characters escaped."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _name(text: str) -> str:
    """A name from a file, quoted unless it is plain ASCII."""
    return text if text.isascii() and text.isprintable() and len(text) <= _SHOWN else _shown(text)
