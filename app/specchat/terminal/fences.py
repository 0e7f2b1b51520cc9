"""Texts as code blocks in Markdown."""

from __future__ import annotations

import re


def fenced(text: str, kind: str = "") -> str:
    """A text as a code block, in a fence that is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind if kind.isalnum() else ''}\n{text.removesuffix(chr(10))}\n{fence}"
