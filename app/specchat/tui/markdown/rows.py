"""A Markdown text that grows: only the last block, or the last item of a list, is read again when text comes."""

from __future__ import annotations

from collections.abc import Sequence

from specchat.terminal.pieces import Piece
from specchat.terminal.wrapping import Line
from specchat.tui.markdown.blocks import Block, CodeBlock, TextBlock
from specchat.tui.markdown.reading import blocks_of, last_part, parse

_BLOCK = 1 << 32
"""Rows of block n begin at place n times this: a place stays what it is when other blocks are laid out anew."""


class MarkdownRows:
    """The rows of a text at one width. The text must have passed `pieces.shown`."""

    def __init__(self, width: int, text: str = "") -> None:
        self.width = width
        self.lines: list[Line] = []
        self._sealed: list[Block] = []
        self._live: list[Block] = []
        self._sealed_lines = 0
        self._tail = ""
        self._inside_list = False
        self.write(text)

    @property
    def codes(self) -> list[str]:
        """The blocks of code, from top to bottom."""
        return [block.code for block in (*self._sealed, *self._live) if isinstance(block, CodeBlock)]

    def write(self, text: str) -> int:
        """Appends text; returns the index of the first row that changed."""
        first = self._sealed_lines
        self._tail += text
        tokens = parse(self._tail)
        line, inside_list = last_part(tokens)
        if line:
            cut = _offset_of_line(self._tail, line)
            self._lay(blocks_of(parse(self._tail[:cut]), inside_list=self._inside_list))
            self._sealed += self._live
            self._sealed_lines = len(self.lines)
            self._tail, self._inside_list = self._tail[cut:], inside_list
            tokens = parse(self._tail)
        blocks = blocks_of(tokens, inside_list=self._inside_list)
        if not blocks and self._tail.strip():
            blocks = [TextBlock([Piece(self._tail.strip(), "")])]
        self._lay(blocks)
        return first

    def _lay(self, blocks: list[Block]) -> None:
        """Puts the rows of blocks behind the sealed ones."""
        self._live = blocks
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
    place = 0
    for _ in range(line):
        place = text.index("\n", place) + 1
    return place
