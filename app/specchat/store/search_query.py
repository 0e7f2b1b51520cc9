"""What a search asks for: words, quoted words and tags, read from what the user typed."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese do not separate words, so the index sees sentences as words."""


@dataclass(frozen=True, slots=True)
class Query:
    """The parts that a text must contain. Text in double quotes is one part, and a word after `#` is a tag.

    `match` is the query for the full-text index, which matches the beginnings of words and ignores accents. It is empty
    if the index cannot find one of the parts. Then the texts themselves are searched for `parts`.
    """

    parts: tuple[str, ...]
    match: str
    tags: tuple[str, ...] = ()


def parse(text: str) -> Query:
    """Reads what the user typed, whatever it contains; without parts if it is empty."""
    typed = [(bool(quoted), _encodable(quoted or word)) for quoted, word in _WORDS.findall(text)]
    parts = tuple(part for is_quoted, part in typed if part and (is_quoted or not part.startswith("#")))
    tags = tuple(part[1:].lower() for is_quoted, part in typed if part.startswith("#") and not is_quoted)
    indexed = all(_is_indexed(part) for part in parts)
    return Query(parts, " AND ".join(f'"{part}"*' for part in parts) if indexed else "", tags)


def like(part: str, *, anywhere: bool = True) -> str:
    """A LIKE pattern that matches this part anywhere in a text, or only at its beginning."""
    return ("%" if anywhere else "") + re.sub(r"([\\%_])", r"\\\1", part) + "%"


def _encodable(word: str) -> str:
    return re.sub("[\0\ud800-\udfff]", " ", word).strip()


def _is_indexed(part: str) -> bool:
    """True if the index can find the part: not signs and emoji alone, nor words within an unspaced sentence."""
    return any(character.isalnum() for character in part) and not _UNSPACED.search(part)
