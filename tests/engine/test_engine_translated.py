"""Pairs of real files whose vocabularies differ: they load, draft through text, and change no text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from random import Random

import pytest

from builtin_pair.tokenizer import awkward_texts
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Session, Settings
from specchat_engine.analysis.audit import Case, audit
from specchat_engine.drafters.translated_text import Entries, GrowingText
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from support.conversations import ask
from support.memory_models import write_memory_model
from support.other_tokens import OtherTokens, write_other_tokens, write_shuffled_draft
from support.tiny_models import EngineFiles
from support.two_vocabularies import drafter_of

PROMPTS = ("Hello there 😀", "naïve\n\ncode: x = 1")
ONE_THREAD = LoadOptions(n_ctx=1024, threads=1)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> OtherTokens:
    return write_other_tokens(tmp_path_factory.mktemp("others"))


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shuffled_draft(tmp_path_factory.mktemp("shuffled") / "shuffled.gguf")


@pytest.fixture(scope="module", params=["draft", "letters"])
def engine(request: pytest.FixtureRequest, others: OtherTokens) -> Iterator[Engine]:
    with Engine.load(others.target, getattr(others, request.param), ONE_THREAD) as engine:
        yield engine


def check_memory(session: Session) -> None:
    """The draft's memory holds the conversation in its own tokens, as a tokenizer that reads all of it sees them."""
    drafter, memory = drafter_of(session), session.pair.draft
    assert isinstance(memory, LlamaContext)
    assert drafter._held == memory.tokens == drafter._wanted[: memory.length]
    said = drafter._said
    assert said.tokens == memory.model.vocabulary.tokenize(said.text, special=False)


@pytest.mark.parametrize(("temperature", "k"), product([0.0, 0.8], [1, 11]))
def test_the_text_is_that_of_plain_decoding(engine: Engine, temperature: float, k: int) -> None:
    """But where a near-tie falls the other way, since a pass over several tokens computes other last bits."""
    sampling = SamplingParams(temperature=temperature, repeat_penalty=1.3)
    settings = Settings(k=k, drafter="model", max_tokens=60, sampling=sampling)
    session = engine.session(settings=settings, seed=5)
    plain = engine.session(settings=replace(settings, drafter="none"), seed=5)
    for prompt in PROMPTS:
        for _ in session.generate(prompt):
            check_memory(session)
        assert temperature > 0 or session.text == ask(plain, prompt)
    assert session.stats.num_draft_tokens > 0
    assert len(set(session.text)) > 8
    cases = [Case("babble", prompt, settings) for prompt in PROMPTS]
    found = audit(partial(engine.session, None, seed=5), engine.memory, engine.vocabulary, cases)
    assert found.compared == len(cases)
    assert [difference.reason for difference in found.unexplained] == []
    assert temperature > 0 or not found.findings


def test_a_draft_with_a_state_goes_back_to_the_words_that_stay(others: OtherTokens, tmp_path: Path) -> None:
    settings = Settings(k=4, drafter="model", max_tokens=60, sampling=SamplingParams(repeat_penalty=1.3))
    with Engine.load(others.target, write_memory_model(tmp_path / "mamba2.gguf", "mamba2"), ONE_THREAD) as engine:
        session = engine.session(settings=settings, seed=5)
        draft = session.pair.draft
        assert draft is not None
        assert not draft.goes_back_freely
        for _ in session.generate("Hello " * 30):
            check_memory(session)
        assert session.stats.num_draft_tokens > 0
        assert session.text == ask(engine.session(settings=replace(settings, drafter="none"), seed=5), "Hello " * 30)


@pytest.mark.parametrize("verifier", ["rejection", "block"])
def test_rules_that_weigh_q_take_a_drafted_text_as_a_point_mass(engine: Engine, verifier: str) -> None:
    settings = Settings(k=4, drafter="model", verifier=verifier, max_tokens=50)
    session = engine.session(settings=settings, seed=3)
    first = ask(session)
    assert session.stats.num_draft_tokens > 0
    assert ask(engine.session(settings=settings, seed=3)) == first


def test_a_cancel_a_branch_and_another_session_leave_the_memory_right(engine: Engine) -> None:
    settings = Settings(k=5, drafter="model", max_tokens=50)
    session, other = (engine.session(settings=settings, seed=seed) for seed in (6, 7))
    whole = ask(session)
    for event in session.answer(session.messages[:1], 0, prefix=session.answer_ids[:7]):
        check_memory(session)
        if event.index == 2:
            session.cancel()
    ask(other, "something else")
    assert [*session.answer(session.messages[:1], 0, prefix=session.answer_ids[:7])]
    check_memory(session)
    assert session.text == whole


def test_the_target_alone_is_looked_at_more_closely(engine: Engine) -> None:
    """Rows of the draft speak of other tokens."""
    session = engine.session(settings=Settings(k=3, drafter="model", max_tokens=20), seed=2)
    whole = ask(session)
    found = session.inspect(5)
    assert all(token.q is None and token.raw_q is None for token in found.tokens)
    session.messages = []
    assert ask(session) == whole


def test_a_draft_that_writes_the_same_in_other_ids_is_accepted_as_often(shuffled: Path) -> None:
    target, draft = builtin_pair()
    settings = Settings(k=4, drafter="model", max_tokens=60, sampling=SamplingParams(temperature=0))
    accepted = []
    for path in (draft, shuffled):
        with Engine.load(target, path, ONE_THREAD) as engine:
            assert bool(engine.translated_because) == (path == shuffled)
            session = engine.session(settings=settings, seed=1)
            text = ask(session, "What happens to the drafted tokens behind a rejected one?")
            accepted.append((text, session.stats.alpha or 0.0))
    assert accepted[0][0] == accepted[1][0]
    assert accepted[1][1] > 0.6
    assert accepted[1][1] > accepted[0][1] - 0.15


def test_the_tokenizer_of_a_draft_is_loaded_only_where_it_goes_through_text(
    others: OtherTokens, files: EngineFiles
) -> None:
    for target, draft, kinds in (
        (others.target, others.draft, {"byte-level BPE", "SentencePiece"}),
        (files.target, files.draft, {"none"}),
    ):
        with Engine.load(target, draft, ONE_THREAD) as engine:
            draft = engine.session().pair.draft
            assert isinstance(draft, LlamaContext)
            assert draft.model.vocabulary.type in kinds
            assert draft.model.vocabulary.size == draft.model.header.n_vocab


def test_measuring_leaves_the_draft_usable(others: OtherTokens) -> None:
    with Engine.load(others.target, others.draft, ONE_THREAD) as engine:
        settings = Settings(k=4, drafter="model", max_tokens=30)
        first = ask(engine.session(settings=settings, seed=1))
        assert len([*engine.measuring()]) > 2
        auto = engine.session(settings=replace(settings, k="auto", drafter="hybrid"), seed=1)
        assert ask(auto) == first


def test_real_tokenizers_agree_with_what_is_kept_up(others: OtherTokens) -> None:
    """Awkward texts in awkward parts: the tokens of the whole, and certain ones that stay whatever follows."""
    random = Random(11)
    for path in others:
        model = LlamaModel(path)
        vocabulary, entries = model.vocabulary, Entries(model.vocabulary)
        for text in awkward_texts(random, 60):
            growing = GrowingText(vocabulary)
            cuts = sorted(random.choices(range(len(text) + 1), k=6))
            for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
                growing.extend(text[start:end])
                whole = vocabulary.tokenize(text, special=False)
                begun = growing.tokens
                count = entries.certain(growing.text, begun)
                assert whole[:count] == begun[:count]
            assert growing.tokens == whole
        model.close()
