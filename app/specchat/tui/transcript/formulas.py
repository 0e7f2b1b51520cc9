"""Formulas in Markdown: where `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]` hold one, as rules of the parser.

Code is never looked at, and a price such as $5 is none. What has no form in Unicode stays as it is written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from specchat.terminal.unicode_math import LONGEST, unicode_math

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

INLINE, BLOCK = "formula", "formula_block"
"""The types of the tokens. Their content is the formula in Unicode."""

_CLOSED_BY = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_DISPLAYED = ("$$", "\\[")
_PROSE = re.compile(r"^[\d\s.,]+[^\W\d_]{2,}|[^\W\d_]{4,}|[^\W\d_]{2,} [^\W\d_]{2,}")
"""Words, as between two prices. Formulas write longer names as commands."""
_SIGN = re.compile(r"\\[a-zA-Z]|[\^_=<>+*/]|^[^\W\d_]['′]?$|^-?[^\W\d_]\w?\(")
"""What at least one of is in a formula between single dollars."""


def read_formulas(parser: MarkdownIt) -> None:
    """Adds the rules to a parser."""
    parser.inline.ruler.before("escape", INLINE, _inline)
    parser.block.ruler.before("fence", BLOCK, _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    """A formula within a line."""
    text, start = state.src, state.pos
    opened = next((sign for sign in _CLOSED_BY if text.startswith(sign, start)), None)
    if opened is None or _is_escaped(text, start):
        return False
    begin = start + len(opened)
    end = text.find(_CLOSED_BY[opened], begin, min(state.posMax, begin + LONGEST))
    while opened == "$" and end > 0 and _is_escaped(text, end):
        end = text.find("$", end + 1, min(state.posMax, begin + LONGEST))
    if end < 0:
        return False
    written = text[begin:end]
    if "`" in written or not written.strip() or (opened == "$" and not _is_formula(written, text[end + 1 : end + 2])):
        return False
    shown = unicode_math(written)
    if shown is None:
        shown = text[start : end + len(_CLOSED_BY[opened])]
    if not silent:
        state.push(INLINE, "", 0).content = shown.replace("\n", "; ")
    state.pos = end + len(_CLOSED_BY[opened])
    return True


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A formula in lines of its own."""
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    line = state.src[begin:end].rstrip()
    opened = next((sign for sign in _DISPLAYED if line.startswith(sign)), None)
    if opened is None or state.is_code_block(first):
        return False
    closing, number = _CLOSED_BY[opened], first
    written = [line[len(opened) :]]
    while not written[-1].rstrip().endswith(closing):
        number += 1
        if number >= last or number - first > LONGEST:
            return False
        written.append(state.getLines(number, number + 1, state.blkIndent, False))
    formula = "\n".join(written).rstrip()[: -len(closing)]
    shown = unicode_math(formula) if "`" not in formula and closing not in formula else None
    if shown is None:
        return False
    if not silent:
        state.line = number + 1
        token = state.push(BLOCK, "", 0)
        token.map, token.content, token.block = [first, number + 1], shown, True
    return True


def _is_formula(written: str, after: str) -> bool:
    """Whether what stands between single dollars is not prose, as between two prices."""
    if written[0].isspace() or written[-1].isspace() or after.isdigit() or "$" in written.replace("\\$", ""):
        return False
    commands = re.sub(r"\\[a-zA-Z]+(\{[^{}]*\})?", " \\\\x ", written)
    return bool(_SIGN.search(commands)) and not _PROSE.search(commands)


def _is_escaped(text: str, index: int) -> bool:
    before = text[:index]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
