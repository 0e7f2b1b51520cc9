"""The documentation that ships with the program: Markdown pages cut into sections, each the text below one heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from specchat_assets.documentation import documentation

_HEADING = re.compile(r"(#{1,6}) +(.*?)(?: +#+)? *")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")

_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TO_PAGE = re.compile(r"\]\(([\w-]+\.md)\b")
_RULE = re.compile(r"^[ |:\-]+$\n?", re.MULTILINE)
_FENCE_LINE = re.compile(r"^ *(?:```|~~~).*$\n?", re.MULTILINE)
_SIGNS = re.compile(r"[`|]|\*\*|\\(?=[|*_])")


DESIGN = ("architecture.md", "benchmarks.md", "llama.md")
"""Pages for those who change the program or compare machines; users' pages come before them."""


class SectionAddress(NamedTuple):
    """A section, by the file name of its page and its heading; an empty heading means the beginning of the page."""

    page: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the Markdown below it, up to the next heading. `title` is the page's own heading."""

    place: SectionAddress
    title: str
    markdown: str

    @property
    def heading(self) -> str:
        """The heading, or the title of the page for its beginning."""
        return self.place.heading or self.title

    @property
    def name(self) -> str:
        """The page and the heading: `Stored conversations › Tags`."""
        return f"{self.title} › {self.place.heading}" if self.place.heading else self.title

    @property
    def text(self) -> str:
        """The text without pictures, the addresses of links and most of Markdown's signs."""
        plain = _LINK.sub(r"\1", _PICTURE.sub("", self.markdown))
        plain = _RULE.sub("", _FENCE_LINE.sub("", plain))
        return "\n".join(" ".join(line.split()) for line in _SIGNS.sub("", plain).splitlines())

    @property
    def links(self) -> tuple[SectionAddress, ...]:
        """The beginnings of the other pages that the text links to, each once."""
        pages = dict.fromkeys(_TO_PAGE.findall(self.markdown))
        return tuple(SectionAddress(page) for page in pages if page != self.place.page)

    @property
    def page(self) -> str:
        """The Markdown to show: the heading and what is below it, without pictures."""
        return f"## {self.heading}\n\n{_PICTURE.sub('', self.markdown).strip()}\n"


def sections_of(page: str, markdown: str) -> Iterator[Section]:
    """The sections of a page that have text, in order. The first heading is the title."""
    title, heading = page.removesuffix(".md"), ""
    lines: list[str] = []
    fence = ""

    def ended() -> Iterator[Section]:
        text = "\n".join(lines).strip("\n")
        if text.strip():
            yield Section(SectionAddress(page, heading), title, text)

    titled = False
    for line in markdown.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        heading_line = None if fence else _HEADING.fullmatch(line)
        if heading_line is None:
            lines.append(line)
            continue
        yield from ended()
        lines = []
        if titled:
            heading = heading_line[2].replace("`", "")
        else:
            title, titled = heading_line[2].replace("`", ""), True
    yield from ended()


@cache
def docs() -> tuple[Section, ...]:
    """All sections, page by page, the users' pages first."""
    pages = sorted(documentation().items(), key=lambda page: page[0] in DESIGN)
    return tuple(section for name, markdown in pages for section in sections_of(name, markdown))


def section_at(place: SectionAddress) -> Section | None:
    """The section at a place, or the first one of its page if the page has no such heading; None without the page."""
    of_page = [section for section in docs() if section.place.page == place.page]
    exact = (section for section in of_page if section.place.heading == place.heading)
    return next(exact, next(iter(of_page), None))


def beside(section: Section, steps: int) -> Section:
    """The section `steps` further on the same page; the first or last one at its ends."""
    of_page: Sequence[Section] = [other for other in docs() if other.place.page == section.place.page]
    if section not in of_page:
        return section
    return of_page[min(max(of_page.index(section) + steps, 0), len(of_page) - 1)]
