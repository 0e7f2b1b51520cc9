"""What a user types into the search, as a query that the database understands whatever it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese write without spaces: the index takes a whole sentence for a word."""


@dataclass(frozen=True, slots=True)
class Query:
    """All the parts that a text has to hold. What stands between double quotes is one part.

    `match` is the query for the full-text index, which finds each part at the beginning of a word and knows no accents.
    It is empty where the index cannot find a part; then the texts themselves are looked through for `parts`.
    """

    parts: tuple[str, ...]
    match: str


def parse(text: str) -> Query:
    """The query in what was typed; without parts where nothing was."""
    typed = (quoted or word for quoted, word in _WORDS.findall(text))
    parts = tuple(part for word in typed if (part := _encodable(word)))
    indexed = all(_is_indexed(part) for part in parts)
    return Query(parts, " AND ".join(f'"{part}"*' for part in parts) if indexed else "")


def like(part: str) -> str:
    """A pattern for LIKE that finds this part anywhere."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", part) + "%"


def _encodable(word: str) -> str:
    return re.sub("[\0\ud800-\udfff]", " ", word).strip()


def _is_indexed(part: str) -> bool:
    """Whether the index has words for it: not for signs and emoji alone, nor for the middle of an unspaced sentence."""
    return any(character.isalnum() for character in part) and not _UNSPACED.search(part)
