from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat.chat.attachments import (
    MOST_BYTES,
    Attachment,
    image_in_clipboard,
    images_of,
    pages_named,
    read_attachments,
    takes_time,
    text_of_file,
    with_attachments,
)
from specchat.errors import AttachmentError
from support.clipboards import FakeDesktop
from support.documents import write_pdf, write_picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("print('hi')\n")
    (tmp_path / "my notes.txt").write_text("one\r\ntwo")
    return tmp_path


def sent(message: str, folder: Path) -> str:
    return with_attachments(message, read_attachments(message, folder))


def complaint(message: str, folder: Path) -> str:
    with pytest.raises(AttachmentError) as caught:
        read_attachments(message, folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_named_file_stands_at_the_end_of_the_message_and_a_name_with_spaces_in_quotes(folder: Path) -> None:
    assert sent("What does @src/app.py do?", folder) == (
        "What does @src/app.py do?\n\nsrc/app.py:\n\n```py\nprint('hi')\n```"
    )
    assert sent('Sum up @"my notes.txt"', folder).endswith("\n\nmy notes.txt:\n\n```txt\none\ntwo\n```")


def test_files_come_in_order_and_each_once(folder: Path) -> None:
    found = read_attachments('@"my notes.txt" @src/app.py, (not @"my notes.txt") @./src/app.py', folder)
    assert [each.name for each in found] == ["my notes.txt", "src/app.py"]


@pytest.mark.parametrize("mark", [".", ",", "?", "!", ":", ");"])
def test_the_punctuation_of_the_sentence_is_no_part_of_the_name(folder: Path, mark: str) -> None:
    assert len(read_attachments(f"Look at @src/app.py{mark}", folder)) == 1


def test_the_home_folder_and_absolute_names(folder: Path, isolated_machine: Path) -> None:
    (isolated_machine / "a.txt").write_text("at home")
    assert read_attachments("@~/a.txt", folder)[0].text == "at home"
    assert read_attachments(f"@{folder}/src/app.py", Path("/")) == (
        Attachment(f"{folder}/src/app.py", "print('hi')\n"),
    )


@given(text=st.text(st.sampled_from("`\na "), max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_file_ends_its_own_fence(text: str, folder: Path) -> None:
    message = with_attachments("m", [Attachment("a.md", text)])
    opening, _, rest = message.removeprefix("m\n\na.md:\n\n").partition("\n")
    fence = opening.removesuffix("md")
    lines = rest.split("\n")
    assert lines[-1] == fence
    assert not any(line.strip().startswith(fence) for line in lines[:-1])


@pytest.mark.parametrize(
    "message",
    [
        "@property is a decorator",
        "mail me@home.py",
        "npm install @angular/core",
        "what is @functools.cache?",
        "@app.route('/x')",
        "in `@gone.py` and\n```\n@src/gone.py\n```\n",
        "in `@src/app.py` and\n```\n@src/app.py\n```\n",
        "@ alone",
    ],
)
def test_what_is_no_file_or_stands_in_code_is_said_as_it_is(folder: Path, message: str) -> None:
    assert sent(message, folder) == message


@pytest.mark.parametrize("name", ["gone.py", "src/gone", "./gone", "~/gone", "/gone", "dir/gone.txt"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    assert complaint(f"@{name}?", folder) == (
        f"there is no file {name}: correct its path, or write `@{name}` in backticks to say just that"
    )


def test_a_missing_file_in_quotes_a_folder_and_a_device_are_refused(folder: Path) -> None:
    assert complaint('@"not there"', folder).startswith("there is no file not there")
    assert complaint("@src", folder) == "src is a folder: name a file in it"
    assert complaint("@/dev/zero", folder) == "/dev/zero is not a regular file: it cannot be attached"
    assert read_attachments("@" + "a" * 5000, folder) == (), "too long for any file"


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"caf\xe9", b"a\0b", "text".encode("utf-16")])
def test_what_is_no_text_is_refused(folder: Path, content: bytes) -> None:
    (folder / "data.txt").write_bytes(content)
    assert (
        complaint("@data.txt", folder) == "data.txt is not text in UTF-8: text, documents and pictures can be attached"
    )


def test_the_limit_is_for_all_files_together(folder: Path) -> None:
    (folder / "a.txt").write_text("a" * MOST_BYTES)
    assert len(read_attachments("@a.txt", folder)[0].text) == MOST_BYTES
    (folder / "a.txt").write_text("a" * (MOST_BYTES * 2))
    assert complaint("@a.txt", folder) == (
        "a.txt has 512 KiB: the limit is 256 KiB for the files of one message; attach a part of it"
    )
    (folder / "a.txt").write_text("a" * (MOST_BYTES - 100 * 1024))
    (folder / "b.txt").write_text("b" * 120 * 1024)
    assert "b.txt has 120 KiB: the limit is 256 KiB for the files of one message, 156 KiB of which are used" in (
        complaint("@a.txt @b.txt", folder)
    )


def test_a_file_that_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    assert complaint("@src/app.py", folder) == "src/app.py cannot be read: Permission denied; check the path"


def test_a_document_stands_in_the_message_as_text(folder: Path) -> None:
    pytest.importorskip("pypdf", reason="needs the extra specchat[files]")
    write_pdf(folder / "a.pdf", "A page")
    assert sent("Sum up @a.pdf.", folder) == "Sum up @a.pdf.\n\na.pdf:\n\n```\nA page\n```"


def test_a_document_counts_with_its_text_and_not_its_size(folder: Path) -> None:
    pytest.importorskip("pypdf", reason="needs the extra specchat[files]")
    (folder / "a.txt").write_text("a" * (MOST_BYTES - 5))
    write_pdf(folder / "a.pdf", "Six...")
    assert "a.pdf has more than 5 characters of text" in complaint("@a.txt @a.pdf", folder)


def test_a_document_that_is_too_large_and_a_picture_to_predict_from_are_not_read(folder: Path) -> None:
    with (folder / "a.pdf").open("wb") as file:
        file.truncate(33 * 2**20)
    assert complaint("@a.pdf", folder) == "a.pdf has 33 MiB: the limit is 32 MiB"
    (folder / "a.png").touch()
    with pytest.raises(AttachmentError, match=r"a\.png is a picture: name a file with text"):
        text_of_file(folder / "a.png")


def test_the_pages_that_a_message_names(folder: Path) -> None:
    message = "Compare @https://a.org/x?y=1, and @https://a.org/x?y=1 with (see https://b.org) `@https://c.org` @a.txt"
    assert pages_named(message) == ("https://a.org/x?y=1",)


def test_only_documents_pictures_and_pages_take_time(folder: Path) -> None:
    (folder / "a.pdf").touch()
    names = ("src/app.py", "gone.pdf", "a.pdf", "http://a.org")
    assert [name for name in names if takes_time(f"see @{name}", folder)] == ["a.pdf", "http://a.org"]


def test_a_picture_is_kept_and_adds_nothing_to_the_text(folder: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    write_picture(folder / "a.jpg", (40, 30))
    found = read_attachments("What is @a.jpg, and @src/app.py?", folder)
    (image,) = images_of(found)
    assert image.label == "a.jpg (40 × 30)"
    assert image.path.read_bytes().startswith(b"\x89PNG")
    assert len(image.thumbnail()) == 24
    assert with_attachments("x", found) == "x\n\nsrc/app.py:\n\n```py\nprint('hi')\n```"


def test_the_image_in_the_clipboard_has_a_name_that_a_message_can_mention(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    FakeDesktop(tmp_path / "programs", monkeypatch).copied(write_picture(tmp_path / "a.png", (40, 30)))
    image = image_in_clipboard()
    assert image.label == f"clipboard-{image.sha256[:8]}.png (40 × 30)"
    assert images_of(read_attachments(f"What is @{image.name}?", folder)) == (image,)
    assert takes_time(f"What is @{image.name}?", folder)
    own = write_picture(folder / image.name, (6, 4))
    assert [(each.width, each.height) for each in images_of(read_attachments(f"@{image.name}", folder))] == [(6, 4)]
    own.unlink()
    image.path.unlink()
    assert complaint(f"What is @{image.name}?", folder).startswith(f"there is no file {image.name}:")


@pytest.mark.parametrize(
    ("length", "size"),
    [(0, "1 token"), (400, "100 tokens"), (4935, "1,200 tokens"), (41_000, "10,000 tokens")],
)
def test_the_size_of_a_text_is_estimated_in_tokens(length: int, size: str) -> None:
    assert Attachment("a.py", "x" * length).size == f"a.py: about {size}"
