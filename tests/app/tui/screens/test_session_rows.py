"""Stored sessions as rows of a list."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.store.records import StoredSession, new_id
from specchat.store.search import SearchHit
from specchat.tui.screens.session_rows import MARKS, Row, when

NOW = datetime(2026, 3, 18, 15, 0).astimezone().timestamp()
HOUR = 3600.0


def row(title: str = "Speculation", preview: str = "It drafts ahead.", messages: int = 2, found: str = "") -> Row:
    session = StoredSession(new_id(), title, updated=NOW - HOUR, num_messages=messages, preview=preview)
    return Row(session, found)


@pytest.mark.parametrize(
    ("ago", "said"), [(0.0, "15:00"), (HOUR, "14:00"), (24 * HOUR, "Tue 15:00"), (24 * 10 * HOUR, "2026-03-08")]
)
def test_a_time_is_told_as_one_says_it(ago: float, said: str) -> None:
    assert when(NOW - ago, NOW) == said


def test_a_row_has_the_title_the_time_the_length_and_how_it_goes_on() -> None:
    drawn = row().draw(60, NOW).plain.split("\n")
    assert drawn[0].startswith("Speculation")
    assert drawn[0].endswith("14:00 · 2 messages")
    assert drawn[1].startswith("It drafts ahead.")


def test_one_message_is_one_message_and_no_title_has_a_name() -> None:
    assert "1 message" in row(messages=1).draw(60, NOW).plain
    assert row(title="").title == "untitled"


def test_what_was_found_is_marked_in_the_place_of_the_preview() -> None:
    found = row(found=f"drafts {MARKS[0]}ahead{MARKS[1]} of it").draw(60, NOW)
    assert "drafts ahead of it" in found.plain
    assert any("bold" in str(span.style) for span in found.spans if found.plain[span.start : span.end] == "ahead")
    assert MARKS[0] not in found.plain


def test_what_was_found_in_the_title_leaves_the_preview() -> None:
    session = StoredSession(new_id(), "Speculation", preview="It drafts ahead.")
    assert Row.of(SearchHit(session, None, "snippet")).found == ""


@given(st.text(max_size=80), st.text(max_size=200), st.integers(12, 120))
def test_no_row_is_wider_than_the_list_whatever_was_said(title: str, preview: str, width: int) -> None:
    drawn = row(title, preview).draw(width, NOW)
    assert len(drawn.plain.split("\n")) == 2
    for line in drawn.split("\n"):
        assert line.cell_length <= max(width, 40)
    assert "\x1b" not in drawn.plain
