"""Which kind of file a name stands for."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final, Literal
from urllib.parse import urlsplit

Kind = Literal["pdf", "docx", "xlsx", "pptx", "html", "text", "image"]

_BY_SUFFIX: Final[dict[str, Kind]] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".pptx": "pptx",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"), "image"),
}
_BY_TYPE: Final[dict[str, Kind]] = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/json": "text",
    "application/xml": "text",
}


def kind_of_name(name: str) -> Kind | None:
    """The kind of a file that has to be converted, by the end of its name; None for any other."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def kind_of_type(content_type: str) -> Kind | None:
    """The kind of what a server sent, by its media type; None for what cannot be read."""
    media = content_type.partition(";")[0].strip().lower()
    if media.startswith("image/") and media != "image/svg+xml":
        return "image"
    return _BY_TYPE.get(media) or ("text" if media.startswith("text/") else None)


def is_page(name: str) -> bool:
    """Whether a name is the address of a page."""
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
