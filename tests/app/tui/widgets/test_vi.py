"""vi's keys on plain strings; what is expected was taken from the POSIX description of vi."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.tui.widgets.vi import Edit, Move, Rows, Undo, Vi, press

KEYS = (*"hjklwbe0^$gGxdDcCyiIaAoOpPu23", "escape", "backspace")


@dataclass
class Page:
    """A text with a cursor, in normal mode. Keys that are written in insert mode are inserted."""

    text: str
    cursor: int = 0
    vi: Vi = field(default_factory=lambda: Vi(inserting=False))

    def type(self, *keys: str) -> Page:
        for key in keys:
            self._press(key)
        return self

    def _press(self, key: str) -> None:
        pressed = press(self.vi, key, self.text, self.cursor)
        if pressed is None:
            if self.vi.inserting and len(key) == 1:
                self.text = self.text[: self.cursor] + key + self.text[self.cursor :]
                self.cursor += 1
            return
        self.vi = pressed.vi
        match pressed.act:
            case Move(cursor):
                self.cursor = cursor
            case Edit(start, end, text, cursor):
                self.text = self.text[:start] + text + self.text[end:]
                self.cursor = start + len(text) if cursor is None else cursor
        if not self.vi.inserting:
            start = self.text.rfind("\n", 0, self.cursor) + 1
            end = self.text.find("\n", start)
            self.cursor = min(self.cursor, max((len(self.text) if end < 0 else end) - 1, start))

    @property
    def shown(self) -> str:
        """The text with a stroke before the cursor."""
        return f"{self.text[: self.cursor]}|{self.text[self.cursor :]}"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("l", "o|ne two.three\n  four\n\nend"),
        ("3l", "one| two.three\n  four\n\nend"),
        ("99l", "one two.thre|e\n  four\n\nend"),
        ("w", "one |two.three\n  four\n\nend"),
        ("2w", "one two|.three\n  four\n\nend"),
        ("4w", "one two.three\n  |four\n\nend"),
        ("5w", "one two.three\n  four\n|\nend"),
        ("99w", "one two.three\n  four\n\nen|d"),
        ("e", "on|e two.three\n  four\n\nend"),
        ("2e", "one tw|o.three\n  four\n\nend"),
        ("$", "one two.thre|e\n  four\n\nend"),
        ("2$", "one two.three\n  fou|r\n\nend"),
        ("$b", "one two.|three\n  four\n\nend"),
        ("$3b", "one |two.three\n  four\n\nend"),
        ("$0", "|one two.three\n  four\n\nend"),
        ("G", "one two.three\n  four\n\n|end"),
        ("2G", "one two.three\n  |four\n\nend"),
        ("2G0", "one two.three\n|  four\n\nend"),
        ("2G0^", "one two.three\n  |four\n\nend"),
        ("Ggg", "|one two.three\n  four\n\nend"),
        ("2gg", "one two.three\n  |four\n\nend"),
        ("$h", "one two.thr|ee\n  four\n\nend"),
    ],
)
def test_a_motion_goes_where_vi_goes(keys: str, expected: str) -> None:
    assert Page("one two.three\n  four\n\nend").type(*keys).shown == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("x", "|ne two\n three\nend"),
        ("3x", "| two\n three\nend"),
        ("99x", "|\n three\nend"),
        ("dw", "|two\n three\nend"),
        ("wdw", "one| \n three\nend"),
        ("d2w", "|\n three\nend"),
        ("2dw", "|\n three\nend"),
        ("de", "| two\n three\nend"),
        ("$db", "one |o\n three\nend"),
        ("wd$", "one| \n three\nend"),
        ("wD", "one| \n three\nend"),
        ("wd0", "|two\n three\nend"),
        ("dd", " |three\nend"),
        ("2dd", "|end"),
        ("9dd", "|"),
        ("Gdd", "one two\n |three"),
        ("dj", "|end"),
        ("Gdk", "|one two"),
        ("GdG", "one two\n |three"),
        ("dG", "|"),
        ("2Gdgg", "|end"),
        ("ddp", " three\n|one two\nend"),
        ("ddP", "|one two\n three\nend"),
        ("yyp", "one two\n|one two\n three\nend"),
        ("yy2p", "one two\n|one two\none two\n three\nend"),
        ("xp", "n|oe two\n three\nend"),
        ("dwP", "one| two\n three\nend"),
        ("ywP", "one| one two\n three\nend"),
        ("Gyyggp", "one two\n|end\n three\nend"),
    ],
)
def test_an_operator_takes_what_vi_takes(keys: str, expected: str) -> None:
    assert Page("one two\n three\nend").type(*keys).shown == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("iX", "X|  one two\nend"),
        ("wiX", "  X|one two\nend"),
        ("waX", "  oX|ne two\nend"),
        ("$IX", "  X|one two\nend"),
        ("AX", "  one twoX|\nend"),
        ("oX", "  one two\nX|\nend"),
        ("OX", "X|\n  one two\nend"),
        ("wcwX", "  X| two\nend"),
        ("w2cwX", "  X|\nend"),
        ("$cwX", "  one twX|\nend"),
        ("wceX", "  X| two\nend"),
        ("2wCX", "  one X|\nend"),
        ("ccX", "X|\nend"),
        ("cjX", "X|"),
    ],
)
def test_what_follows_is_written_where_vi_writes(keys: str, expected: str) -> None:
    page = Page("  one two\nend").type(*keys)
    assert page.vi.inserting
    assert page.shown == expected


def test_esc_leaves_insert_mode_one_character_back_but_not_a_line_up() -> None:
    assert Page("ab\ncd").type("A", "escape").shown == "a|b\ncd"
    assert Page("ab\ncd").type("G", "i", "escape").shown == "ab\n|cd"


def test_esc_in_normal_mode_and_keys_without_a_meaning_are_left_to_others() -> None:
    assert press(Vi(inserting=False), "escape", "ab", 0) is None
    assert press(Vi(inserting=False), "enter", "ab", 0) is None
    assert press(Vi(), "d", "ab", 0) is None


def test_esc_and_unknown_commands_end_what_was_begun() -> None:
    assert Page("one two").type("d", "escape", "w").shown == "one |two"
    assert Page("one two").type("d", "Z", "w").shown == "one |two"
    assert Page("one two").type("2", "escape", "x").shown == "|ne two"


def test_rows_and_undo_are_left_to_the_text_area() -> None:
    for keys, act in (("3j", Rows(3)), ("k", Rows(-1)), ("u", Undo())):
        page = Page("one").type(*keys[:-1])
        pressed = press(page.vi, keys[-1], page.text, page.cursor)
        assert pressed is not None
        assert pressed.act == act
    pressed = press(Vi(inserting=False), "ctrl+r", "one", 0)
    assert pressed is not None
    assert pressed.act == Undo(again=True)


def test_an_endless_count_is_not_a_reason_to_stop() -> None:
    assert Page("one").type(*"9" * 5000, "x").shown == "|"


@given(
    st.text(alphabet="ab_. \n\tä", max_size=30),
    st.integers(0, 30),
    st.lists(st.sampled_from(KEYS), max_size=12),
)
def test_the_cursor_stays_in_the_text_and_on_a_character(text: str, cursor: int, keys: list[str]) -> None:
    page = Page(text, min(cursor, len(text)), Vi()).type("escape")
    for key in keys:
        page.type(key)
        assert 0 <= page.cursor <= len(page.text)
        if not page.vi.inserting:
            line = page.text.split("\n")[page.text[: page.cursor].count("\n")]
            column = page.cursor - (page.text.rfind("\n", 0, page.cursor) + 1)
            assert column < len(line) or not line


@given(st.text(alphabet="ab. \n", max_size=30), st.integers(0, 30), st.sampled_from("wbe$0hlGjk"), st.integers(1, 4))
def test_what_is_deleted_and_put_back_is_the_same_text(text: str, cursor: int, motion: str, count: int) -> None:
    page = Page(text, min(cursor, len(text))).type("0")
    before = page.text
    page.type(*f"{count}d{motion}")
    gone = len(before) - len(page.text)
    if gone and not page.vi.kept.endswith("\n"):
        place = page.cursor if page.text[page.cursor :] == before[page.cursor + gone :] else page.cursor + 1
        assert page.text[:place] + page.vi.kept + page.text[place:] == before
    elif not gone:
        assert (page.text, page.vi.inserting) == (before, False)
