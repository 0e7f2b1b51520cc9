"""Sessions whose draft model has another vocabulary, on scripted models and tables of pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine import Session, Settings
from specchat_engine.drafters import TranslatedDrafter, Translation
from specchat_engine.models import SessionVocabulary
from specchat_engine.pair import Pair
from specchat_engine.policy.controller import Controller
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import Law, ScriptedModel, random_law
from support.piece_tables import PieceTable

ONE = PieceTable([b"he", b"ll", b" w", b" wo", b"or", b"hell", b"ld", b" a", b"an", b"\xf0\x9f", b"\x98\x80", b"\n\n"])
OTHER = PieceTable([b"el", b" h", b" hel", b"lo", b" wor", b"wor", b"ab", b"and", b"\x9f\x98", b"\xc3\xa9", b"  "])
HEAD = b"assistant\n"


def saying_text(table: SessionVocabulary, text: str, end: int) -> Law:
    """A law that says a text in a vocabulary's tokens, however the text so far was split, and then ends."""
    whole = text.encode()
    tokens = table.tokenize(text, special=False)
    begins = {len(b"".join(map(table.piece, tokens[:place]))): token for place, token in enumerate(tokens)}

    def law(read: tuple[int, ...]) -> NDArray[np.float32]:
        said = b"".join(map(table.piece, read)).rpartition(HEAD)[2]
        row = np.zeros(table.size, np.float32)
        rest = whole[len(said) :]
        if not whole.startswith(said) or not rest:
            row[end] = 30
        elif len(said) in begins:
            row[begins[len(said)]] = 30
        else:
            row[
                max(range(table.size), key=lambda token: len(table.piece(token)) * rest.startswith(table.piece(token)))
            ] = 30
        return row

    return law


def babbling(table: PieceTable, seed: int, *, words: Sequence[bytes] = (), order: int = 2, end: float = -2.0) -> Law:
    """A random law over some pieces of a table: without `words`, a few letters and all pieces longer than a byte."""
    chosen = words or [*(piece for piece in table.pieces if len(piece) > 1), b"h", b"o", b" ", b"\x80", b"\xf0", b"."]
    ids = [table.pieces.index(piece) for piece in chosen]
    law = random_law(len(ids) + 1, seed=seed, order=order)

    def spoken(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.full(table.size, -30.0, np.float32)
        row[[*ids, table.end]] = law(tokens)
        row[table.end] += end
        return row

    return spoken


def translated(
    target: Law,
    draft: Law,
    *,
    one: SessionVocabulary = ONE,
    other: SessionVocabulary = OTHER,
    settings: Settings | None = None,
    seed: int = 1,
    controller: Controller | None = None,
    capacity: int = 4096,
    template: str | None = FALLBACK,
) -> Session:
    """A session that drafts through text."""
    pair = Pair(
        ScriptedModel(target),
        ScriptedModel(draft, capacity=capacity, max_rows=1),
        one,
        ChatTemplate(FALLBACK),
        translation=Translation(one, other, ChatTemplate(template) if template else None),
        controller=controller or Controller(),
    )
    return Session(pair, settings=settings or Settings(k=4, drafter="model", max_tokens=60), seed=seed)


def plainly(session: Session) -> Session:
    """The same session without a draft model."""
    model = session.pair.target
    assert isinstance(model, ScriptedModel)
    pair = Pair(ScriptedModel(model.law), None, session.pair.vocabulary, ChatTemplate(FALLBACK))
    return Session(pair, settings=replace(session.settings, drafter="none"), seed=session.seed)


def drafter_of(session: Session) -> TranslatedDrafter:
    """The session's drafter."""
    drafter = session._planner.drafters["model"]
    assert isinstance(drafter, TranslatedDrafter)
    return drafter


def check_memory(session: Session) -> None:
    """Checks that the draft model's cache is the beginning of the conversation, as after a fresh read in its tokens."""
    drafter, model = drafter_of(session), session.pair.draft
    assert isinstance(model, ScriptedModel)
    assert drafter._held == model.tokens
    assert model.tokens == drafter._wanted[: model.length]
    said = drafter._said
    assert said.tokens == drafter._translation.draft.tokenize(said.text, special=False)
