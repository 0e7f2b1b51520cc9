"""The text inside a block: emphasis, code, links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specchat.terminal.filter import clean_line
from specchat.terminal.pieces import OPEN_LINK, Clickable, Piece, shown

if TYPE_CHECKING:
    from markdown_it.token import Token

_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_CODE = "$text-accent on $surface"
_LINK = "underline $text-primary"


def inline_pieces(children: Sequence[Token], style: str = "") -> Iterator[Piece]:
    """The pieces of an inline token's children, in the styles of what surrounds them."""
    styles = [style] if style else []
    hrefs: list[str] = []
    for token in children:
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind == "link":
            if token.nesting > 0:
                hrefs.append(clean_line(str(token.attrs.get("href", ""))))
                styles.append(_LINK)
            elif hrefs:
                hrefs.pop()
                styles.pop()
        elif kind in _STYLES:
            if token.nesting > 0:
                styles.append(_STYLES[kind])
            elif styles:
                styles.pop()
        else:
            text, own = _text_of(token)
            look = " ".join((*styles, *own))
            yield Piece(text, Clickable(look, OPEN_LINK, hrefs[-1]) if hrefs else look)


def _text_of(token: Token) -> tuple[str, tuple[str, ...]]:
    match token.type:
        case "softbreak":
            return " ", ()
        case "hardbreak":
            return "\n", ()
        case "code_inline":
            return token.content, (_CODE,)
        case "image":
            return _safe(f"🖼 {token.content or token.attrs.get('src', '')}"), ("$quiet",)
        case _:
            return _safe(token.content), ()


def _safe(text: str) -> str:
    """Filtered once more: a reference such as `&#13;` has become its character here, behind the filter."""
    return shown(text).replace("\n", " ")
