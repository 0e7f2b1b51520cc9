"""Do token ids mean the same in both models? The one rule, for files that are loaded and for those that are not yet.

Where they do not, drafts go through text, which costs time and right guesses: a warning. Where they do, which tokens
begin and end a text is the target's business: a draft model that would do otherwise reads the target's tokens all the
same, and is wrong there now and then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from specchat_engine.gguf import Header
from specchat_engine.gguf.header import TOKENIZERS
from specchat_engine.pairing.verdict import Finding, Grade

PADDING: Final = 512
"""Vocabularies that differ only in so many entries at the end are equal up to padding."""

FAMILY: Final = "drafting through text; a draft model of the target's family guesses better"

_SHOWN = 40
"""Characters of a token that are shown."""

_DEFAULTS: Final = {
    "SentencePiece": {"bos": 1, "eos": 2},
    "byte-level BPE": {"bos": 11, "eos": 11},
    "WordPiece": {"bos": 101},
    "unigram": {"eos": 1},
    "PLaMo-2": {"bos": 1, "eos": 2},
}
"""What llama.cpp takes where a file names no token."""

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
"""Pre-tokenizers for which llama.cpp begins prompts with a bos token where a file does not say."""


def compare_tokens(target: Header, draft: Header) -> Iterator[Finding]:
    """Tokenizers and vocabularies and, where these are the same, what else is told of tokens."""
    tokenizers, vocabularies = _tokenizers(target, draft), _vocabularies(target, draft)
    yield tokenizers
    if tokenizers.grade is Grade.OK or vocabularies.grade is Grade.BLOCKER:
        yield vocabularies
    if tokenizers.grade is vocabularies.grade is Grade.OK:
        yield _pre_tokenizers(target, draft)
        yield from _special(target, draft)


def difference(findings: Iterable[Finding]) -> Finding | None:
    """What makes ids mean something else in the draft, of the findings of `compare_tokens`; None where nothing does."""
    return next(
        (line for line in findings if line.topic in ("tokenizer", "vocabulary") and line.grade is not Grade.OK), None
    )


def kind(header: Header) -> str:
    """The kind of tokenizer in words."""
    return TOKENIZERS.get(header.tokenizer, header.tokenizer or "none")


def special(header: Header, name: str) -> int:
    """The id of a named token, -1 for none: the file's, or what llama.cpp takes then."""
    fallback = _DEFAULTS.get(kind(header), {}).get(name, -1)
    if header.tokenizer == "gemma4" or (name == "bos" and header.pre_tokenizer in ("glm4", "glm5", "chatglm-bpe")):
        fallback = -1
    found = header.integer(f"tokenizer.ggml.{name}_token_id")
    return found if found is not None and 0 <= found < header.n_vocab else fallback


def adds_bos(header: Header) -> bool:
    """Whether prompts begin with the bos token."""
    if header.tokenizer == "gemma4" or header.pre_tokenizer == "gemma4":
        return True
    said = header.flag("tokenizer.ggml.add_bos_token")
    if said is not None:
        return said
    return kind(header) in ("SentencePiece", "WordPiece") or header.pre_tokenizer in _WITH_BOS


def _tokenizers(target: Header, draft: Header) -> Finding:
    one, two = kind(target), kind(draft)
    if one != two:
        return Finding(
            Grade.WARNING,
            "tokenizer",
            f"the tokenizers differ: the target's is {_name(one)}, the draft's {_name(two)}",
            FAMILY,
        )
    return Finding(Grade.OK, "tokenizer", f"both are {_name(one)}")


def _pre_tokenizers(target: Header, draft: Header) -> Finding:
    one, two = target.pre_tokenizer, draft.pre_tokenizer
    if one == two:
        return Finding(Grade.OK, "pre-tokenizer", f"both cut text as {_name(one)}" if one else "neither names one")
    return Finding(
        Grade.WARNING,
        "pre-tokenizer",
        f"text is cut as {_shown(one)} for the target and as {_shown(two)} for the draft: it may guess worse",
        "compare with another draft of the family",
    )


def _vocabularies(target: Header, draft: Header) -> Finding:
    one, two = target.tokens, draft.tokens
    if not (len(one) and len(two)):
        return Finding(Grade.BLOCKER, "vocabulary", "a file lists no tokens", "use a file with its tokenizer")
    index = one.first_difference(two)
    if index is not None:
        return Finding(
            Grade.WARNING,
            "vocabulary",
            f"the vocabularies differ from token {index} on: {_shown(one[index])} in the target, "
            f"{_shown(two[index])} in the draft",
            FAMILY,
        )
    apart = abs(len(one) - len(two))
    if apart > PADDING:
        return Finding(
            Grade.WARNING,
            "vocabulary",
            f"the vocabularies differ in size: {len(one)} entries in the target, {len(two)} in the draft",
            FAMILY,
        )
    if apart:
        return Finding(Grade.OK, "vocabulary", f"equal up to {apart} entries of padding")
    return Finding(Grade.OK, "vocabulary", f"all {len(one):,} tokens are equal")


def _special(target: Header, draft: Header) -> Iterator[Finding]:
    before = []
    if adds_bos(target) != adds_bos(draft):
        before.append("only one of them begins prompts with a bos token")
    elif adds_bos(target) and special(target, "bos") != special(draft, "bos"):
        before.append(f"bos is {special(target, 'bos')} in the target and {special(draft, 'bos')} in the draft")
    if special(target, "eos") != special(draft, "eos"):
        before.append(f"eos is {special(target, 'eos')} in the target and {special(draft, 'eos')} in the draft")
    if before:
        yield Finding(
            Grade.WARNING,
            "special tokens",
            f"{' and '.join(before)}: the target's count, and the draft guesses worse there",
            "prefer a draft that was tuned as the target was (both base, or both instruct)",
        )
    else:
        yield Finding(Grade.OK, "special tokens", "both begin and end texts alike")


def _shown(text: str) -> str:
    """A text from a file in quotes, short, with everything escaped that a terminal would obey."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _name(text: str) -> str:
    """A name from a file: as it is where it is plain, else quoted."""
    return text if text.isascii() and text.isprintable() and len(text) <= _SHOWN else _shown(text)
