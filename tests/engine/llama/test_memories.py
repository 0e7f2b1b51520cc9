"""Speculative answers equal plain ones through llama.cpp, whatever the models' memories are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from specchat_engine import Engine, LoadOptions, Message, Round, SamplingParams, Session, Settings
from specchat_engine.analysis.audit import Case, audit
from specchat_engine.errors import DecodeError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.machine import has_gpu
from support.memory_models import ARCHITECTURES, write_memory_model

PROMPT = "a prompt that is longer than any window: " * 2
GREEDY, WARM = SamplingParams(temperature=0), SamplingParams(temperature=0.8)
LENGTH = 32


@dataclass
class Pair:
    """A target with a draft model, and the same target alone."""

    both: Engine
    alone: Engine
    known: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    def plain(self, sampling: SamplingParams, messages: Sequence[Message], turn: int) -> list[int]:
        """The tokens of a plain answer to this transcript, read from the start."""
        key = (sampling, *messages, turn)
        if key not in self.known:
            session = self.alone.session(settings=settings(sampling, k=0), seed=5)
            self.alone._target.clear()
            self.known[key] = tokens(list(session.answer(messages, turn)))
        return self.known[key]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    target = write_memory_model(folder / "target.gguf", request.param)
    draft = write_memory_model(folder / "draft.gguf", request.param, noise=0.1)
    attention = "auto" if has_gpu() else "off"  # with scores kept, logits depend least on the width of a pass
    options = LoadOptions(n_ctx=1024, threads=1, k_max=12, flash_attention=attention)
    with Engine.load(target, draft, options) as both, Engine.load(target, options=options) as alone:
        assert not both.plain_because
        yield Pair(both, alone)


def settings(sampling: SamplingParams, *, k: int, drafter: str = "model") -> Settings:
    return Settings(
        k=k, drafter=drafter if k else "none", sampling=sampling, max_tokens=LENGTH, ngram_min=1, ngram_max=2
    )


def tokens(rounds: Sequence[Round]) -> list[int]:
    """The ids that the rounds emitted."""
    found: list[int] = []
    for event in rounds:
        found += [token.id for token in event.drafted[: event.num_accepted]]
        found += [event.token.id] if event.token.id is not None else []
    return found


def asked(session: Session) -> list[Message]:
    """The transcript that the last answer answered."""
    return [message for message in session.messages if message is not session.messages[-1]]


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "warm"])
@pytest.mark.parametrize("k", [1, 8, 12])
@pytest.mark.parametrize("drafter", ["model", "lookup"])
def test_speculation_changes_no_token_in_any_turn(pair: Pair, drafter: str, k: int, sampling: SamplingParams) -> None:
    """On a GPU a near-tie may fall the other way, since kernels there depend on the number of tokens in a pass."""
    asked_for = settings(sampling, k=k, drafter=drafter)
    if has_gpu():
        cases = [Case("letters", PROMPT, asked_for)]
        found = audit(partial(pair.both.session, None, seed=5), pair.both.memory, pair.both.vocabulary, cases)
        assert found.compared == len(cases)
        assert [difference.reason for difference in found.unexplained] == []
        return
    session = pair.both.session(settings=asked_for, seed=5)
    outcomes = set()
    for turn, prompt in enumerate((PROMPT, "and then?")):
        rounds = list(session.generate(prompt))
        assert tokens(rounds) == pair.plain(sampling, asked(session), turn)
        outcomes |= {token.outcome.value for event in rounds for token in event.drafted}
    if drafter == "model":
        assert {"accepted", "rejected"} <= outcomes, "or nothing was tested"
        assert pair.both.controller.target.seen(1), "plain passes are timed on every memory"


@pytest.mark.parametrize("k", [1, 9])
def test_no_round_reads_the_prompt_again(pair: Pair, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    session = pair.both.session(settings=settings(WARM, k=k), seed=5)
    passes: list[int] = []
    stream = session.generate(PROMPT)
    for _ in range(2):  # behind the first round the draft model reads the prompt
        next(stream)
    for model in (session.pair.target, *session.pair.drafting):
        assert isinstance(model, LlamaContext)
        monkeypatch.setattr(model, "_decode", counting(model._decode, passes))
    list(stream)
    assert 1 <= max(passes) <= 1 + k
    assert pair.both.controller.target.seen(1)


def counting(decode: Callable[..., Any], passes: list[int]) -> Callable[..., Any]:
    """The same function, which writes down how many tokens it is given."""

    def counted(tokens: Sequence[int], rows: int) -> Any:
        passes.append(len(tokens))
        return decode(tokens, rows)

    return counted


def test_an_answer_that_was_left_in_the_middle_leaves_nothing_behind(pair: Pair) -> None:
    session = pair.both.session(settings=settings(WARM, k=6), seed=5)
    for stop in (1, 3, 6):
        stream = session.generate(PROMPT)
        for _ in range(stop):
            next(stream)
        stream.close()
        session.messages = session.messages[:-2]
        rounds = list(session.answer([Message("user", PROMPT)], 0))
        assert tokens(rounds) == pair.plain(WARM, [Message("user", PROMPT)], 0)


def test_a_cancel_ends_the_answer_and_the_next_turn_is_a_fresh_sessions(pair: Pair) -> None:
    session = pair.both.session(settings=settings(WARM, k=6), seed=5)
    for number, _ in enumerate(session.generate(PROMPT)):
        if number == 3:
            session.cancel()
    assert session.end_reason == "cancelled"
    rounds = list(session.generate("go on"))
    assert tokens(rounds) == pair.plain(WARM, asked(session), 1)


def test_an_edit_of_an_earlier_message_answers_as_a_fresh_session(pair: Pair) -> None:
    session = pair.both.session(settings=settings(GREEDY, k=6), seed=5)
    list(session.generate(PROMPT))
    list(session.generate("and then?"))
    for edited in (PROMPT[:-9] + "or not", "quite another beginning", PROMPT):
        messages = [Message("user", edited), *session.messages[1:3]]
        rounds = list(session.answer(messages, 1))
        assert tokens(rounds) == pair.plain(GREEDY, messages, 1)


def test_k_may_change_in_mid_answer(pair: Pair) -> None:
    session = pair.both.session(settings=settings(WARM, k=3), seed=5)
    rounds = []
    for event in session.generate(PROMPT):
        rounds.append(event)
        session.settings = settings(WARM, k=(12, 0, 1, 9, 4)[event.index % 5])
    assert tokens(rounds) == pair.plain(WARM, [Message("user", PROMPT)], 0)


def test_a_drafter_that_fails_in_mid_answer_leaves_the_session_usable(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = pair.both.session(settings=settings(WARM, k=6), seed=5)
    (draft,) = session.pair.drafting
    stream = session.generate(PROMPT)
    next(stream)
    advance, calls = draft.advance, []

    def failing(unread: Sequence[int], rows: int) -> object:
        calls.append(unread)
        if len(calls) == 3:
            raise DecodeError("the draft model failed")
        return advance(unread, rows)

    monkeypatch.setattr(draft, "advance", failing)
    with pytest.raises(DecodeError, match="the draft model failed"):
        list(stream)
    monkeypatch.undo()
    rounds = list(session.answer([Message("user", PROMPT)], 0))
    assert tokens(rounds) == pair.plain(WARM, [Message("user", PROMPT)], 0)
