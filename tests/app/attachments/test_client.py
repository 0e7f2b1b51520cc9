"""Files read by a real process: what is in them, or one line that says why not."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from specchat.attachments.client import page_at, picture_given, picture_in, text_in
from specchat.attachments.documents import UnreadableDocument
from specchat.attachments.pictures import picture_of
from specchat.attachments.protocol import FileText, Picture
from specchat.errors import AttachmentError
from support.documents import write_pdf, write_picture

pytest.importorskip("pptx", reason="needs the extra specchat[files]")

ROOM = 10_000


def complaint(path: Path, kind: str, patience: float = 600.0) -> str:
    with pytest.raises(AttachmentError) as caught:
        text_in(path.name, str(path), kind, ROOM, patience=patience)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_text_of_a_document(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", "A page")
    assert text_in("a.pdf", str(path), "pdf", ROOM) == "A page"


@pytest.mark.parametrize("kind", ["pdf", "docx"])
def test_a_damaged_file_is_one_line_with_its_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    path.write_bytes(b"PK\x03\x04 nothing of this is a document")
    assert re.match(rf"a\.{kind} .*damaged", complaint(path, kind))


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", "A page")
    assert complaint(path, "pdf", patience=0.001) == "a.pdf took more than 0.001 seconds to read, and was stopped"


def test_a_reply_of_another_kind_is_one_line_too(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.png", (4, 3))
    assert complaint(path, "image") == "a.png cannot be read: its reader ended without an answer, as for a damaged file"


def test_a_picture_becomes_a_png_of_a_limited_size(tmp_path: Path) -> None:
    from PIL import Image

    path = write_picture(tmp_path / "a.webp", (4096, 1024), "blue")
    picture = picture_in("a.webp", str(path))
    assert (picture.width, picture.height) == (2048, 512)
    assert base64.b64decode(picture.thumbnail).startswith(b"P6 32 8 255\n")
    with Image.open(BytesIO(base64.b64decode(picture.png))) as found:
        assert (found.format, found.mode, found.size) == ("PNG", "RGB", (2048, 512))


def test_a_photo_is_turned_upright(tmp_path: Path) -> None:
    from PIL import Image

    turned = Image.Exif()
    turned[0x0112] = 6
    picture = picture_of(write_picture(tmp_path / "a.jpg", (30, 20), exif=turned))
    assert (picture.width, picture.height) == (20, 30)


def test_what_is_clear_in_a_picture_becomes_white(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGBA", (4, 4), (255, 0, 0, 0)).save(tmp_path / "a.png")
    with Image.open(BytesIO(base64.b64decode(picture_of(tmp_path / "a.png").png))) as found:
        assert found.getpixel((0, 0)) == (255, 255, 255)


def test_a_picture_with_too_many_pixels_is_not_unpacked(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.png", (20_000, 6_000), mode="1")
    with pytest.raises(UnreadableDocument, match="has 20,000 × 6,000 pixels: the limit is 100,000,000 in all"):
        picture_of(path)


def test_a_file_that_other_readers_would_take_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(AttachmentError, match=r"a\.png is damaged, or no picture of a known format: use PNG, JPEG"):
        picture_in("a.png", str(tmp_path / "a.png"))


def test_a_picture_may_be_given_in_base_64(tmp_path: Path) -> None:
    path = write_picture(tmp_path / "a.jpg", (30, 20))
    data = base64.b64encode(path.read_bytes()).decode()
    assert picture_given("it", data) == picture_of(path)
    with pytest.raises(AttachmentError, match="it is not in base 64"):
        picture_given("it", f"{data}*")


def test_a_large_picture_is_handed_over_as_a_whole() -> None:
    with pytest.raises(AttachmentError, match="it is damaged, or no picture"):
        picture_given("it", "A" * 8 * 2**20, patience=600)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    pdf, png = (
        write_pdf(tmp_path / "a.pdf", "A page").read_bytes(),
        write_picture(tmp_path / "a.png", (3, 2)).read_bytes(),
    )
    pages = {
        "/": ("text/html; charset=utf-8", b"<h1>News</h1><p>All well"),
        "/a": ("application/pdf", pdf),
        "/b": ("image/png", png),
        "/c": ("video/mp4", b"..."),
        "/d": ("text/plain", b"\x1b[31mred"),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media, content = pages.get(self.path, ("", b""))
            self.send_response(200 if media else 404)
            self.send_header("Content-Type", media)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_a_page_is_read_by_its_type(server: str) -> None:
    assert page_at(f"{server}/", ROOM) == FileText("# News\n\nAll well")
    assert page_at(f"{server}/a", ROOM) == FileText("A page")
    assert isinstance(page_at(f"{server}/b", ROOM), Picture)
    assert page_at(f"{server}/d", ROOM) == FileText("red"), "without escape sequences"


@pytest.mark.parametrize(("path", "why"), [("/nothing", "the server answers 404"), ("/c", "is video/mp4, which")])
def test_a_page_that_cannot_be_read_is_one_line(server: str, path: str, why: str) -> None:
    with pytest.raises(AttachmentError, match=why):
        page_at(server + path, ROOM)


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(AttachmentError, match=r"http://127.0.0.1:9/ cannot be fetched"):
        page_at("http://127.0.0.1:9/", ROOM)
