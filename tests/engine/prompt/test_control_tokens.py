"""No text that others wrote spells a control token, and a text that spells none stays as it is."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from specchat_engine.prompt.control_tokens import guarded

TEXTS = st.text("<>[]ab", max_size=12)
CONTROLS = st.lists(st.text("<>[]ab", max_size=4), max_size=6)


@given(st.lists(TEXTS, max_size=4), TEXTS, CONTROLS)
@example(["[a]"], "", ["<a>", "[a]"])
@example(["<<<<"], "", ["<<"])
@example(["a"], "a", ["a", ""])
def test_each_text_gets_marks_in_its_control_tokens_alone(texts: list[str], key: str, controls: list[str]) -> None:
    values, mark = guarded({"said": [*texts, {key: key}]}, controls)
    longer = [control for control in controls if len(control) > 1]
    *written, named = values["said"]
    for text, found in zip([*texts, key], [*written, *named.values()], strict=True):
        assert found.replace(mark, "") == text
        assert not any(control in found for control in longer)
        assert any(control in text for control in longer) or found == text
