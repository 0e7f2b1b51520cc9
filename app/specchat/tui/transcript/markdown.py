"""Markdown that grows.

New text changes only the last block, or the last item of the last list, so only that is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from specchat.terminal.filter import clean_line
from specchat.terminal.pieces import OPEN_LINK, Clickable, Piece, shown
from specchat.terminal.word_wrap import Line
from specchat.tui.transcript.markdown_blocks import CodeBlock, Margin, MarkdownBlock, RuleBlock, TableBlock, TextBlock

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_HEADINGS = {"h1": "bold underline $text-primary", "h2": "bold $text-primary"}
_HEADING = "bold"
_LISTS = ("bullet_list_open", "ordered_list_open")
_BULLETS = "•◦▪"


@cache
def _parser(formulas: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 0.08 s to import, and the first screen needs none

    parser = MarkdownIt("gfm-like")
    if formulas:
        from specchat.tui.transcript.formulas import read_formulas

        read_formulas(parser)
    return parser


def parse(source: str, *, formulas: bool = True) -> list[Token]:
    """Parse a source that passed the terminal filter."""
    return _parser(formulas).parse(source)


def last_part(tokens: Sequence[Token]) -> tuple[int, bool]:
    """The line where the last block begins, or the last item if it is a list: more text may change it.

    The second value says whether it is an item after others of its list.
    """
    starts = [token for token in tokens if token.map and token.level == 0 and token.nesting >= 0]
    if not starts:
        return 0, False
    last = starts[-1]
    if len(starts) > 1 and last.type == "formula_block":
        return last_part(tokens[:-1])  # one more character may make it a line of the paragraph before
    if len(starts) > 1 and starts[-2].type in _LISTS and _may_become_an_item(tokens):
        last = starts[-2]
    if last.type not in _LISTS:
        return _line(last), False
    items = [token for token in tokens if token.map and token.type == "list_item_open" and token.level == 1]
    return _line(items[-1]), _line(items[-1]) > _line(last)


def blocks_of(tokens: Sequence[Token], *, inside_list: bool = False) -> list[MarkdownBlock]:
    """The blocks of the tokens, in order. `inside_list`: the first one is an item after others of its list."""
    return list(_Reader(tokens, inside_list=inside_list).read())


def _may_become_an_item(tokens: Sequence[Token]) -> bool:
    """Whether the last paragraph may become the number of a list item."""
    return len(tokens) > 1 and tokens[-2].type == "inline" and tokens[-2].content.isdigit()


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


class _Reader:
    """Walks over the tokens and keeps track of lists and quotes."""

    def __init__(self, tokens: Sequence[Token], *, inside_list: bool) -> None:
        self._tokens = tokens
        self._first_of_list = False
        self._inside_list = inside_list
        self._margins: list[Margin] = []
        self._depth = 0
        self._first_in_item = False
        self._table: TableBlock | None = None

    def read(self) -> Iterator[MarkdownBlock]:
        for before, token in pairwise((None, *self._tokens)):
            if token is not None:
                yield from self._take(token, before)

    def _take(self, token: Token, before: Token | None) -> Iterator[MarkdownBlock]:
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
            case "formula_block":
                margin, gap = self._placed()
                yield TextBlock([Piece(shown(token.content), _FORMULA)], margin.joined(_INDENT), gap)
            case "hr":
                yield RuleBlock(*self._placed())
            case "html_block":
                yield TextBlock([Piece(token.content.rstrip("\n"), "$quiet")], *self._placed())

    def _open_item(self, number: str) -> None:
        """Begin an item, with the number that was written or with a bullet."""
        sign = f"{number}." if number else _BULLETS[(self._depth - 1) % len(_BULLETS)]
        self._margins.append(Margin(f"{sign} ", " " * (len(sign) + 1)))
        self._first_in_item = True

    def _placed(self) -> tuple[Margin, bool]:
        """The margin of the next block, and whether a blank row comes before it."""
        joined, gap = Margin(), self._first_of_list or not self._first_in_item
        for level, margin in enumerate(self._margins):
            last = level == len(self._margins) - 1
            first = margin.first if (last and self._first_in_item) or margin.first == margin.rest else margin.rest
            joined = joined.joined(Margin(first, margin.rest))
        self._first_in_item = self._first_of_list = False
        return joined, gap

    def _inline(self, token: Token, before: Token | None) -> Iterator[MarkdownBlock]:
        heading = before is not None and before.type == "heading_open"
        style = _HEADINGS.get(before.tag, _HEADING) if heading and before else ""
        if self._table is not None:
            header = before is not None and before.type == "th_open"
            self._table.rows[-1].append(list(inline_pieces(token.children or [], "bold" if header else "")))
        else:
            yield TextBlock(list(inline_pieces(token.children or [], style)), *self._placed())


_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_CODE = "$text-accent on $surface"
_FORMULA = "italic"
_INDENT = Margin("    ", "    ")
_LINK = "underline $text-primary"


def inline_pieces(children: Sequence[Token], style: str = "") -> Iterator[Piece]:
    """The pieces of an inline token's children. `style` is the style of the text around them."""
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
        case "formula":
            return _safe(token.content), (_FORMULA,)
        case "image":
            return _safe(f"🖼 {token.content or token.attrs.get('src', '')}"), ("$quiet",)
        case _:
            return _safe(token.content), ()


def _safe(text: str) -> str:
    """Filter the text again: a reference such as `&#13;` only becomes its character in the parser."""
    return shown(text).replace("\n", " ")


_BLOCK = 1 << 32
"""Rows of block n start at n times this number, so that a place stays valid when other blocks are laid out again."""


class MarkdownRows:
    """The rows of a Markdown text at one width. The text must have passed `pieces.shown`."""

    def __init__(self, width: int, text: str = "", *, codes_above: int = 0, formulas: bool = True) -> None:
        """`codes_above` is the number of code blocks before this text. `formulas` are shown in Unicode."""
        self.width = width
        self._formulas = formulas
        self._codes_above = codes_above
        self.lines: list[Line] = []
        self._sealed: list[MarkdownBlock] = []
        self._live: list[MarkdownBlock] = []
        self._sealed_lines = 0
        self._tail = ""
        self._inside_list = False
        self.write(text)

    @property
    def codes(self) -> list[str]:
        """The code blocks, from top to bottom."""
        return [block.code for block in (*self._sealed, *self._live) if isinstance(block, CodeBlock)]

    def write(self, text: str) -> int:
        """Append text. Returns the index of the first row that changed."""
        first = self._sealed_lines
        self._tail += text
        tokens = parse(self._tail, formulas=self._formulas)
        line, inside_list = last_part(tokens)
        if line:
            cut = _offset_of_line(self._tail, line)
            self._lay(blocks_of(parse(self._tail[:cut], formulas=self._formulas), inside_list=self._inside_list))
            self._sealed += self._live
            self._sealed_lines = len(self.lines)
            self._tail, self._inside_list = self._tail[cut:], inside_list
            tokens = parse(self._tail, formulas=self._formulas)
        blocks = blocks_of(tokens, inside_list=self._inside_list)
        if not blocks and self._tail.strip():
            blocks = [TextBlock([Piece(self._tail.strip(), "")])]
        self._lay(blocks)
        return first

    def _lay(self, blocks: list[MarkdownBlock]) -> None:
        """Put the rows of these blocks after those that are final."""
        self._live = blocks
        number = self._codes_above + sum(isinstance(block, CodeBlock) for block in self._sealed)
        for block in blocks:
            if isinstance(block, CodeBlock):
                number += 1
                block.number = number
        del self.lines[self._sealed_lines :]
        for number, block in enumerate(blocks, len(self._sealed)):
            self._append(block.lay(self.width), number * _BLOCK, gap=block.gap)

    def _append(self, lines: Sequence[Line], place: int, *, gap: bool) -> None:
        if self.lines:
            self.lines[-1].ending = "\n"
            if gap:
                self.lines.append(Line(ending="\n", start=place))
        for line in lines:
            line.start += place
            self.lines.append(line)


def _offset_of_line(text: str, line: int) -> int:
    """The index of the first character of a line."""
    start = 0
    for _ in range(line):
        start = text.index("\n", start) + 1
    return start
