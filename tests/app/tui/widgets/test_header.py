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
