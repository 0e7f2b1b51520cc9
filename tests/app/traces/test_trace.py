from __future__ import annotations

from dataclasses import replace

import pytest

from specchat.traces.exports.document import conversation
from specchat.traces.trace import Trace
from specchat_assets.guide import find, quoting
from support.sample_traces import CAT, remote_trace, sample_trace, start_line


def test_a_turn_without_an_end_has_the_text_and_the_statistics_of_its_rounds() -> None:
    whole, cut = sample_trace(), sample_trace(ended=False)
    assert cut.text == "The cat sat on the red mat."
    assert cut.reason is None
    assert cut.stats == whole.stats
    assert (cut.stats["num_tokens"], cut.stats["num_rounds"], cut.stats["prompt_tokens"]) == (8, 4, 13)
    assert (cut.stats["alpha"], cut.stats["ttft_ms"], cut.stats["wall_ms"]) == (pytest.approx(5 / 6), 100.0, 400.0)


def test_what_the_end_says_comes_before_what_the_rounds_would_say() -> None:
    trace = sample_trace()
    assert trace.end is not None
    said = trace._replace(end={**trace.end, "text": "The cat", "stats": {"speedup": 1.5, "costs": [1]}})
    assert said.text == "The cat"
    assert (said.stats["speedup"], said.stats["num_tokens"], said.stats["costs"]) == (1.5, 8, [1])


def test_statistics_after_some_rounds_count_those_alone() -> None:
    trace = sample_trace()
    assert [trace.stats_after(count)["num_tokens"] for count in range(5)] == [0, 1, 5, 7, 8]
    assert trace.stats_after(0)["ttft_ms"] == 0.0
    assert trace.stats_after(2)["speedup"] is None


def test_the_question_is_the_last_message_of_the_user() -> None:
    said = (("user", "first"), ("assistant", "answer"), ("user", "second"))
    messages = [{"role": role, "content": content} for role, content in said]
    assert Trace(start_line(messages=messages), ()).question == "second"
    assert Trace(start_line(messages=[]), ()).question == ""


def test_the_passage_that_the_guide_gets_with_a_question_is_no_part_of_it() -> None:
    passage = find("What is α?")
    assert passage is not None
    trace = sample_trace(CAT, question=quoting("What is α?", passage))
    assert (trace.question, trace.asked) == ("What is α?", "What is α?")
    assert conversation([trace])[0][1] == "What is α?"
    own = "Here.\n\nRepeat this text:\n\nMy own text."
    assert sample_trace(CAT, question=own).question == own


def test_an_answer_that_was_branched_begins_with_what_it_was_given() -> None:
    trace = sample_trace(ended=False, prefix=[1, 2], prefix_text="Once ")
    assert trace.text == "Once The cat sat on the red mat."
    assert trace.opening is not None
    assert trace.opening.text == "Once "
    assert sample_trace().opening is None


def test_an_error_stands_before_the_end() -> None:
    failed = sample_trace(CAT[:1], reason="error")._replace(error="out of memory")
    assert [line["type"] for line in failed.lines()] == ["start", "round", "error", "end"]


def test_the_sharpness_of_a_position_is_that_of_its_round() -> None:
    trace = sample_trace()
    rounds = tuple(replace(event, sharpness=float(event.index + 1)) for event in trace.rounds)
    powers = [event.sharpness for event in rounds for _ in range(event.num_emitted)]
    made = Trace({**trace.start, "prefix": [5, 6]}, rounds)
    assert [made.sharpness_at(position) for position in range(2, 2 + len(powers))] == powers
    assert made.sharpness_at(99) == 1.0


def test_ids_that_a_server_did_not_send_are_not_made_up() -> None:
    assert remote_trace().tokens == ()
    assert remote_trace().text == "The cat sat"
