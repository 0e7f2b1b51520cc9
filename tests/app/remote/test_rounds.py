"""Recorded and made streams as rounds: their totals are the server's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.remote.samples import SGLANG, VLLM, delta, messages, word
from specchat.remote.chunks import Chunk, read_chunk
from specchat.remote.rounds import RoundReader, reader_for
from specchat.remote.servers import EngineKind
from specchat.remote.thoughts import ThoughtMarks
from specchat_engine.codec import to_json
from specchat_engine.decoding.rounds import Round
from support.drawn_rounds import made_round


def read(reader: RoundReader, sent: Sequence[Any]) -> tuple[list[Round], list[Round] | None]:
    """The rounds while the answer streams, and all of them again at its end."""
    thinking = ThoughtMarks()
    found: list[Round] = []
    chunk, drafting = Chunk(), None
    for place, message in enumerate(sent):
        chunk = read_chunk(message)
        drafting = chunk.drafting or drafting
        found += reader.take(chunk, thinking.tokens(chunk), float(place))
    return found + reader.finish(), reader.recount(drafting)


def of_vllm(name: str, *, speculates: bool = True) -> tuple[list[Round], list[Round] | None, dict[str, Any]]:
    sent = messages(VLLM / f"{name}.txt")
    live, again = read(reader_for(EngineKind.VLLM, speculates=speculates), sent)
    return live, again, sent[-1]


RECORDED = sorted(file.stem for file in VLLM.glob("*-stream*.txt") if "nousage" not in file.stem)
OTHERS = ["draft-chat-sample", "ngram-chat-long-prompt", *(f"draft-chat-at-once-{place}" for place in range(4))]
COUNTED = [one for one in RECORDED if one != "draft-chat-stream"] + OTHERS


@pytest.mark.parametrize("name", COUNTED)
def test_the_rounds_of_a_vllm_add_up_to_its_own_counters_also_if_it_reports_only_the_sums(name: str) -> None:
    sent = messages(VLLM / f"{name}.txt")
    last = sent[-1]
    own = last["metrics"]["speculative_decoding"]
    _, again = read(reader_for(EngineKind.VLLM, speculates=True), sent)
    assert again is not None
    drafts = [event for event in again if event.drafted]
    assert [len(event.drafted) for event in drafts] == own.pop("per_step_drafted", [])
    assert [event.num_accepted for event in drafts] == own.pop("per_step_accepted", [])
    beyond = [token for token in again[-1].drafted[: again[-1].num_accepted] if token.is_unknown]  # cut by a limit
    assert sum(event.num_emitted for event in again) - len(beyond) == last["usage"]["completion_tokens"]
    _, from_sums = read(reader_for(EngineKind.VLLM, speculates=True), sent)
    assert from_sums is not None
    drafts = [event for event in from_sums if event.drafted]
    assert len(drafts) == own["num_spec_steps"]
    assert sum(len(event.drafted) for event in drafts) == own["num_draft_tokens"]
    assert sum(event.num_accepted for event in drafts) == own["num_accepted_draft_tokens"]


def test_the_text_of_the_rounds_is_what_was_sent() -> None:
    for name in RECORDED:
        live, again, _ = of_vllm(name)
        sent = "".join(
            choice.get("delta", {}).get("content") or choice.get("text") or ""
            for message in messages(VLLM / f"{name}.txt")
            for choice in message["choices"]
        )
        assert "".join(event.text for event in live) == sent
        assert "".join(event.text for event in again or live) == sent


def test_each_accepted_token_has_its_own_text_where_a_server_sends_it() -> None:
    _, again, _ = of_vllm("draft-chat-stream-ids")
    assert again is not None
    assert [token.text for token in again[1].drafted] == [" speculative", " decoding", " k", " is"]
    assert again[1].token.text == " the"
    assert [token.is_unknown for token in again[-1].drafted] == [False, False, True, True]


def test_while_it_streams_all_tokens_but_the_last_count_as_accepted() -> None:
    live, again, _ = of_vllm("draft-comp-stream")
    assert [word(event) for event in live[:4]] == [(0, 0, 1), (1, 1, 2), (3, 3, 4), (4, 4, 5)]
    assert again is not None
    assert [word(event) for event in again[:4]] == [(0, 0, 1), (4, 1, 2), (4, 3, 4), (4, 4, 5)]


def test_a_server_that_is_not_known_to_speculate_gets_plain_rounds_until_it_reports_drafts() -> None:
    live, again, _ = of_vllm("draft-comp-stream", speculates=False)
    assert not any(event.drafted for event in live)
    assert again is not None
    assert any(event.drafted for event in again)


def test_without_counters_nothing_counts_as_accepted_in_the_end() -> None:
    sent = [message for message in messages(VLLM / "draft-comp-stream.txt") if message["choices"]]
    live, again = read(reader_for(EngineKind.VLLM, speculates=True), sent)
    assert any(event.drafted for event in live)
    assert again is not None
    assert not any(event.drafted for event in again)
    assert len(again) == 60


def test_without_ids_a_message_is_one_token_and_nothing_is_recounted() -> None:
    live, again, _ = of_vllm("draft-chat-stream")
    assert len(live) == 13
    assert again is None


def test_the_rounds_of_sglang_follow_from_its_totals() -> None:
    live, again = read(reader_for(EngineKind.SGLANG, speculates=True), messages(SGLANG / "chat-stream.txt"))
    assert [word(event) for event in live] == [(0, 0, 1), (4, 4, 5), (2, 2, 3), (0, 0, 1), (3, 3, 4)]
    assert again is not None
    assert [word(event) for event in again] == [(0, 0, 1), (4, 4, 5), (4, 2, 3), (4, 0, 1), (4, 3, 4)]


@pytest.mark.parametrize(
    ("totals", "words"), [((2, 8, 2), [(0, 0, 1), (4, 2, 3), (4, 0, 1)]), ((1, 4, 3), [(0, 0, 1), (4, 3, 4)])]
)
def test_the_totals_decide_to_which_step_a_last_token_without_text_belongs(
    totals: tuple[int, int, int], words: list[tuple[int, int, int]]
) -> None:
    """It has no message but the usage."""
    names = ("spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts")
    sent = [
        delta("a", usage={"completion_tokens": 1}),
        delta("b c d", usage={"completion_tokens": 4}),
        delta(finish="stop"),
        {"choices": [], "sglext": {"spec_tokens_details": dict(zip(names, totals, strict=True))}},
        {"choices": [], "usage": {"completion_tokens": 5}},
    ]
    _, again = read(reader_for(EngineKind.SGLANG, speculates=True), sent)
    assert again is not None
    assert [word(event) for event in again] == words


def counted(text: str | None, number: int, ms: float, drafted: int = 0, accepted: int = 0) -> dict[str, Any]:
    """A message of llama-server with its counters."""
    drafts = {"draft_n": drafted, "draft_n_accepted": accepted} if drafted else {}
    return delta(text, timings={"predicted_n": number, "predicted_ms": ms} | drafts)


def of_llama_server(*sent: dict[str, Any]) -> list[Round]:
    return read(reader_for(EngineKind.LLAMA_SERVER, speculates=False), sent)[0]


def test_counters_that_change_begin_a_round() -> None:
    rounds = of_llama_server(
        counted("A", 1, 0.0),
        counted(" b", 2, 4.0, 4, 2),
        counted(" c", 3, 4.0, 4, 2),
        counted(" d", 4, 4.0, 4, 2),
        counted(" e", 5, 6.0, 4, 2),
        counted(" f", 6, 9.0, 7, 2),
    )
    assert [word(event) for event in rounds] == [(0, 0, 1), (4, 2, 3), (0, 0, 1), (3, 0, 1)]
    assert [event.text for event in rounds] == ["A", " b c d", " e", " f"]
    assert [event.ms.total for event in rounds] == [0.0, 4.0, 2.0, 3.0]


def test_a_round_is_there_with_its_last_token() -> None:
    reader = reader_for(EngineKind.LLAMA_SERVER, speculates=False)
    sent = [counted("A", 1, 0.0), counted(" b", 2, 4.0, 4, 1), counted(" c", 3, 4.0, 4, 1)]
    complete = [reader.take(chunk, ThoughtMarks().tokens(chunk), 0.0) for chunk in map(read_chunk, sent)]
    assert [len(rounds) for rounds in complete] == [1, 0, 1]


def test_a_token_that_is_half_a_character_has_no_message_and_still_counts() -> None:
    rounds = of_llama_server(counted("A", 1, 0.0), counted("é", 3, 4.0, 4, 3), counted("!", 5, 4.0, 4, 3))
    assert [word(event) for event in rounds] == [(0, 0, 1), (4, 3, 4)]
    assert rounds[1].text == "é!"


def test_an_answer_that_ends_in_the_middle_of_a_round_keeps_what_was_accepted() -> None:
    rounds = of_llama_server(counted("A", 1, 0.0), counted(" b", 2, 4.0, 4, 3), delta(finish="stop"))
    assert [word(event)[:2] for event in rounds] == [(0, 0), (4, 3)]
    assert rounds[1].text == " b"


def test_text_that_was_held_back_is_not_lost() -> None:
    late = of_llama_server(counted("A", 1, 0.0), delta(" rest", finish="stop"))
    assert "".join(event.text for event in late) == "A rest"
    waiting = of_llama_server(counted("A", 1, 0.0), counted(" b", 2, 4.0, 4, 3), delta(" rest"))
    assert [event.text for event in waiting] == ["A", " b rest"]


def test_a_round_that_is_none_is_left_out_and_the_text_is_there() -> None:
    broken = {"type": "round"} | to_json(made_round(3, 1)) | {"k": "many"}
    live, _ = read(reader_for(EngineKind.SPECCHAT, speculates=True), [delta("a", specchat={"trace": [broken]})])
    assert [event.text for event in live] == ["a"]


def test_any_other_server_gives_plain_rounds_and_a_count_at_the_end_alone_adds_none() -> None:
    sent = [delta("a b"), delta(" c", finish="stop"), {"choices": [], "usage": {"completion_tokens": 40}}]
    live, again = read(reader_for(EngineKind.OPENAI, speculates=False), sent)
    assert [(event.text, event.drafted) for event in live] == [("a b", ()), (" c", ())]
    assert again is None
