"""A draft model with another vocabulary drafts through text, and the text stays that of plain decoding."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, SamplingParams, Settings
from specchat_engine.testing import ByteTokenizer, ScriptedModel
from support.controllers import knowing
from support.conversations import ask, letters
from support.two_vocabularies import (
    ONE,
    OTHER,
    PieceTable,
    babbling,
    check_memory,
    plainly,
    saying_text,
    translated,
)

TEXT = "hello world and hello wor😀ld, é and\n\nhell and a  world"
HELLO = Message("user", "hello")
GREEDY = SamplingParams(temperature=0)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 12) | st.just("auto"),
    temperature=st.sampled_from([0.0, 0.8]),
    verifier=st.sampled_from(["coupled", "coupled", "rejection", "block"]),
    like=st.booleans(),
    cancel=st.none() | st.integers(0, 5),
)
def test_the_text_is_that_of_plain_decoding(
    seed: int, k: int | str, temperature: float, verifier: str, like: bool, cancel: int | None
) -> None:
    """Whatever is drafted; under rules that couple nothing at temperature 0, where they are greedy."""
    if verifier != "coupled":
        temperature = 0.0
    chosen = Settings(
        k=k,  # type: ignore[arg-type]
        drafter="model",
        verifier=verifier,
        sampling=SamplingParams(temperature=temperature),
        max_tokens=40,
    )
    target = babbling(ONE, seed)
    draft = saying_text(OTHER, ask(plainly(translated(target, target, settings=chosen, seed=seed))), OTHER.end)
    session = translated(
        target,
        draft if like else babbling(OTHER, seed),
        settings=chosen,
        seed=seed,
        controller=knowing(0.05, 0.05) if k == "auto" else None,
    )
    if cancel is not None:
        for event in session.generate("first"):
            check_memory(session)
            if event.index == cancel:
                session.cancel()
        session.messages = []
    for prompt in ("hello", "and again"):
        plain = plainly(session)
        plain.messages = list(session.messages)
        for event in session.generate(prompt):
            assert len(event.drafted) <= event.k
            check_memory(session)
        assert ask(plain, prompt) == session.text


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_a_draft_model_that_would_write_the_same_text_is_never_rejected(k: int) -> None:
    chosen = Settings(k=k, drafter="model", sampling=GREEDY)
    session = translated(saying_text(ONE, TEXT, ONE.end), saying_text(OTHER, TEXT, OTHER.end), settings=chosen)
    rounds = list(session.generate("say it"))
    assert session.text == TEXT
    assert session.end_reason == "end"
    assert session.stats.alpha == 1
    assert max(len(event.drafted) for event in rounds) == k
    assert {event.source for event in rounds} <= {"translated", "none"}
    assert session.stats.num_rounds <= 1 + len(session.answer_ids) / min(k, 3)
    assert k < 5 or rounds[-1].drafted[-1].id == ONE.end, "the end of the answer is drafted too"


def test_whole_words_of_one_vocabulary_are_letters_of_the_other() -> None:
    """Either way round, with a byte for every token on one side."""
    chosen = Settings(k=4, drafter="model", sampling=GREEDY)
    letterwise = PieceTable()
    for one, other in ((letterwise, OTHER), (OTHER, letterwise)):
        session = translated(
            saying_text(one, TEXT, one.end), saying_text(other, TEXT, other.end), one=one, other=other, settings=chosen
        )
        assert ask(session) == TEXT
        assert session.stats.alpha == 1


@settings(max_examples=40)
@given(st.integers(0, 1000), st.integers(1, 25))
def test_a_branch_begins_with_its_prefix(seed: int, length: int) -> None:
    chosen = Settings(k=4, drafter="model", max_tokens=40)
    session = translated(babbling(ONE, seed), babbling(OTHER, seed), settings=chosen, seed=seed)
    whole = ask(session)
    prefix = session.answer_ids[:length]
    if prefix[-1] not in ONE.ends:
        for _ in session.answer([HELLO], 0, prefix=prefix):
            check_memory(session)
        assert session.text == whole


def test_an_answer_that_follows_a_grammar_stays_the_same() -> None:
    grammar = "abc\nabd\nbadge\nabcabcabd"
    for seed in range(6):
        chosen = Settings(k=4, drafter="model", sampling=SamplingParams(temperature=0.8, grammar=grammar))
        session = translated(
            letters(seed), saying_text(OTHER, "abcabcabd", OTHER.end), one=ByteTokenizer(), settings=chosen, seed=seed
        )
        assert ask(session) == ask(plainly(session))
        assert session.text in grammar.split()
        assert session.stats.num_draft_tokens > 0


def test_a_draft_whose_context_is_full_says_so() -> None:
    chosen = Settings(k=4, drafter="model", sampling=GREEDY, max_tokens=60)
    target, draft = saying_text(ONE, "hello " * 30, ONE.end), saying_text(OTHER, "hello " * 30, OTHER.end)
    session = translated(target, draft, settings=chosen, capacity=50)
    rounds = list(session.generate("say it"))
    assert session.text == ask(plainly(session), "say it")
    assert "the draft's context of 50 tokens is full" in {event.reason for event in rounds}
    assert session.stats.num_accepted_tokens > 0


def test_a_second_turn_reads_only_what_is_new() -> None:
    session = translated(saying_text(ONE, TEXT, ONE.end), saying_text(OTHER, TEXT, OTHER.end))
    ask(session, "hello " * 40)
    model = session.pair.draft
    assert isinstance(model, ScriptedModel)
    model.passes.clear()
    ask(session, "more")
    assert max(model.passes) < 80


def test_a_long_answer_reads_each_word_once() -> None:
    text = " ".join(["hello world and"] * 40)
    chosen = Settings(k=4, drafter="model", sampling=GREEDY)
    session = translated(saying_text(ONE, text, ONE.end), saying_text(OTHER, text, OTHER.end), settings=chosen)
    ask(session)
    model = session.pair.draft
    assert isinstance(model, ScriptedModel)
    assert sum(model.passes[1:]) < 1.6 * len(OTHER.tokenize(text, special=False))


def test_the_controller_learns_what_a_proposed_token_costs() -> None:
    controller = knowing(0.05, 0.05)
    chosen = Settings(k="auto", drafter="hybrid", sampling=GREEDY)
    target, draft = saying_text(ONE, TEXT * 3, ONE.end), saying_text(OTHER, TEXT * 3, OTHER.end)
    session = translated(target, draft, settings=chosen, controller=controller)
    rounds = list(session.generate("write"))
    assert "translated" in {event.source for event in rounds}
    outcomes = [outcome for source, outcome in controller.learned if source == "model" and outcome.drafted]
    assert outcomes
    assert all(len(outcome.confidence) in (0, outcome.drafted) for outcome in outcomes)


def test_settings_turned_in_mid_answer_change_nothing() -> None:
    session = translated(babbling(ONE, 4), babbling(OTHER, 5), seed=4)
    plain = ask(plainly(session))
    changes = (
        {"k": 7},
        {"drafter": "lookup"},
        {"k": 0},
        {"drafter": "model", "k": 2},
        {"drafter": "hybrid", "k": "auto"},
    )
    for event in session.generate("hello"):
        session.settings = replace(session.settings, **changes[event.index % 5])
        check_memory(session)
    assert session.text == plain


def test_a_draft_model_that_is_called_in_mid_answer_holds_nothing_of_another_conversation() -> None:
    session = translated(babbling(ONE, 4, end=-30), babbling(OTHER, 5), seed=4)
    ask(session, "a first conversation")
    session.messages = []
    session.settings = replace(session.settings, k=0)
    for event in session.generate("other"):
        session.settings = replace(session.settings, k=3)
        if event.drafted:
            check_memory(session)
    assert session.stats.num_draft_tokens > 0
