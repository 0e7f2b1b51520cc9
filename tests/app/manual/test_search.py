from __future__ import annotations

import pytest

from specchat.manual.search import ManualSearch, key_words
from specchat.manual.sections import Section, sections_of
from specchat.terminal.pieces import MARKS

PAGES = {
    "cats.md": "# Cats\n\n## Food\n\nCats eat fish and mice.\n\n## Sleep\n\nThey sleep on a sofa and dream of food.\n",
    "dogs.md": "# Dogs\n\n## Walks\n\nA dog needs walks. It barks at cats on the sofa.\n",
    "design.md": "# Design\n\n## Sofa\n\nWhy the sofa is red.\n",
}
SECTIONS = [section for name, page in PAGES.items() for section in sections_of(name, page)]


def headings(words: str, sections: list[Section] = SECTIONS, **options: tuple[str, ...]) -> list[str]:
    return [hit.section.heading for hit in ManualSearch(sections, **options).find(words)]


def test_a_heading_counts_more_than_the_text() -> None:
    assert headings("food") == ["Food", "Sleep"]


def test_sections_with_all_words_come_first() -> None:
    assert headings("cats sofa")[:2] == ["Sleep", "Walks"]
    assert "Food" in headings("cats sofa")


def test_the_last_word_may_be_a_beginning_and_word_forms_do_not_matter() -> None:
    assert headings("slee") == ["Sleep"]
    assert headings("dream sofas")[0] == "Sleep"


def test_pages_aside_come_after_others_that_match_as_well() -> None:
    assert headings("sofa")[0] == "Sofa"
    assert headings("red sofa", aside=("design.md",))[0] == "Sofa"
    twins = [*sections_of("a.md", "# A\n\n## Bone\n\nx\n"), *sections_of("b.md", "# B\n\n## Bone\n\nx\n")]
    assert [hit.section.title for hit in ManualSearch(twins, aside=("a.md",)).find("bone")] == ["B", "A"]


def test_an_excerpt_marks_what_matches() -> None:
    hit = ManualSearch(SECTIONS).find("barks")[0]
    assert f"{MARKS[0]}barks{MARKS[1]}" in hit.excerpt


@pytest.mark.parametrize("words", ["", " ", '"', "'", "*", "a AND", "(", "NEAR(", "^", "\0", "\ud800", "title:x", "§"])
def test_nothing_that_is_typed_breaks_the_search(words: str) -> None:
    ManualSearch(SECTIONS).find(words)


def test_a_question_is_searched_by_what_it_is_about() -> None:
    assert key_words("How do I change the theme of my chat?") == "change theme chat"
    assert key_words("What is it?") == ""
    assert headings("What do the cats eat?")[0] == "Food"
