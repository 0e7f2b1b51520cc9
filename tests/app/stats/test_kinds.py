from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.kinds import ContentKind, kinds_of, kinds_of_rounds
from specchat_engine.answers.thoughts import THOUGHT_MARKS
from specchat_engine.decoding.rounds import TokenKind
from support.drawn_rounds import sample_round

PROSE, CODE, LIST, THINKING = ContentKind.PROSE, ContentKind.CODE, ContentKind.LIST, ContentKind.THINKING
TOOLS = ContentKind.TOOLS

ANSWER = """<think>
First ```not code``` here.
- not a list
</think>
Here is a loop:

```python
for i in range(3):
    print(i)  # - no list, no ``` fence
```

Its steps:

1. count
   and go on
2. stop

| a | b |
|---|---|

**Done** - really. 3 of 3. ```inline``` too
"""

pieces = st.lists(
    st.sampled_from(
        ["`", "``", "```", "~~~", "\n", " ", "- ", "* x", "1", ". ", "|", "word", "<", "<think>", "</think>", "", "é"]
    ),
    max_size=60,
)


def by_line(text: str) -> dict[str, ContentKind]:
    lines = text.splitlines(keepends=True)
    return dict(zip([line.strip() for line in lines], kinds_of(lines), strict=True))


def test_fences_lists_tables_and_thinking_are_distinguished_from_prose() -> None:
    found = by_line(ANSWER)
    assert found["<think>"] is found["- not a list"] is found["</think>"] is THINKING
    assert found["First ```not code``` here."] is THINKING
    assert found["Here is a loop:"] is found["Its steps:"] is PROSE
    assert found["```python"] is found["print(i)  # - no list, no ``` fence"] is found["```"] is CODE
    assert found["1. count"] is found["and go on"] is found["2. stop"] is found["|---|---|"] is LIST
    assert found["**Done** - really. 3 of 3. ```inline``` too"] is PROSE


@pytest.mark.parametrize(
    "call",
    [
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        "<tool_call>now<arg_key>zone</arg_key><arg_value>Rome</arg_value></tool_call>",
        '<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{"a": "- b"}<|tool_call_end|>',
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜>",
        '<|tool_call>call:now{a:<|"|>b<|"|>}<tool_call|>',
    ],
)
def test_calls_are_a_kind_of_their_own_in_every_notation(call: str) -> None:
    texts = ["<think>", "hm", "</think>", "Let me see. ", *call, "\nDone."]
    found = kinds_of(texts)
    assert found[:4] == [THINKING, THINKING, THINKING, PROSE]
    assert set(found[4:-1]) == {TOOLS}
    assert found[-1] is PROSE


@pytest.mark.parametrize(
    "call",
    [
        '<|python_tag|>{"name": "now", "parameters": {}}',
        '[TOOL_CALLS][{"name": "now", "arguments": {}}]',
        '{"name": "now", "parameters": {"zone": "Rome"}}',
        "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}",
    ],
)
def test_calls_without_an_end_go_on_to_the_end_of_the_answer(call: str) -> None:
    assert set(kinds_of([*call])) == {TOOLS}
    assert set(kinds_of(["<think>a</think>", "\n", *call])[2:]) == {TOOLS}


@pytest.mark.parametrize(
    "text",
    [
        'As an object:\n{"name": "now", "parameters": {}}',
        "Models write `<tool_call>` first, and `<tool_call>{}</tool_call>`.",
        '{"name": "Ann", "age": 3}',
    ],
)
def test_what_looks_like_a_call_in_a_text_is_none(text: str) -> None:
    assert TOOLS not in kinds_of([text[:20], text[20:]])
    assert set(kinds_of(["```\n", f"{text}\n", "```"])) == {CODE}


def test_the_header_of_gpt_oss_is_thinking_and_its_answer_is_not() -> None:
    texts = ["<|channel|>", "analysis", "<|message|>", "Hm.", "<|end|>", "<|start|>", "assistant", "<|channel|>"]
    found = kinds_of([*texts, "final", "<|message|>", "Yes."])
    assert found == [THINKING] * 10 + [PROSE]


@pytest.mark.parametrize(("opening", "closing"), THOUGHT_MARKS)
def test_every_models_tags_mark_thinking(opening: str, closing: str) -> None:
    assert kinds_of([opening, "a", closing, "\n\n", "b"]) == [THINKING, THINKING, THINKING, PROSE, PROSE]
    assert kinds_of(["The tag ", opening, " opens it"]) == [PROSE] * 3


def test_thinking_that_the_prompt_opened_ends_at_its_tag() -> None:
    rounds = [sample_round([], (TokenKind.PLAIN, text)) for text in ("hm", " so", "</think>", "\n", "Yes")]
    assert kinds_of_rounds(rounds) == [THINKING, THINKING, THINKING, PROSE, PROSE]


def test_a_fence_is_known_where_tokens_cut_it_and_inside_a_fence_of_more_signs_it_closes_nothing() -> None:
    lines = ["````md\n", "```\n", "x\n", "```\n", "````\n", "y\n"]
    assert kinds_of(lines) == [CODE] * 5 + [PROSE]
    assert kinds_of(["``", "`py", "\nx", "\n``", "`", "\n", "y"]) == [CODE] * 6 + [PROSE]


def test_a_round_is_of_the_kind_of_most_of_its_tokens() -> None:
    event = sample_round([("a", "say:\n"), ("a", "```\n"), ("a", "x"), ("r", "y")], (TokenKind.CORRECTION, "z"))
    assert kinds_of_rounds([event]) == [CODE]


@given(pieces, st.data())
def test_how_an_answer_is_cut_into_tokens_changes_no_characters_kind(texts: list[str], data: st.DataObject) -> None:
    answer = ANSWER[: data.draw(st.integers(0, len(ANSWER)))] + "".join(texts)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)), max_size=20)))
    tokens = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    single = kinds_of(answer)
    place = 0
    for token, kind in zip(tokens, kinds_of(tokens), strict=True):
        if token.strip():
            blank = len(token) - len(token.lstrip())
            assert kind is single[place + blank]
        place += len(token)
