"""A conversation's branches."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.conversation import Conversation, title_of
from specchat.engine_process.protocol import ChatMessage
from specchat.store.records import StoredSession, ToolUse, new_id
from specchat_engine.prompt.messages import ToolCall


def conversation() -> Conversation:
    return Conversation(StoredSession(new_id(), system="Be brief.", seed=7))


def exchange(talk: Conversation, question: str, answer: str) -> tuple[int, int]:
    asked = talk.ask(question)
    said = talk.begin_answer()
    talk.put(replace(said, content=answer))
    return asked.id, said.id


def said(talk: Conversation) -> list[str]:
    return [message.content for message in talk.path()]


def test_another_answer_stands_beside_the_first_with_noise_of_its_own() -> None:
    talk = conversation()
    asked, first = exchange(talk, "Who?", "Me.")
    talk.rewind_to(asked)
    second = talk.begin_answer()
    assert (second.turn, second.attempt) == (0, 1)
    assert talk.place(second.id) == (2, 2)
    assert talk.place(first) == (1, 2)


def test_the_last_message_of_a_role_is_that_of_the_visible_branch() -> None:
    talk = conversation()
    assert talk.last("user") is None
    first = exchange(talk, "Who?", "Me.")
    second = exchange(talk, "Why?", "Because.")
    assert (talk.last("user"), talk.last("assistant")) == tuple(map(talk.message, second))
    talk.rewind_to(first[1])
    assert (talk.last("user"), talk.last("assistant")) == tuple(map(talk.message, first))


def test_another_answer_in_a_copied_conversation_has_other_noise() -> None:
    talk = conversation()
    asked, _ = exchange(talk, "Who?", "Me.")
    talk.rewind_to(asked)
    second = talk.begin_answer()
    copy = talk.copy()
    copied = copy.path()[-1]
    copy.rewind_to(copied.parent)
    assert copied.attempt == second.attempt
    assert copy.begin_answer().attempt not in {copied.attempt, 0}


def test_a_summary_stands_for_the_turns_before_it() -> None:
    talk = conversation()
    for number in range(3):
        exchange(talk, f"question {number}", f"answer {number}")
    talk.ask("the next")
    answer = talk.begin_answer()
    kept = talk.summarise(answer.id, 4, "what was said")
    assert kept is not None
    assert kept.content == "answer 1"
    assert [message.content for message in talk.asked(answer.id)] == [
        "Be brief.\n\nSummary of the conversation so far:\nwhat was said",
        "question 2",
        "answer 2",
        "the next",
    ]
    assert said(talk)[:2] == ["question 0", "answer 0"]  # what the user sees stays


def test_a_second_summary_replaces_the_first_and_counts_from_it() -> None:
    talk = conversation()
    for number in range(4):
        exchange(talk, f"question {number}", f"answer {number}")
    answer = talk.begin_answer()
    talk.summarise(answer.id, 2, "the first")
    kept = talk.summarise(answer.id, 4, "the second")
    assert kept is not None
    assert kept.content == "answer 2"
    assert talk.asked()[0].content.endswith("the second")
    assert talk.summarise(answer.id, 9, "too many") is None


def test_a_branch_from_before_the_summary_reads_what_was_said() -> None:
    talk = conversation()
    first, _ = exchange(talk, "Who?", "Me.")
    exchange(talk, "Why?", "Because.")
    answer = talk.begin_answer()
    talk.summarise(answer.id, 4, "what was said")
    talk.edit(first, "How?")
    assert [message.content for message in talk.asked()] == ["Be brief.", "How?"]


def test_an_edited_message_begins_a_branch_and_the_first_one_stays() -> None:
    talk = conversation()
    first, _ = exchange(talk, "Who?", "Me.")
    second, _ = exchange(talk, "Why?", "Because.")
    assert not talk.switch(first, 1), "it has no branches"
    edited = talk.edit(second, "How?")
    assert said(talk) == ["Who?", "Me.", "How?"]
    assert talk.place(edited.id) == (2, 2)
    assert talk.switch(edited.id, -1)
    assert said(talk) == ["Who?", "Me.", "Why?", "Because."]
    other = talk.edit(first, "What?")
    talk.switch(other.id, 1)
    assert said(talk) == ["Who?", "Me.", "How?"], "a branch that is shown again is shown to its newest end"


@pytest.mark.parametrize("words", ["Me.", ""])
def test_the_model_gets_the_system_prompt_and_the_messages_before_the_answer(words: str) -> None:
    talk = conversation()
    exchange(talk, "Who?", words)
    talk.ask("Why?")
    answer = talk.begin_answer()
    assert [(message.role, message.content) for message in talk.asked(answer.id)] == [
        ("system", "Be brief."),
        ("user", "Who?"),
        ("assistant", words),
        ("user", "Why?"),
    ]


def test_what_is_dropped_leaves_what_was_said_before_it() -> None:
    talk = conversation()
    asked, answer = exchange(talk, "Who?", "")
    talk.drop(answer)
    assert talk.head == asked
    assert not talk.has_answers(asked)
    with pytest.raises(KeyError):
        talk.message(answer)


@given(
    st.lists(st.tuples(st.sampled_from(["ask", "again", "edit", "switch", "rewind"]), st.integers(0, 50)), max_size=40)
)
def test_each_turn_and_attempt_has_its_own_noise(
    steps: list[tuple[str, int]],
) -> None:
    talk = conversation()
    seen: set[tuple[int, int, int]] = set()
    for step, number in steps:
        path = talk.path()
        mine = [message for message in path if message.role == "user"]
        if step == "ask" or not mine:
            talk.ask(str(number))
        elif step == "edit":
            talk.edit(mine[number % len(mine)].id, str(number))
        elif step == "switch":
            talk.switch(path[number % len(path)].id, 1)
            continue
        else:
            talk.rewind_to(mine[number % len(mine)].id)
            if step == "rewind":
                continue
        question = talk.head
        answer = talk.begin_answer()
        talk.put(replace(answer, content="!"))
        assert answer.turn == sum(message.role == "user" for message in talk.before(answer.id)) - 1
        assert question is not None
        noise = (question, answer.turn or 0, answer.attempt)
        assert noise not in seen
        seen.add(noise)


@given(st.text(max_size=300))
def test_a_title_is_one_short_line(text: str) -> None:
    title = title_of(text)
    assert len(title) <= 60
    assert "\n" not in title


def test_calls_and_their_results_are_sent_again_and_every_answer_has_noise_of_its_own() -> None:
    talk, call = conversation(), ToolCall("now", "{}", "call00000")
    talk.ask("What time is it?")
    first = talk.begin_answer()
    talk.put(replace(first, content="Let me see.", tools=ToolUse((call,))))
    talk.add_result(call, "noon")
    second = talk.begin_answer()
    assert (first.turn, second.turn) == (0, 1)
    assert talk.asked(second.id)[1:] == (
        ChatMessage("user", "What time is it?"),
        ChatMessage("assistant", "Let me see.", (call,)),
        ChatMessage("tool", "noon", (), "call00000", "now"),
    )
    talk.put(replace(second, content="It is noon."))
    talk.ask("And now?")
    third = talk.begin_answer()
    assert third.turn == 2
    assert len({(one.turn, one.attempt) for one in talk.path() if one.role == "assistant"}) == 3


def test_a_call_that_was_left_without_a_result_gets_one_before_the_next_message() -> None:
    talk = conversation()
    one, two = ToolCall("now", '{"zone": "Rome"}', "call00000"), ToolCall("now", "{}", "call00001")
    talk.ask("What time is it?")
    answer = talk.begin_answer()
    talk.put(replace(answer, tools=ToolUse((one, two))))
    result = talk.add_result(one, "noon", seconds=0.25)
    (left,) = talk.close_calls()
    assert left.tools == ToolUse((), "call00001", "now", failed=True)
    assert left.parent == result.id
    assert result.tools == ToolUse((), "call00000", "now", seconds=0.25)
    assert [talk.arguments_of(message.id) for message in (result, left)] == ['{"zone": "Rome"}', "{}"]
    assert talk.close_calls() == []
    exchange(talk, "And now?", "Noon.")
    assert talk.close_calls() == []
