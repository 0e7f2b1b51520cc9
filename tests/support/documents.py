"""Documents and pictures for tests, as other programs write them."""

from __future__ import annotations

import zipfile
from pathlib import Path


def write_pdf(path: Path, *pages: str) -> Path:
    """A PDF with one line of text on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
        objects.append(f"{page}/Resources << /Font << /F1 3 0 R >> >> >>".encode())
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Root 1 0 R /Size {size} >>\n"
    path.write_bytes(content + f"{end}startxref\n{len(content)}\n%%EOF\n".encode())
    return path


def write_docx(path: Path, heading: str, *paragraphs: str, table: list[list[str]] | None = None) -> Path:
    """A Word document."""
    from docx import Document

    document = Document()
    document.add_heading(heading, 1)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if table:
        rows = document.add_table(len(table), len(table[0])).rows
        for row, cells in zip(rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    document.save(str(path))
    return path


def write_xlsx(path: Path, sheet: str, rows: list[list[object]]) -> Path:
    """An Excel workbook with one sheet."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def write_pptx(path: Path, title: str, text: str, notes: str) -> Path:
    """A presentation with one slide."""
    from pptx import Presentation

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = title
    slide.placeholders[1].text = text
    slide.notes_slide.notes_text_frame.text = notes
    show.save(str(path))
    return path


def write_zip_bomb(path: Path, megabytes: int) -> Path:
    """A small archive that claims, rightly, to unpack to so many megabytes."""
    archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive as parts, parts.open("word/document.xml", "w") as part:
        for _ in range(megabytes):
            part.write(bytes(2**20))
    return path


def write_picture(path: Path, size: tuple[int, int], colour: str = "red", mode: str = "RGB", **how: object) -> Path:
    """A picture of one colour, in the format of the file's name."""
    from PIL import Image

    Image.new(mode, size, colour).save(path, **how)
    return path
