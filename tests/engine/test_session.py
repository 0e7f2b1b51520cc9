"""A conversation on scripted models: what a user of the library sees, turn by turn."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import ContextOverflowError, Message, Outcome, SamplingParams, Session, Settings, TokenKind
from specchat_engine.pair import Pair
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import ByteTokenizer, ScriptedModel
from support.controllers import knowing
from support.conversations import GREEDY, ask, conversation, letters, model_of, read_by_a_fresh_session, saying

LAW = letters(3)


def test_an_answer_is_kept_in_the_transcript() -> None:
    session = conversation(saying("Hello!"), system="Be kind.")
    assert ask(session) == "Hello!"
    assert session.end_reason == "end"
    assert session.messages == [
        Message("system", "Be kind."),
        Message("user", "hello"),
        Message("assistant", "Hello!"),
    ]


@settings(max_examples=25)
@given(
    st.integers(0, 500),
    st.sampled_from([0.0, 0.8, 1.5]),
    st.sampled_from(["hybrid", "model", "lookup"]),
    st.integers(1, 12) | st.just("auto"),
    st.sampled_from([1.0, 1.2]),
)
def test_speculation_never_changes_the_text(
    seed: int, temperature: float, drafter: str, k: int | str, penalty: float
) -> None:
    sampling = SamplingParams(temperature=temperature, repeat_penalty=penalty)
    plain = conversation(letters(seed), seed=seed, sampling=sampling)
    drafted = conversation(
        letters(seed), letters(seed, order=1), seed=seed, sampling=sampling, drafter=drafter, k=k, ngram_min=1
    )
    for prompt in ("hello", "and more"):
        assert ask(drafted, prompt) == ask(plain, prompt)
        assert drafted.end_reason == plain.end_reason


def test_every_turn_and_attempt_draws_anew_and_a_seed_repeats_them() -> None:
    asked = [Message("user", "hello")]
    texts = []
    for _ in range(2):
        session = conversation(letters(3, end=-50), seed=9)
        for turn, attempt in ((0, 0), (0, 1), (1, 0)):
            list(session.answer(asked, turn, attempt))
            texts.append(session.text)
    assert texts[:3] == texts[3:]
    assert len(set(texts)) == 3


def test_a_session_without_a_seed_chooses_one_and_says_it() -> None:
    first, second = (conversation(LAW, seed=None) for _ in range(2))
    assert first.seed != second.seed
    assert first.start_line()["seed"] == first.seed


def test_the_second_turn_reads_only_what_is_new() -> None:
    session = conversation(saying("First answer.", again="Second."), saying("First answer."))
    ask(session)
    target, draft = model_of(session), model_of(session, "draft")
    known, drafted = len(target.tokens), len(draft.tokens)
    target.passes.clear()
    draft.passes.clear()
    rounds = list(session.generate("again"))
    new = session.stats.prompt_tokens - 1 - known
    assert session.stats.cached_tokens == known
    assert target.passes[0] == new < 40
    assert target.passes[1 : len(rounds) + 1] == [len(event.drafted) + 1 for event in rounds]
    assert draft.passes[0] == session.stats.prompt_tokens - 1 - drafted < 40
    assert session.text == "Second."


@pytest.mark.parametrize("drafter", ["model", "lookup"])
def test_an_end_inside_a_draft_leaves_the_next_turn_as_a_fresh_session_has_it(drafter: str) -> None:
    law = saying("ab ab ab ab.", again="Second.")
    session = conversation(law, law, k=8, drafter=drafter, sampling=GREEDY, ngram_min=1)
    rounds = list(session.generate("ab ab ab ab."))
    assert rounds[-1].token.kind is TokenKind.NONE
    assert rounds[-1].token.text == ""
    assert ask(session, "more") == "Second."
    assert model_of(session).tokens == read_by_a_fresh_session(session)


def test_a_stop_string_ends_the_answer_and_is_cut_off() -> None:
    session = conversation(saying("one two three"), saying("one two three"), stop=("wo t",))
    rounds = list(session.generate("count"))
    assert (session.text, session.end_reason) == ("one t", "stop")
    assert "".join(event.text for event in rounds).startswith("one two t")
    discarded = [token for token in rounds[-1].drafted if token.outcome is Outcome.DISCARDED]
    assert len(rounds[-1].drafted) == rounds[-1].num_accepted + len(discarded)


def test_the_token_limit_is_exact_with_any_k() -> None:
    for k in (0, 1, 3, 8):
        session = conversation(letters(3, end=-50), letters(3, end=-50), k=k, max_tokens=10)
        rounds = list(session.generate("hello"))
        assert (sum(event.num_emitted for event in rounds), session.end_reason) == (10, "length")
        assert rounds[-1].token.kind in (TokenKind.BONUS, TokenKind.PLAIN), "nothing is drafted that nobody wants"


def test_a_full_context_ends_the_answer_with_its_own_reason() -> None:
    target = ScriptedModel(letters(3, end=-50), capacity=80)
    session = conversation(target, letters(3, end=-50), max_tokens=0)
    ask(session)
    assert session.end_reason == "context"
    assert session.stats.prompt_tokens + session.stats.num_tokens == 80


def test_the_oldest_turns_are_dropped_with_a_notice_and_the_answer_is_a_fresh_sessions() -> None:
    target = ScriptedModel(saying("Fine, thank you."), capacity=200)
    session = conversation(target, saying("Fine, thank you."), system="S", max_tokens=20)
    notices = []
    for turn in range(5):
        assert ask(session, f"question {turn} {'x' * 20}") == "Fine, thank you."
        notices += session.notices
    assert len(notices) == 1, "it is said when the first turn is dropped, and not after every answer"
    assert "to fit the context of 200 tokens" in notices[0]
    assert len(session.messages) == 11, "the conversation itself loses nothing"


def test_a_message_longer_than_the_context_is_refused_and_the_session_goes_on() -> None:
    session = conversation(ScriptedModel(saying("Yes."), capacity=100), saying("Yes."))
    with pytest.raises(ContextOverflowError, match="the context holds 100"):
        ask(session, "x" * 200)
    assert (session.messages, session.end_reason) == ([], "error")
    assert ask(session, "short") == "Yes."


def test_the_trace_lines_are_json_and_complete() -> None:
    session = conversation(
        saying("Hi"), saying("Hi"), system="S", stop=("zzz",), about=lambda: {"target": {"name": "t"}}
    )
    rounds = list(session.generate("hello"))
    start = json.loads(json.dumps(session.start_line()))
    about = "type schema target draft drafter verifier lossless params"
    assert " ".join(start) == f"{about} seed turn prompt_tokens messages versions machine"
    assert start["messages"] == [{"role": "system", "content": "S"}, {"role": "user", "content": "hello"}]
    assert start["params"]["k"] == 4
    assert start["params"]["temperature"] == 0.8
    assert (start["turn"], start["prompt_tokens"]) == (0, session.stats.prompt_tokens)
    end = json.loads(json.dumps(session.end_line()))
    assert (end["type"], end["reason"], end["text"], end["stats"]["num_rounds"]) == ("end", "end", "Hi", len(rounds))


def test_an_answer_without_text_is_not_kept() -> None:
    session = conversation(saying(""))
    assert ask(session) == ""
    assert (session.end_reason, session.messages) == ("end", [])


def test_default_settings_need_no_draft_model() -> None:
    target = ScriptedModel(saying("ababababab"))
    session = Session(Pair(target, ByteTokenizer(), ChatTemplate(FALLBACK), controller=knowing(0.01, 0.01)))
    assert session.settings == Settings()
    assert {event.source for event in session.generate("x") if event.drafted} == {"lookup"}


def test_reading_ahead_counts_as_an_answer_while_it_lasts() -> None:
    """Else its memory would be taken for an idle one."""
    session, answering, seen = conversation(saying("Hi")), [], []

    @contextmanager
    def entered() -> Iterator[None]:
        answering.append(1)
        yield
        answering.pop()

    session.pair.answering = entered
    session.prepare([Message("user", "what is being writ")], lambda: bool(seen.append(len(answering))))
    assert set(seen) == {1}
    assert not answering


def test_text_that_was_read_ahead_is_not_read_again() -> None:
    session = conversation(LAW, letters(3, order=1))
    target, draft = model_of(session), model_of(session, "draft")
    session.prepare([Message("user", "what is being writ")], lambda: False)
    assert sum(target.passes) > 20
    assert sum(draft.passes) > 20
    text = ask(conversation(LAW, letters(3, order=1)), "what is being written")
    for model in (target, draft):
        model.passes.clear()
    assert ask(session, "what is being written") == text
    assert target.passes[0] < 25, "the end of the message and of the template"


def test_reading_ahead_stops_on_request_without_an_error() -> None:
    session = conversation(ScriptedModel(LAW, capacity=300))
    target = model_of(session)
    session.prepare([Message("user", "x" * 200)], lambda: len(target.passes) == 2)
    assert len(target.passes) == 2
    session.prepare([Message("user", "x" * 5000)], lambda: False)
    assert len(target.passes) == 2, "no prompt can be made of it"
    target.goes_back_freely = False
    session.prepare([Message("user", "y" * 200)], lambda: False)
    assert len(target.passes) == 2


def test_the_draft_model_never_delays_the_first_token() -> None:
    session = conversation(letters(3, end=-50), letters(3, end=-50))
    draft = model_of(session, "draft")
    events = session.generate("x" * 300)
    first = next(events)
    assert (first.token.kind, draft.passes) == (TokenKind.PLAIN, [])
    assert first.reason == "the drafter reads the prompt after the first token"
    assert next(events).source == "model"
    assert sum(draft.passes) > 300
    assert session.stats.draft_prompt_ms > 0
    assert next(iter(session.generate("y" * 10))).source == "model", "little is left to be read"


@pytest.mark.parametrize(("k", "drafter"), [(0, "none"), (4, "model"), ("auto", "hybrid")])
@pytest.mark.parametrize("whole", [True, False])
def test_a_session_without_references_is_freed_at_once(k: int | str, drafter: str, whole: bool) -> None:
    """An index of all that was said is part of it: no circle of references may keep it until the collector comes."""
    session = conversation(letters(3, end=-50), letters(3, end=-50, order=1), k=k, drafter=drafter)
    ask(session)
    rounds = session.generate("more")
    for _ in rounds if whole else range(3):
        next(rounds, None)
    held = ref(session)
    gc.collect()
    gc.disable()
    try:
        del session, rounds
        assert held() is None
    finally:
        gc.enable()
