"""The text of documents. Each reader yields it piece by piece, so that whoever asked can stop at a limit.

The libraries belong to the extra `specchat[files]`, and are imported where they are used: only the process that reads
one file gets this far.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

LARGEST_UNPACKED: Final = 256 * 2**20
"""Bytes that all parts of an office file may have together when they are unpacked."""

_MOST_PARTS: Final = 10_000
_BLANK = re.compile(r"[ \t]+(?=\n)|\n{3,}")


class UnreadableDocument(Exception):
    """Why a document cannot be read: the rest of a sentence that begins with its name."""


def text_of(path: Path, kind: str, longest: int) -> str:
    """The text of a document. Raises Unreadable, and whatever its library raises for a damaged file."""
    if kind in ("docx", "xlsx", "pptx"):
        _check_parts(path)
    return joined(_READERS[kind](path), longest)


def joined(pieces: Iterator[str], longest: int) -> str:
    """Pieces of a text, as one text without runs of blank lines. Raises Unreadable if it is too long or empty."""
    texts: list[str] = []
    left = longest
    for piece in pieces:
        texts.append(piece)
        left -= len(piece) + 1
        if left < 0:
            raise UnreadableDocument(f"has more than {longest:,} characters of text; attach a part of it")
    text = _BLANK.sub(lambda match: "\n\n" if match[0].startswith("\n") else "", "\n".join(texts)).strip()
    if not text:
        raise UnreadableDocument("has no text: it may consist of pictures, such as scanned pages")
    return text


def html_text(content: str) -> str:
    """The text of a page as Markdown, without scripts and styles."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(content, "lxml")
    for tag in soup(["script", "style", "noscript", "template", "svg", "iframe", "head", "nav", "footer"]):
        tag.decompose()
    return str(MarkdownConverter(heading_style="atx", strip=["img"]).convert_soup(soup))


def _pdf(path: Path) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocument("is encrypted: save a copy without a password")
    for page in reader.pages:
        yield page.extract_text()


def _docx(path: Path) -> Iterator[str]:
    from docx import Document
    from docx.table import Table

    for block in Document(str(path)).iter_inner_content():
        if isinstance(block, Table):
            yield from _rows([cell.text for cell in row.cells] for row in block.rows)
        else:
            level = re.fullmatch(r"Heading (\d)", block.style.name if block.style else "")
            yield f"{'#' * int(level[1])} {block.text}" if level else block.text


def _xlsx(path: Path) -> Iterator[str]:
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    for sheet in book.worksheets:
        yield f"## {sheet.title}"
        yield from _rows(["" if value is None else str(value) for value in row] for row in sheet.values)
        yield ""


def _pptx(path: Path) -> Iterator[str]:
    from pptx import Presentation

    for number, slide in enumerate(Presentation(str(path)).slides, 1):
        yield f"## Slide {number}"
        yield from _shapes(slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield f"Notes: {slide.notes_slide.notes_text_frame.text}"
        yield ""


def _shapes(shapes: Any) -> Iterator[str]:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from _rows([cell.text for cell in row.cells] for row in shape.table.rows)
        elif hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)


def _rows(rows: Any) -> Iterator[str]:
    """Rows of a table, with bars between the cells; empty ones are left out."""
    for cells in rows:
        if any(cells):
            yield "| " + " | ".join(" ".join(cell.split()) for cell in cells).rstrip(" |") + " |"


def _html(path: Path) -> Iterator[str]:
    yield html_text(path.read_text("utf-8", "replace"))


def _text(path: Path) -> Iterator[str]:
    yield path.read_text("utf-8", "replace")


_READERS: Final[dict[str, Callable[[Path], Iterator[str]]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "html": _html,
    "text": _text,
}


def _check_parts(path: Path) -> None:
    """Raises Unreadable for a file whose parts are larger than any honest document."""
    try:
        with zipfile.ZipFile(path) as parts:
            sizes = [part.file_size for part in parts.infolist()]
    except zipfile.BadZipFile:
        raise UnreadableDocument("is damaged, or an older format: save it again in a present one") from None
    if len(sizes) > _MOST_PARTS or sum(sizes) > LARGEST_UNPACKED:
        raise UnreadableDocument(f"unpacks to {sum(sizes) >> 20:,} MiB: the limit is {LARGEST_UNPACKED >> 20} MiB")
