"""Sessions whose draft model has another vocabulary, on scripted models and tables of pieces."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from specchat_engine import Session, Settings
from specchat_engine.drafters import DraftModel, TranslatedDrafter, Translation
from specchat_engine.errors import SettingError
from specchat_engine.models import SessionVocabulary
from specchat_engine.pair import Pair
from specchat_engine.policy.controller import Controller
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import Choices, Law, ScriptedModel, random_law

MARKS = ("<|im_start|>", "<|im_end|>")
_WORDS = re.compile(rb"\s*[\r\n]+| ?[^\W\d]+|\d| ?[^\s\w]+|\s+(?!\S)|\s+|.", re.DOTALL)


class PieceTable:
    """The 256 bytes, then these pieces, then `<|im_start|>` and `<|im_end|>`, which ends an answer.

    Neighbours that form an earlier piece of the table are merged first; with `words`, only within words.
    """

    adds_bos = False
    special_texts = MARKS

    def __init__(self, pieces: Sequence[bytes] = (), *, words: bool = True) -> None:
        self.pieces = [*(bytes((value,)) for value in range(256)), *pieces, b"", b""]
        self.size = len(self.pieces)
        self.start, self.end = self.size - 2, self.size - 1
        self.ends = frozenset({self.end})
        self.special = {"bos": -1, "eos": self.end, "eot": -1}
        self.tokenized = 0
        self._ids = {piece: token for token, piece in reversed([*enumerate(self.pieces)]) if piece}
        self._words = words

    def piece(self, token: int) -> bytes:
        """The bytes of a token; empty for a control token."""
        return self.pieces[token]

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text. With `special`, control tokens in the text are recognised."""
        self.tokenized += len(text)
        if special:
            for mark, token in zip(MARKS, (self.start, self.end), strict=True):
                before, found, after = text.partition(mark)
                if found:
                    return [*self.tokenize(before, special=True), token, *self.tokenize(after, special=True)]
        data = text.encode()
        words = _WORDS.findall(data) if self._words else [data]
        assert b"".join(words) == data
        return [token for word in words for token in self._joined(word)]

    def compile_grammar(self, text: str, shown: Collection[int] = ()) -> Choices:
        """Raises: grammars are not supported here."""
        raise SettingError("a table of pieces does not support grammars")

    def _joined(self, word: bytes) -> list[int]:
        parts = [bytes((value,)) for value in word]
        while True:
            ranks = [self._ids.get(one + two, self.size) for one, two in pairwise(parts)]
            best = min(ranks, default=self.size)
            if best == self.size:
                return [self._ids[part] for part in parts]
            place = ranks.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]


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
    translation = Translation(one, other, ChatTemplate(template) if template else None)
    pair = Pair(
        ScriptedModel(target),
        one,
        ChatTemplate(FALLBACK),
        {"model": DraftModel(ScriptedModel(draft, capacity=capacity, max_rows=1), translation)},
        controller=controller or Controller(),
    )
    return Session(pair, settings=settings or Settings(k=4, drafter="model", max_tokens=60), seed=seed)


def plainly(session: Session) -> Session:
    """The same session without a draft model."""
    model = session.pair.target
    assert isinstance(model, ScriptedModel)
    pair = Pair(ScriptedModel(model.law), session.pair.vocabulary, ChatTemplate(FALLBACK))
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
