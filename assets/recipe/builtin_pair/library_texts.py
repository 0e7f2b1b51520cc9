"""Code and passages of the running interpreter's standard library, to be copied and edited but not memorised.

Real lines resemble each other in ways that invented ones do not, and there are too many to memorise.
"""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent

_LEFT_OUT = frozenset({"idlelib", "lib2to3", "turtledemo", "pydoc_data", "encodings", "this", "antigravity", "tkinter"})
FEWEST, MOST = 120, 1600
"""Characters in a piece."""

_MOST_LINE = 110


def code_pieces() -> tuple[str, ...]:
    """The source of functions and short classes of every module written in Python."""
    return _read()[0]


@cache
def passages() -> tuple[str, ...]:
    """Paragraphs in English from the documentation of the language and its modules."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    texts = [*topics.values(), *_read()[1]]
    paragraphs = (" ".join(one.split()) for text in texts for one in re.split(r"\n\s*\n", text))
    return tuple(sorted({one for one in paragraphs if _reads_well(one)}))


@cache
def _read() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pieces of code and the docstrings of all modules."""
    pieces: set[str] = set()
    docstrings: list[str] = []
    for path in _modules():
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        pieces.update(_definitions(source, tree))
        docstrings.extend(_docstrings(tree))
    return tuple(sorted(pieces)), tuple(docstrings)


def _modules() -> Iterator[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    for name in sorted(sys.stdlib_module_names - _LEFT_OUT):
        single = root / f"{name}.py"
        yield from [single] if single.is_file() else sorted((root / name).glob("*.py"))


def _definitions(source: str, tree: ast.Module) -> Iterator[str]:
    """The functions, methods and classes of a module that are neither too short nor too long."""
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            piece = dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
            if FEWEST <= len(piece) <= MOST and piece.isascii() and max(map(len, piece.splitlines())) <= _MOST_LINE:
                # A multi-line string inside may start farther left than the code.
                with suppress(SyntaxError):
                    ast.parse(piece)
                    yield piece


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            yield ast.get_docstring(node) or ""


def _reads_well(paragraph: str) -> bool:
    """True for running text: complete sentences in ASCII, without tables and drawings."""
    return (
        FEWEST <= len(paragraph) <= MOST
        and paragraph.isascii()
        and re.fullmatch(r"[A-Z\"'].*[.:!?]", paragraph) is not None
        and not re.search(r"[|*=+\\-]{3}|>>>| [-*] | \w+ -- ", paragraph)
    )
