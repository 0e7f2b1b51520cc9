"""Answers that come in pieces, and values for the arguments of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.answers.parts import AnswerPart, merged

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def parts_however_cut(
    text: str,
    cuts: Sequence[int],
    answer_format: AnswerFormat,
    tools: Sequence[Mapping[str, Any]],
    *,
    thinking: bool = False,
    formatted: bool = False,
) -> list[AnswerPart]:
    """The parts of a text. Checks that they are the same if it comes at once, cut at these places, or by letters."""

    def parts(pieces: Sequence[str]) -> list[AnswerPart]:
        parser = AnswerParser(answer_format, tools, thinking=thinking, formatted=formatted)
        parsed = [part for piece in pieces for part in parser.feed(piece)]
        return merged([*parsed, *parser.finish()])

    whole = parts([text])
    places = [0, *sorted({min(cut, len(text)) for cut in cuts}), len(text)]
    assert parts([text[one:other] for one, other in pairwise(places)]) == whole
    assert parts([*text]) == whole
    return whole
