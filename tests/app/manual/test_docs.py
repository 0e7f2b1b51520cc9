from __future__ import annotations

import re

import pytest

from specchat.manual.search import ManualSearch
from specchat.manual.sections import DESIGN, SectionAddress, beside, docs, section_at


def test_every_page_of_the_documentation_has_sections() -> None:
    pages = {section.place.page for section in docs()}
    assert {"app.md", "figures.md", "lossless.md", *DESIGN} <= pages


def test_a_place_finds_its_section_or_the_beginning_of_its_page() -> None:
    found = section_at(SectionAddress("lossless.md", "The rules"))
    assert found is not None
    assert found.markdown.startswith("For an output position t")
    start = section_at(SectionAddress("lossless.md", "No such heading"))
    assert start is not None
    assert start.place.page == "lossless.md"
    assert section_at(SectionAddress("none.md")) is None


def test_the_sections_beside_one_stay_on_its_page() -> None:
    first = section_at(SectionAddress("app.md"))
    assert first is not None
    assert beside(first, -1) == first
    assert beside(first, 1).place == SectionAddress("app.md", "The figures")
    assert beside(beside(first, 1000), 1).place.page == "app.md"


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("How do I change the theme?", "app.md"),
        ("use my GPU", "gpu.md"),
        ("import chatgpt", "sessions.md"),
        ("mcp servers", "tools.md"),
        ("what is promised about the text", "lossless.md"),
        ("what does α needed mean", "figures.md"),
    ],
)
def test_questions_find_the_page_that_answers_them(question: str, page: str) -> None:
    found = ManualSearch(docs(), aside=DESIGN).find(question)
    assert found[0].section.place.page == page


def test_links_between_pages_lead_to_pages() -> None:
    pages = {section.place.page for section in docs()}
    links = {link for section in docs() for link in re.findall(r"\]\(([\w-]+\.md)", section.markdown)}
    assert links <= pages
