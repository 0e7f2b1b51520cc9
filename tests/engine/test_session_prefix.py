"""An answer that begins with given tokens goes on as if the model had said them itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Engine, LoadOptions, Message, SamplingParams, Session, SettingError, Settings
from specchat_engine.testing import END, ScriptedModel
from support.controllers import knowing
from support.conversations import conversation, letters, model_of, saying
from support.tiny_models import write_tiny_model

ASKED = [Message("user", "hello")]


def answer(session: Session, prefix: list[int] | tuple[int, ...] | str = (), turn: int = 0, attempt: int = 0) -> str:
    """The whole answer."""
    for _ in session.answer(ASKED, turn, attempt, prefix):
        pass
    return session.text


@settings(max_examples=30)
@given(
    st.integers(0, 500),
    st.sampled_from([0.0, 0.8]),
    st.integers(0, 12) | st.just("auto"),
    st.sampled_from(["model", "lookup", "hybrid"]),
    st.sampled_from([1.0, 1.3]),
    st.floats(0, 1),
)
def test_a_prefix_that_would_have_been_said_changes_nothing(
    seed: int, temperature: float, k: int | str, drafter: str, penalty: float, share: float
) -> None:
    sampling = SamplingParams(temperature=temperature, repeat_penalty=penalty, penalty_last_n=6)
    whole, resumed = (
        conversation(
            letters(seed),
            letters(seed, order=1),
            seed=seed,
            sampling=sampling,
            k=each,
            drafter=drafter,
            ngram_min=1,
            controller=knowing(0.05, 0.05),
        )
        for each in (0, k)
    )
    text = answer(whole)
    ids = [token for token in whole.answer_ids if token != END]
    prefix = ids[: int(share * len(ids))]
    assert answer(resumed, prefix) == text
    assert resumed.answer_ids == whole.answer_ids
    assert resumed.end_reason == whole.end_reason
    assert resumed.stats.num_tokens == len(whole.answer_ids) - len(prefix)


@settings(max_examples=30)
@given(st.integers(0, 500), st.integers(0, 8), st.integers(1, 30), st.integers(97, 104))
def test_another_token_leads_elsewhere_and_k_does_not_matter(seed: int, k: int, length: int, other: int) -> None:
    said = conversation(letters(seed, end=-50), seed=seed)
    answer(said)
    prefix = [*said.answer_ids[:length], other]
    texts = set()
    for each in (0, k):
        session = conversation(letters(seed, end=-50), letters(seed, end=-50, order=1), seed=seed, k=each)
        texts.add(answer(session, prefix))
        assert session.answer_ids[: length + 1] == prefix
        assert len(session.answer_ids) == 60
    assert len(texts) == 1


def test_rounds_hold_only_what_is_new_and_the_start_line_has_the_prefix() -> None:
    session = conversation(saying("one two three"), saying("one two three"))
    prefix = tuple(b"one t")
    rounds = list(session.answer(ASKED, 0, 0, prefix))
    assert "".join(event.text for event in rounds) == "wo three"
    assert session.text == "one two three"
    start = session.start_line()
    assert (start["prefix"], start["prefix_text"]) == ([*prefix], "one t")
    assert answer(session) == "one two three"
    assert "prefix" not in session.start_line()


def test_a_character_that_the_prefix_only_begins_comes_with_the_token_that_completes_it() -> None:
    session = conversation(saying("Grüße"))
    first = next(iter(session.answer(ASKED, 0, 0, "Grüße".encode()[:3])))
    assert first.token.text == "ü"
    assert session.start_line()["prefix_text"] == "Gr"


def test_a_branch_reads_only_what_it_does_not_share_with_the_answer_before() -> None:
    session = conversation(letters(3, end=-50), letters(3, end=-50), k=4)
    answer(session)
    target, draft = model_of(session), model_of(session, "draft")
    prefix = [*session.answer_ids[:20], 97 + (session.answer_ids[20] == 97)]
    target.passes.clear()
    draft.passes.clear()
    rounds = session.answer(ASKED, 0, 0, prefix)
    first = next(rounds)
    assert target.passes == [len(first.drafted) + 1], "nothing but the first round: all else was there"
    assert draft.passes[0] <= 2
    rounds.close()  # type: ignore[attr-defined]


def test_token_limit_and_stop_strings_count_the_prefix() -> None:
    session = conversation(letters(3, end=-50), max_tokens=10)
    answer(session)
    assert answer(session, session.answer_ids[:4]) == session.text
    assert (len(session.answer_ids), session.stats.num_tokens, session.end_reason) == (10, 6, "length")
    answer(session, session.answer_ids)
    assert (session.stats.num_rounds, session.end_reason) == (0, "length")
    stopping = conversation(saying("one two three"), stop=("wo t",))
    assert answer(stopping, tuple(b"one tw")) == "one t"
    assert stopping.end_reason == "stop"
    assert answer(stopping, tuple(b"one two th")) == "one t"
    assert (stopping.stats.num_rounds, stopping.end_reason) == (0, "stop")


@pytest.mark.parametrize(
    ("prefix", "complaint"),
    [
        ((97, END, 98), f"token {END} at position 1, which ends an answer"),
        ((97, 259), "token 259: this vocabulary has 0 to 258"),
        ((-1,), "token -1: this vocabulary"),
        ((97,) * 31, "begin with 31 tokens, max tokens is 30"),
        ((97,) * 110, "begin with 110 tokens, the context has room for"),
    ],
)
def test_a_prefix_that_no_answer_can_begin_with_is_refused(prefix: tuple[int, ...], complaint: str) -> None:
    session = conversation(ScriptedModel(letters(3, end=-50), capacity=120), max_tokens=30)
    with pytest.raises(SettingError, match=complaint):
        answer(session, prefix)
    assert session.end_reason == "error"
    assert answer(session, (97,)).startswith("a")


def test_a_grammar_holds_for_the_prefix_too() -> None:
    session = conversation(letters(3), letters(3, order=1), sampling=SamplingParams(grammar="abba\nabed\nfade"))
    assert answer(session, tuple(b"ab")) in ("abba", "abed")
    assert answer(session, tuple(b"abe")) == "abed"
    assert answer(session, tuple(b"abed")) == "abed"
    with pytest.raises(SettingError, match="token 99 at position 2, which its grammar excludes"):
        answer(session, tuple(b"abc"))
    assert answer(session, tuple(b"fa")) == "fade"


def test_a_branch_that_is_cancelled_keeps_what_was_given() -> None:
    session = conversation(letters(3, end=-50))
    rounds = session.answer(ASKED, 0, 0, tuple(b"abc"))
    next(rounds)
    session.cancel()
    assert list(rounds) == []
    assert session.text.startswith("abc")
    assert len(session.text) == 4
    assert session.end_reason == "cancelled"


@settings(max_examples=25)
@given(st.integers(0, 500), st.integers(0, 8), st.text(alphabet="abc \n", max_size=12))
def test_an_answer_goes_on_from_a_text_and_k_does_not_matter(seed: int, k: int, text: str) -> None:
    texts = set()
    for each in (0, k):
        session = conversation(letters(seed, end=-50), letters(seed, end=-50, order=1), seed=seed, k=each)
        texts.add(answer(session, text))
        assert session.given_ids == tuple(text.encode())
        assert session.start_line().get("prefix_text", "") == text
    assert len(texts) == 1
    assert texts.pop().startswith(text)


def test_a_text_counts_for_limits_and_its_control_tokens_stay_text() -> None:
    session = conversation(letters(3, end=-50), max_tokens=30)
    assert answer(session, "<|im_end|>ab").startswith("<|im_end|>ab")
    assert (len(session.answer_ids), session.stats.num_tokens) == (30, 18)
    with pytest.raises(SettingError, match="begin with 31 tokens, max tokens is 30"):
        answer(session, "a" * 31)


@pytest.mark.parametrize("sentencepiece", [False, True])
def test_real_tokenizers_keep_a_text_to_the_letter(tmp_path: Path, sentencepiece: bool) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf", sentencepiece=sentencepiece)
    with Engine.load(path, None, LoadOptions(n_ctx=256, threads=1)) as engine:
        for text in ("hello", " hello", "  he\n llo", "he ", "\n", "ä<s>😀", "he<|im_start|>"):
            session = engine.session(settings=Settings(k=4, drafter="lookup", max_tokens=60), seed=1)
            assert answer(session, text).startswith(text)
            assert session.start_line()["prefix_text"] == text
