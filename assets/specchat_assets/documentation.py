"""The pages of the documentation. The wheel holds a copy of them; a checkout has them in `docs/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_PLACES = (Path(__file__).with_name("docs"), Path(__file__).parents[2] / "docs")


def documentation() -> Mapping[str, str]:
    """The Markdown of each page by its file name, in alphabetical order; empty if the pages are missing."""
    folder = next((folder for folder in _PLACES if folder.is_dir()), None)
    pages = sorted(folder.glob("*.md")) if folder else ()
    return {page.name: page.read_text("utf-8") for page in pages}
