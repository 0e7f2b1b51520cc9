from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.terminal.filter import clean_line
from specchat.terminal.palette import BLUE, ON_LIGHT
from specchat.traces.exports.document import Document
from specchat.traces.exports.svg import COLUMNS, svg
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import TokenKind
from support.drawn_rounds import sample_round
from support.sample_traces import sample_trace, traces

SPACE = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[tuple[str, str]]:
    root = ElementTree.fromstring(picture)
    return [(node.get("class") or "", node.text or "") for node in root.iter(f"{SPACE}text")]


def picture(*turns: Trace, title: str = "Cats") -> str:
    return svg(Document(title, (), turns))


def test_every_token_has_its_colour_between_the_question_and_the_figures() -> None:
    shown = texts(picture(sample_trace()))
    assert shown[:3] == [("title", "Cats"), ("quiet", "specchat-guide 18M ⇠ specchat-draft 2M"), ("quiet", "›")]
    assert shown[4:-8] == [
        ("plain", "The"),
        ("accepted", "cat sat on"),
        ("bonus", "the"),
        ("accepted", "red"),
        ("rejected", "hat"),
        ("discarded", "and"),
        ("correction", "mat"),
        ("accepted", "."),
        ("discarded", "It"),
    ]
    assert shown[-8][1].startswith("8 tokens · 571 tok/s")
    legend = ["accepted", "rejected", "correction", "discarded", "bonus", "plain"]
    assert shown[-6:] == [(word, word) for word in legend]


def test_it_contains_the_palette_for_light_and_dark_pages_and_no_links() -> None:
    text = picture(sample_trace())
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    assert f".accepted {{ fill: {ON_LIGHT[BLUE]} }}" in light
    assert f".accepted {{ fill: {BLUE} }}" in dark
    assert ".rejected { text-decoration: line-through }" in light
    assert text.count("http") == 1  # the namespace
    assert "/secret" not in text


def test_long_answers_are_wrapped_and_no_line_leaves_the_page() -> None:
    words = [sample_round([], (TokenKind.PLAIN, f" word{number}")) for number in range(200)]
    root = ElementTree.fromstring(picture(sample_trace([*words, sample_round([], (TokenKind.PLAIN, "x" * 300))])))
    width = float(root.get("width") or 0)
    heights = {float(node.get("y") or 0) for node in root.iter(f"{SPACE}text")}
    assert len(heights) > 20
    assert max(heights) < float(root.get("height") or 0)
    for node in root.iter(f"{SPACE}text"):
        assert float(node.get("x") or 0) + float(node.get("textLength") or 0) <= width - 20
        assert len(node.text or "") <= COLUMNS


def test_wide_characters_take_two_cells_and_inner_spaces_stay() -> None:
    shown = picture(sample_trace([sample_round([], (TokenKind.PLAIN, "漢字  a"))]))
    assert f'textLength="{7 * 8.4:.1f}" lengthAdjust="spacingAndGlyphs">漢字\u00a0\u00a0a<' in shown


def test_the_end_of_an_answer_that_did_not_end_by_itself_is_shown() -> None:
    assert any(text.startswith("stopped · 8 tokens") for _, text in texts(picture(sample_trace(reason="cancelled"))))
    assert any(text.startswith("recording cut short") for _, text in texts(picture(sample_trace(ended=False))))


@settings(max_examples=40)
@given(traces(), st.text(max_size=20))
def test_any_turn_is_well_formed(trace: Trace, title: str) -> None:
    ElementTree.fromstring(svg(Document(clean_line(title), (), (trace,))))
