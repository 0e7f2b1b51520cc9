"""Drafters of others: given to `Engine.load`, or installed under the entry point group `specchat.drafters`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Protocol, get_args

from specchat_engine.decoding.drafts import Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.errors import EngineError, SettingError
from specchat_engine.models import SessionVocabulary
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.settings import DRAFTERS, installed_drafters

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class MakeDrafter(Protocol):
    """A class or function that makes a drafter of one's own. Each session makes its own."""

    def __call__(self, vocabulary: SessionVocabulary, /) -> Drafter:
        """The drafter for a target with this vocabulary."""


def with_installed(given: Mapping[str, MakeDrafter]) -> dict[str, MakeDrafter]:
    """The given drafters and the installed ones. Raises SettingError for a given name that no drafter can have."""
    for name in given:
        if not name or name in DRAFTERS:
            raise SettingError(f"a drafter of your own cannot be named {name!r}: specchat uses that name")
    installed = {name: partial(_made_by, point) for name, point in installed_drafters().items()}
    return {**installed, **given}


def _made_by(point: EntryPoint, vocabulary: SessionVocabulary) -> Drafter:
    made: Drafter = point.load()(vocabulary)
    return made


class PluginDrafter(Drafter):
    """Makes a drafter of one's own when it is first needed, checks what it proposes, and names it in its errors.

    The policy learns how long its drafts take and how many of their tokens are accepted, as for any other drafter.
    """

    def __init__(self, name: str, make: MakeDrafter, vocabulary: SessionVocabulary) -> None:
        self.traits = DrafterTraits(name, evidence="nothing", cost="draft")
        self._make = make
        self._vocabulary = vocabulary
        self._made: Drafter | None = None
        self._begun = False

    @property
    def law(self) -> ProposalLaw:
        """The law that it declares."""
        with self._named():
            law = self._drafter.law
        if law not in get_args(ProposalLaw):
            raise self._broken(f"declares the law {law!r}", f"use {', '.join(get_args(ProposalLaw))}")
        return law

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn. The drafter hears of it when it is needed."""
        self._begun = False

    def prospect(self, context: Context) -> Prospect:
        """The whole text is to be read until the turn has begun for it."""
        return Prospect(unread=1 if self._begun else len(context.tokens))

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Lets the drafter read the prompt."""
        with self._named():
            self._drafter.begin(tokens, cancelled)
        self._begun = True

    def propose(self, context: Context, k: int) -> Draft:
        """What the drafter proposes. Raises EngineError for a draft that is none, or that nobody asked for."""
        if not self._begun:
            self.begin(context.tokens, bool)
        with self._named():
            draft = self._drafter.propose(context, k)
            tokens = tuple(index(token) for token in draft.tokens)
        if len(tokens) > k:
            raise self._broken(f"proposed {len(tokens)} tokens", f"propose at most k, which is {k}")
        for token in tokens:
            if not 0 <= token < self._vocabulary.size:
                raise self._broken(f"proposed token {token}", f"this vocabulary has 0 to {self._vocabulary.size - 1}")
        if len(draft.rows) not in (0, len(tokens)):
            raise self._broken(
                f"gave {len(draft.rows)} rows of q for {len(tokens)} tokens", "give one for each, or none"
            )
        return replace(draft, tokens=tokens, source=self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Lets the drafter learn the verdict."""
        with self._named():
            self._drafter.observe(context, draft, verdict)

    @property
    def _drafter(self) -> Drafter:
        if self._made is None:
            self._made = self._make(self._vocabulary)
        return self._made

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Around calls of code that is not ours: whatever it raises becomes one error with the drafter's name."""
        try:
            yield
        except EngineError:
            raise
        except Exception as error:
            raise self._broken(f"failed with {type(error).__name__}: {error}", "mend it") from error

    def _broken(self, what: str, remedy: str) -> EngineError:
        return EngineError(f"the drafter {self.name!r} {what}: {remedy}, or use another drafter")
