"""The documentation that ships with the program, in sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from specchat.manual.sections import Place, Section, sections_of
from specchat_assets.documentation import documentation

DESIGN = ("architecture.md", "benchmarks.md", "llama.md")
"""Pages for those who change the program or compare machines; users' pages come before them."""


@cache
def docs() -> tuple[Section, ...]:
    """All sections, page by page, the users' pages first."""
    pages = sorted(documentation().items(), key=lambda page: page[0] in DESIGN)
    return tuple(section for name, markdown in pages for section in sections_of(name, markdown))


def section_at(place: Place) -> Section | None:
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
