from __future__ import annotations

from hypothesis import given

from app.remote.samples import SGLANG, VLLM, delta, messages
from app.remote.test_values import ANYTHING
from specchat.remote.chunks import Chunk, Drafting, Timings, Token, read_chunk


@given(ANYTHING)
def test_whatever_a_server_sends_is_read(message: object) -> None:
    assert isinstance(read_chunk(message), Chunk)
    assert isinstance(read_chunk({"choices": [message], "timings": message, "metrics": message}), Chunk)
    assert isinstance(read_chunk({"choices": [{"delta": message, "logprobs": message}], "specchat": message}), Chunk)


def test_a_chunk_of_vllm_has_its_tokens_with_their_texts() -> None:
    chunks = [read_chunk(message) for message in messages(VLLM / "draft-chat-stream-ids.txt")]
    assert chunks[0].prompt_tokens == 13
    assert not chunks[0].adds
    assert chunks[2].tokens == tuple(
        map(Token, (617, 535, 344, 319, 268), (" speculative", " decoding", " k", " is", " the"))
    )
    assert chunks[-2].tokens == (Token(16, "."), Token(2, ""))
    assert chunks[-2].finish == "stop"
    assert chunks[-1].completion_tokens == 58
    steps = (4,) * 11
    assert chunks[-1].drafting == Drafting(12, 48, 46, 4, (*steps, 4), (*steps, 2))


def test_without_texts_of_tokens_the_first_has_all_of_the_text() -> None:
    (_, _, second, *_) = [read_chunk(message) for message in messages(VLLM / "draft-comp-stream.txt")]
    assert second.tokens == (Token(263, " six one two"), Token(584), Token(473), Token(835))


def test_texts_that_do_not_add_up_are_not_divided() -> None:
    entries = [{"token": "\ufffd"}, {"token": "\ufffd"}]
    message = {"choices": [{"delta": {"content": "é"}, "logprobs": {"content": entries}, "token_ids": [1, 2]}]}
    assert read_chunk(message).tokens == (Token(1, "é"), Token(2, ""))


def test_the_details_of_sglang_are_read_in_both_spellings() -> None:
    chunks = [read_chunk(message) for message in messages(SGLANG / "chat-stream.txt")]
    assert chunks[2].completion_tokens == 6
    assert chunks[-2].drafting == Drafting(4, 16, 9, 4)
    old = {"spec_verify_ct": 4, "spec_draft_token_num": 16, "spec_accept_token_num": 9}
    assert read_chunk({"choices": [{"meta_info": old}]}).drafting == Drafting(4, 16, 9, 4)


def test_the_counters_of_llama_server_are_read() -> None:
    timings = {"predicted_n": 5, "predicted_ms": 4.2, "draft_n": 4, "draft_n_accepted": 3, "prompt_n": 10, "cache_n": 3}
    chunk = read_chunk(delta("a", timings=timings))
    assert chunk.timings == Timings(5, 4.2, 4, 3, None, 13, 3)
    assert (chunk.prompt_tokens, chunk.cached_tokens) == (13, 3)
    assert read_chunk(delta("a", timings={"predicted_n": 5, "predicted_ms": -1})).timings is None


def test_reasoning_has_two_names() -> None:
    for name in ("reasoning", "reasoning_content"):
        assert read_chunk({"choices": [{"delta": {name: "hm"}}]}).reasoning == "hm"


def test_counts_that_contradict_each_other_are_no_drafting() -> None:
    metrics = {"num_spec_steps": 1, "num_draft_tokens": 4, "num_accepted_draft_tokens": 5}
    assert read_chunk({"metrics": {"speculative_decoding": metrics}}).drafting is None
    metrics |= {"num_accepted_draft_tokens": 4, "per_step_accepted": [4], "per_step_drafted": [4, 4]}
    assert read_chunk({"metrics": {"speculative_decoding": metrics}}).drafting == Drafting(1, 4, 4)
