from __future__ import annotations

from specchat.manual.sections import SectionAddress, sections_of

PAGE = """# Pets

An introduction.

## Cats

![A cat](cat.svg)

See [the dogs](dogs.md) and `purr()`:

```sh
# not a heading
purr --loud
```

| cat | colour |
| --- | --- |
| Tom | **grey** |

### Kittens

Small.

## Empty

## Dogs
They bark.
"""


def test_a_page_is_cut_at_its_headings_and_empty_sections_are_left_out() -> None:
    found = list(sections_of("pets.md", PAGE))
    assert [section.place for section in found] == [
        SectionAddress("pets.md", heading) for heading in ("", "Cats", "Kittens", "Dogs")
    ]
    assert [section.name for section in found] == ["Pets", "Pets › Cats", "Pets › Kittens", "Pets › Dogs"]


def test_a_sign_inside_code_is_no_heading() -> None:
    cats = list(sections_of("pets.md", PAGE))[1]
    assert "# not a heading" in cats.markdown


def test_the_text_to_search_has_no_pictures_addresses_or_signs() -> None:
    text = list(sections_of("pets.md", PAGE))[1].text
    assert "See the dogs and purr():" in text
    assert "Tom grey" in text
    for sign in ("cat.svg", "dogs.md", "```", "|", "---", "**"):
        assert sign not in text


def test_the_page_to_read_has_the_heading_and_no_pictures() -> None:
    page = list(sections_of("pets.md", PAGE))[1].page
    assert page.startswith("## Cats\n\nSee [the dogs](dogs.md)")
    assert "cat.svg" not in page
