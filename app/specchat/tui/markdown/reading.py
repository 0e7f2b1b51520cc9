"""From Markdown's source to blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from specchat.terminal.pieces import Piece
from specchat.tui.markdown.blocks import Block, CodeBlock, Margin, RuleBlock, TableBlock, TextBlock
from specchat.tui.markdown.inline import inline_pieces

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_HEADINGS = {"h1": "bold underline $text-primary", "h2": "bold $text-primary"}
_HEADING = "bold"
_LISTS = ("bullet_list_open", "ordered_list_open")
_BULLETS = "•◦▪"


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # needed when the first answer ends, and not to paint the first screen

    return MarkdownIt("gfm-like")


def parse(source: str) -> list[Token]:
    """The tokens of a source that passed the terminal's filter."""
    return _parser().parse(source)


def last_part(tokens: Sequence[Token]) -> tuple[int, bool]:
    """The line where the last block, or the last item of a last list, begins: more text may change it.

    The second value tells whether it is an item behind others of its list.
    """
    starts = [token for token in tokens if token.map and token.level == 0 and token.nesting >= 0]
    if not starts:
        return 0, False
    last = starts[-1]
    if len(starts) > 1 and starts[-2].type in _LISTS and _may_become_an_item(tokens):
        last = starts[-2]
    if last.type not in _LISTS:
        return _line(last), False
    items = [token for token in tokens if token.map and token.type == "list_item_open" and token.level == 1]
    return _line(items[-1]), _line(items[-1]) > _line(last)


def blocks_of(tokens: Sequence[Token], *, inside_list: bool = False) -> list[Block]:
    """The blocks of the tokens, in order; `inside_list`: the first one is an item behind others of its list."""
    return list(_Reader(tokens, inside_list=inside_list).read())


def _may_become_an_item(tokens: Sequence[Token]) -> bool:
    """Whether the last paragraph is the beginning of a number."""
    return len(tokens) > 1 and tokens[-2].type == "inline" and tokens[-2].content.isdigit()


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


class _Reader:
    """Walks over the tokens and remembers in which lists and quotes it is."""

    def __init__(self, tokens: Sequence[Token], *, inside_list: bool) -> None:
        self._tokens = tokens
        self._first_of_list = False
        self._inside_list = inside_list
        self._margins: list[Margin] = []
        self._depth = 0
        self._first_in_item = False
        self._table: TableBlock | None = None

    def read(self) -> Iterator[Block]:
        for before, token in pairwise((None, *self._tokens)):
            if token is not None:
                yield from self._take(token, before)

    def _take(self, token: Token, before: Token | None) -> Iterator[Block]:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._first_of_list = not self._depth and not self._inside_list
                self._inside_list = False
                self._depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self._depth -= 1
            case "list_item_open":
                self._open_item(token.info)
            case "list_item_close":
                if self._first_in_item:
                    yield TextBlock([], *self._placed())
                self._margins.pop()
            case "blockquote_open":
                self._margins.append(Margin("▎ ", "▎ "))
            case "blockquote_close":
                self._margins.pop()
            case "table_open":
                self._table = TableBlock([], *self._placed())
            case "tr_open" if self._table:
                self._table.rows.append([])
            case "table_close" if self._table:
                yield self._table
                self._table = None
            case "inline":
                yield from self._inline(token, before)
            case "fence" | "code_block":
                language = token.info.split()[0] if token.info.strip() else ""
                margin, gap = self._placed()
                yield CodeBlock(token.content.rstrip("\n"), language, margin=margin, gap=gap)
            case "hr":
                yield RuleBlock(*self._placed())
            case "html_block":
                yield TextBlock([Piece(token.content.rstrip("\n"), "$quiet")], *self._placed())

    def _open_item(self, number: str) -> None:
        """An item with the number that was written, or a bullet."""
        sign = f"{number}." if number else _BULLETS[(self._depth - 1) % len(_BULLETS)]
        self._margins.append(Margin(f"{sign} ", " " * (len(sign) + 1)))
        self._first_in_item = True

    def _placed(self) -> tuple[Margin, bool]:
        """The margin of the next block, and whether a blank row stands before it."""
        joined, gap = Margin(), self._first_of_list or not self._first_in_item
        for level, margin in enumerate(self._margins):
            last = level == len(self._margins) - 1
            first = margin.first if (last and self._first_in_item) or margin.first == margin.rest else margin.rest
            joined = joined.joined(Margin(first, margin.rest))
        self._first_in_item = self._first_of_list = False
        return joined, gap

    def _inline(self, token: Token, before: Token | None) -> Iterator[Block]:
        heading = before is not None and before.type == "heading_open"
        style = _HEADINGS.get(before.tag, _HEADING) if heading and before else ""
        if self._table is not None:
            header = before is not None and before.type == "th_open"
            self._table.rows[-1].append(list(inline_pieces(token.children or [], "bold" if header else "")))
        else:
            yield TextBlock(list(inline_pieces(token.children or [], style)), *self._placed())
