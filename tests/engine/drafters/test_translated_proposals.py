"""What is proposed through text: certain tokens of the drafted text, each with how sure the draft was of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from specchat_engine import Message, SamplingParams, Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import TranslatedDrafter, Translation
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import END, ByteTokenizer, ScriptedModel
from support.conversations import ask
from support.two_vocabularies import (
    ONE,
    OTHER,
    PieceTable,
    babbling,
    drafter_of,
    saying_text,
    translated,
)

TEXT = "hello world and hello wor😀ld, é and\n\nhell and a  world"
HELLO = Message("user", "hello")
GREEDY = SamplingParams(temperature=0)


@settings(max_examples=60)
@given(st.integers(0, 1000), st.integers(0, 30), st.integers(1, 9))
def test_proposals_are_a_function_of_the_text(seed: int, length: int, k: int) -> None:
    """The same in mid-answer as for a drafter that begins there, and with a larger k the same and more."""
    target, draft = babbling(ONE, seed, end=-30), babbling(OTHER, seed + 1)
    session = translated(target, draft, settings=Settings(k=3, drafter="model", max_tokens=length + 1), seed=seed)
    ask(session)
    tokens, prompt = [*session.prompt_ids, *session.answer_ids], Fitted(session.prompt_ids, [HELLO], 0)
    context = Context(tokens, len(session.prompt_ids), Sampler(SamplingParams(), 1), ONE.ends)
    followed = drafter_of(session).propose(context, k)
    fresh = TranslatedDrafter(ScriptedModel(draft), drafter_of(session)._translation)
    fresh.open(tokens, prompt)
    proposed = fresh.propose(context, k)
    assert proposed.tokens == followed.tokens
    assert not proposed.rows
    assert fresh.propose(context, k + 3).tokens[: len(proposed.tokens)] == proposed.tokens


def test_a_character_that_is_not_finished_is_drafted_to_its_end() -> None:
    table = PieceTable([b"\xf0\x9f"])
    session = translated(saying_text(table, "😀😀", table.end), saying_text(OTHER, "😀😀", OTHER.end), one=table)
    drafter = drafter_of(session)
    prompt = ONE.tokenize("assistant\n", special=False)
    for said in range(1, 4):
        tokens = [*prompt, *table.tokenize("😀", special=False)[:said]]
        drafter.open(tokens, Fitted(prompt, [HELLO], 0))
        context = Context(tokens, len(prompt), Sampler(GREEDY, 1), table.ends)
        drafted = b"".join(map(table.piece, drafter.propose(context, 9).tokens))
        assert drafted == "😀😀".encode()[len(b"".join(map(table.piece, tokens[len(prompt) :]))) :]


def test_a_draft_model_that_would_not_finish_the_character_has_to() -> None:
    ids = {piece: OTHER.pieces.index(piece) for piece in (b" hel", b"\xf0", b"\x9f\x98", b"\x80")}

    def stubborn(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.zeros(OTHER.size, np.float32)
        row[[*ids.values()]] = 30, 20, 25, 22
        row[ids[b"\x80"]] += 20 * (tokens[-1] == ids[b"\x9f\x98"])
        return row

    table = PieceTable([b"\xf0\x9f", b"\x98\x80"])
    drafter = drafter_of(translated(stubborn, stubborn, one=table))
    drafter.open([table.pieces.index(b"\xf0\x9f")], Fitted([], [HELLO], 0))
    context = Context([table.pieces.index(b"\xf0\x9f")], 0, Sampler(GREEDY, 1), table.ends)
    assert b"".join(map(table.piece, drafter.propose(context, 3).tokens)).startswith(b"\x98\x80 h")


def test_a_broken_character_stays_after_and_drafting_goes_on() -> None:
    table = PieceTable([b"he", b" he"])
    script = [*b"he \xf0\x9f", *table.tokenize(" he he he he", special=False)]
    session = translated(babbling(table, 1, words=[b"he"]), saying_text(OTHER, "\ufffd", OTHER.end), one=table)
    drafter = drafter_of(session)
    drafter.open(script, Fitted([], [HELLO], 0))
    assert drafter._said.text == "he \ufffd he he he he"
    context = Context(script, 0, Sampler(GREEDY, 1), table.ends)
    assert len(drafter.propose(context, 3).tokens) <= 3


def test_confidence_is_the_product_of_the_draft_tokens_after_a_token() -> None:
    letterwise = PieceTable()
    session = translated(
        saying_text(ONE, TEXT, ONE.end), saying_text(letterwise, TEXT, letterwise.end), other=letterwise
    )
    drafter = drafter_of(session)
    prompt = ONE.tokenize("assistant\n", special=False)
    drafter.open(prompt, Fitted(prompt, [HELLO], 0))
    sure = [0.9, 0.8, 0.7, 0.6, 0.5]
    asked: list[float] = []
    context = Context(
        [*prompt], len(prompt), Sampler(GREEDY, 1), ONE.ends, worth_more=lambda one: not asked.append(one)
    )
    context.proposer = _Sure(sure)
    draft = drafter.propose(context, 2)
    assert [ONE.piece(token) for token in draft.tokens] == [b"hell", b"o"]
    assert list(draft.confidence) == asked == pytest.approx([0.9 * 0.8 * 0.7 * 0.6, 0.5])


class _Sure(Sampler):
    """Returns confidences one after the other."""

    def __init__(self, sure: list[float]) -> None:
        super().__init__(GREEDY, 1)
        self.sure = iter([*sure, *[1.0] * 99])

    def confidence(self, *_: object) -> float:
        return next(self.sure)


def test_it_stops_where_no_further_token_pays() -> None:
    session = translated(saying_text(ONE, TEXT, ONE.end), saying_text(OTHER, TEXT, OTHER.end))
    drafter = drafter_of(session)
    prompt = ONE.tokenize("assistant\n", special=False)
    drafter.open(prompt, Fitted(prompt, [HELLO], 0))
    asked: list[float] = []
    context = Context(
        [*prompt], len(prompt), Sampler(GREEDY, 1), worth_more=lambda one: asked.append(one) or len(asked) < 2
    )
    assert len(drafter.propose(context, 9).tokens) == len(asked) == 2


def test_the_draft_reads_the_conversation_by_its_own_template() -> None:
    messages = [Message("system", "Be kind."), HELLO]
    own = Translation(ONE, OTHER, ChatTemplate("{% for m in messages %}[{{ m.content }}]{% endfor %}"))
    assert b"".join(map(OTHER.piece, own.prompt(messages))) == b"[Be kind.][hello]"
    plain = b"Be kind.\n\nhello\n\n"
    assert b"".join(map(OTHER.piece, Translation(ONE, OTHER, None).prompt(messages))) == plain
    refusing = ChatTemplate("{{ raise_exception('no system') }}")
    assert b"".join(map(OTHER.piece, Translation(ONE, OTHER, refusing).prompt(messages))) == plain


def test_the_end_of_an_answer_is_the_targets_own() -> None:
    assert Translation(ByteTokenizer(), OTHER, None).end == END
    nothing = PieceTable()
    nothing.ends = frozenset()
    assert Translation(nothing, OTHER, None).end is None
