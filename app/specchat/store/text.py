"""What of a text the database can hold, and the beginning of one for a list."""

from __future__ import annotations

from typing import overload

PREVIEW_LENGTH = 120


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: None) -> None: ...
def storable(text: str | None) -> str | None:
    """The text as it is, but for lone surrogates, which have no UTF-8: they become U+FFFD."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def preview_of(content: str) -> str:
    """The beginning of a text on one line; unfiltered, like all that is stored."""
    return " ".join(content[: 4 * PREVIEW_LENGTH].split())[:PREVIEW_LENGTH]
