"""The header with a context that is nearly full."""

import pytest

from specchat.chat.session import HeaderView, Speculation
from specchat.tui.widgets.header import header


@pytest.mark.parametrize(
    ("width", "shown"), [(140, "ctx 900/1024! stops next   seed 7"), (52, "ctx 900/1024!"), (40, "ctx 900/1024!")]
)
def test_a_nearly_full_context_says_what_happens_next(width: int, shown: str) -> None:
    view = HeaderView("guide ⇠ draft", Speculation.ACTIVE, "active · hybrid", 900, 1024, 7, when_full="stops next")
    drawn = header(view, width)
    assert drawn.cell_length == width
    assert drawn.plain.endswith(shown)
    assert "!" not in header(view._replace(when_full=""), width).plain


@pytest.mark.parametrize("used", [0, 139, 1000])
def test_eighty_columns_show_the_context_of_the_built_in_pair(used: int) -> None:
    pair = "specchat-guide 18M ⇠ specchat-draft 2M"
    view = HeaderView(pair, Speculation.ACTIVE, "active · hybrid · k auto", used, 1024, 7)
    drawn = header(view, 78)  # without the header's margins
    assert drawn.cell_length == 78
    assert drawn.plain.endswith(f" ctx {used}/1024")
    assert "● active · hybrid · k auto " in drawn.plain
    assert drawn.plain.startswith("specchat-guide 18M ⇠ specchat-draft" + ("…" if used else " 2M"))


def test_a_context_that_would_cost_the_name_is_left_out() -> None:
    view = HeaderView("guide 18M ⇠ draft 2M", Speculation.ACTIVE, "active · hybrid · k auto", 139, 1024, 7)
    assert header(view, 52).plain.rstrip() == "guide 18M ⇠ draft 2M  ● active · hybrid · k auto"
