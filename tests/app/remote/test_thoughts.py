from __future__ import annotations

from typing import Any

from app.remote.samples import delta
from specchat.remote.chunks import Token, read_chunk
from specchat.remote.thoughts import ThoughtMarks, without_thoughts
from specchat_engine.answers.thoughts import ThoughtSplitter


def said(*messages: dict[str, Any]) -> str:
    thinking = ThoughtMarks()
    tokens = [token for message in messages for token in thinking.tokens(read_chunk(message))]
    return "".join(token.text for token in tokens) + thinking.finish()


def reasoned(text: str, content: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"reasoning_content": text, "content": content}} | more]}


def test_reasoning_stands_between_marks_as_models_write_it() -> None:
    text = said(reasoned("Let me"), reasoned(" see."), delta("It is"), delta(" 4."))
    assert text == "<think>\nLet me see.\n</think>\n\nIt is 4."
    spans = ThoughtSplitter().feed(text)
    assert "".join(span.text for span in spans if not span.thought).strip() == "It is 4."


def test_a_thought_alone_is_closed_and_one_in_the_message_of_its_answer_comes_first() -> None:
    assert said(reasoned("Hm")) == "<think>\nHm\n</think>\n\n"
    assert said(reasoned("Hm", "So")) == "<think>\nHm\n</think>\n\nSo"
    assert said(delta("a"), delta(" b")) == "a b"


def test_tokens_keep_their_ids_and_the_marks_stand_with_their_neighbours() -> None:
    thinking = ThoughtMarks()
    first = thinking.tokens(read_chunk(reasoned("a b", token_ids=[1, 2])))
    assert first == [Token(1, "<think>\na b"), Token(2, "")]
    entries = [{"token": "c"}, {"token": " d"}]
    message = {"choices": [{"delta": {"content": "c d"}, "token_ids": [3, 4], "logprobs": {"content": entries}}]}
    assert thinking.tokens(read_chunk(message)) == [Token(3, "\n</think>\n\nc"), Token(4, " d")]


def test_earlier_thoughts_are_not_sent_again() -> None:
    assert without_thoughts("<think>\nHm\n</think>\n\nIt is 4.") == "It is 4."
    assert without_thoughts("◁think▷Hm◁/think▷4") == "4"
    assert without_thoughts("It is <think>") == "It is <think>"
    assert without_thoughts("<think>never closed") == "<think>never closed"
