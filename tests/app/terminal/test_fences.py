"""Code blocks of any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.terminal.fences import fenced


@given(st.text(st.sampled_from("`~a \n"), max_size=40))
def test_a_fence_holds_exactly_its_text(text: str) -> None:
    (token,) = MarkdownIt("commonmark").parse(fenced(text))
    assert token.type == "fence"
    assert token.content == text.removesuffix("\n") + "\n"
