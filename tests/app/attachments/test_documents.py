"""What documents say, as the model reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.attachments.documents import UnreadableDocument, html_text, text_of
from support.documents import write_docx, write_pdf, write_pptx, write_xlsx, write_zip_bomb

pytest.importorskip("pptx", reason="needs the extra specchat[files]")

ROOM = 10_000


def test_the_pages_of_a_pdf_in_order(tmp_path: Path) -> None:
    assert text_of(write_pdf(tmp_path / "a.pdf", "First page", "Second page"), "pdf", ROOM) == "First page\nSecond page"


def test_a_word_document_with_headings_and_tables_in_their_places(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", "Title", "Some words.", table=[["a", "b"], ["1", "2\n3"]])
    assert text_of(path, "docx", ROOM) == "# Title\nSome words.\n| a | b |\n| 1 | 2 3 |"


def test_the_sheets_of_a_workbook_without_empty_rows(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "a.xlsx", "Costs", [["what", "how much"], [], ["tea", 2.5]])
    assert text_of(path, "xlsx", ROOM) == "## Costs\n| what | how much |\n| tea | 2.5 |"


def test_the_slides_of_a_presentation_with_notes(tmp_path: Path) -> None:
    path = write_pptx(tmp_path / "a.pptx", "Plan", "First step", "Say hello")
    assert text_of(path, "pptx", ROOM) == "## Slide 1\nPlan\nFirst step\nNotes: Say hello"


def test_a_page_without_its_scripts() -> None:
    page = "<head><title>x</title></head><h1>News</h1><script>hi()</script><p>All <b>well</b></p><ul><li>one</ul>"
    assert html_text(page).split() == ["#", "News", "All", "**well**", "*", "one"]


def test_a_document_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="scanned"):
        text_of(write_pdf(tmp_path / "a.pdf", ""), "pdf", ROOM)


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="more than 10 characters"):
        text_of(write_pdf(tmp_path / "a.pdf", "Eleven chars"), "pdf", 10)


def test_an_archive_that_unpacks_to_more_than_the_limit_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="unpacks to 300 MiB: the limit is 256 MiB"):
        text_of(write_zip_bomb(tmp_path / "a.docx", 300), "docx", ROOM)
