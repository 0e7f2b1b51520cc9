"""The lesson in thinking before an answer."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import jinja2
import pytest

from builtin_pair.chats import Chat, Kind, Turn, pieces, single
from builtin_pair.mixture import KINDS, ROW_LENGTHS, SHARES, SOURCES
from builtin_pair.thinking import NO_THOUGHT, THINKING_TEMPLATE, ThinkingLesson, thinking, thought_about
from builtin_pair.tokenizer import BytePairTokenizer

THINKING = "<think>\n"


def thinking_chats(kind: Kind, count: int) -> list[Chat]:
    random = Random(4)
    return [thinking(chat, random) for chat in islice(SOURCES[kind](Random(f"{kind}")), count)]


def rendered(chat: Chat, enable_thinking: bool) -> str:
    """What the template gives the model when it is asked for the last answer."""
    messages = [{"role": "system", "content": chat.system}] if chat.system else []
    for turn in chat.turns:
        messages += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}]
    template = jinja2.Environment(autoescape=False).from_string(THINKING_TEMPLATE)
    return template.render(messages=messages[:-1], add_generation_prompt=True, enable_thinking=enable_thinking)


@pytest.mark.parametrize("kind", KINDS)
def test_each_answer_is_learned_after_what_the_template_gives(kind: Kind) -> None:
    thought = Counter[bool]()
    for chat in thinking_chats(kind, 60):
        parts = pieces(chat)
        thinks = parts[-1][0].startswith(THINKING)
        thought[thinks] += 1
        assert "".join(text for text, _ in parts[:-1]) == rendered(chat, enable_thinking=thinks)
        assert [learned for _, learned in parts] == [False, True] * len(chat.turns)
        assert chat.turns[-1].begun == ("" if thinks else NO_THOUGHT)
    assert 30 < thought[True] < 58


@pytest.mark.parametrize("kind", KINDS)
def test_a_thought_ends_before_the_answer_and_earlier_answers_have_none(kind: Kind) -> None:
    asked = islice(SOURCES[kind](Random(f"{kind}")), 60)
    for plain, chat in zip(asked, thinking_chats(kind, 60), strict=True):
        assert chat.turns[:-1] == plain.turns[:-1]
        answer = chat.turns[-1].assistant
        if answer.startswith(THINKING):
            thought, _, answer = answer.partition("\n</think>\n\n")
            assert "</think>" not in thought
            assert len(thought.split()) > 3
        assert answer == plain.turns[-1].assistant


def test_a_thought_says_what_an_edit_changes() -> None:
    turn = Turn("Replace cat with dog: the cat sat on a mat", "the dog sat on a mat")
    assert "cat becomes dog" in thought_about("copy", turn, Random(1))


def test_a_thought_about_code_names_the_function_and_its_parameters() -> None:
    code = "```python\ndef double(number, times=1):\n    total = number * 2\n    return total\n```"
    thought = thought_about("python", single("python", "Double it", code).turns[0], Random(1))
    assert "`double` with the parameters `number, times=1`" in thought
    assert "First comes `total = number * 2`, and at the end `return total`." in thought


def test_a_step_depends_only_on_the_seed_and_its_number(tokenizer: BytePairTokenizer) -> None:
    def lesson(seed: int) -> ThinkingLesson:
        return ThinkingLesson(tokenizer, seed, 4096, 3072)

    longest = ROW_LENGTHS[-1]
    assert lesson(1).documents(3, longest) == lesson(1).documents(3, longest)
    assert lesson(1).documents(3, longest) != lesson(2).documents(3, longest)
    assert lesson(1).documents(3, longest) != lesson(1).documents(4, longest)


def test_kinds_have_their_shares_of_the_tokens(tokenizer: BytePairTokenizer) -> None:
    sizes = Counter[int]()
    for document in ThinkingLesson(tokenizer, 1, 60_000, 3072).documents(0, ROW_LENGTHS[-1]):
        assert len(document.ids) <= ROW_LENGTHS[-1]
        sizes[document.group] += len(document.ids)
    for number, kind in enumerate(KINDS):
        assert sizes[number] / sizes.total() == pytest.approx(SHARES[kind], abs=0.02)
