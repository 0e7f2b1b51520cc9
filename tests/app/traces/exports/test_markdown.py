from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.traces.exports.document import Document, conversation
from specchat.traces.exports.markdown import fenced, markdown
from support.sample_traces import sample_trace

MARKUP = st.text(st.sampled_from("`~#->*_<!/ \n\tab1.[]()|&\\"), max_size=30)


def headings(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    return [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]


def test_a_session_has_a_title_the_models_the_roles_and_the_figures() -> None:
    trace = sample_trace()
    text = markdown(Document("Cats", tuple(conversation([trace])), (trace,)))
    assert text == (
        "# Cats\n\nspecchat-guide 18M ⇠ specchat-draft 2M\n\n"
        "## You\n\n```text\nWhat is a round?\n```\n\n"
        "## specchat-guide 18M\n\nThe cat sat on the red mat.\n\n"
        "`8 tokens · 571 tok/s · accepted 62 % · α 0.83 · τ 2.0 · draft 29 % verify 57 % other 14 % · seed 7`\n"
    )


def test_an_answer_with_a_closed_fence_stays_markdown() -> None:
    answer = "Look:\n\n```python\nprint()\n```"
    assert f"\n\n{answer}\n" in markdown(Document("t", (("assistant", answer, ""),), ()))


@pytest.mark.parametrize("answer", ["```python\nprint(", "~~~~\n```\n", "<!-- open", "<pre>\n\nopen", ""])
def test_an_answer_that_leaves_something_open_is_fenced(answer: str) -> None:
    document = Document("t", (("assistant", answer, "figures"), ("user", "next", "")), ())
    assert headings(markdown(document)) == ["t", "Assistant", "You"]


@given(MARKUP, MARKUP)
def test_no_message_swallows_another(answer: str, question: str) -> None:
    messages = (("user", question, ""), ("assistant", answer, "1 token"), ("system", question, ""))
    found = headings(markdown(Document("Title", messages, ())))
    assert [heading for heading in found if heading in ("Title", "You", "System")] == ["Title", "You", "System"]
    assert "Assistant" in found


@given(st.text(st.sampled_from("`~a \n"), max_size=40))
def test_a_fence_holds_exactly_its_text(text: str) -> None:
    (token,) = MarkdownIt("commonmark").parse(fenced(text))
    assert token.type == "fence"
    assert token.content == text.removesuffix("\n") + "\n"


def test_titles_and_figures_cannot_be_markup_and_control_characters_are_gone() -> None:
    document = Document("a <b> *c* \x1b[2J", (("tool\n# x", "y\x1b]0;t\x07", "`1`\n# token"),), ())
    text = markdown(document)
    assert "\x1b" not in text
    assert "# a \\<b\\> \\*c\\* \ufffd\\[2J" in text
    assert headings(text)[1:] == ["Tool \\# x"]
    assert "`'1' # token`" in text
