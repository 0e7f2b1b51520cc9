"""A target, maybe with a draft model, and what their sessions share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.decoding.drafts import Drafter
from specchat_engine.drafters import (
    DraftModel,
    HeadDrafter,
    MakeDrafter,
    PluginDrafter,
    PromptLookupDrafter,
    StoreDrafter,
    Stores,
    unaided,
)
from specchat_engine.models import ALONE, SeeingModel, SessionModel, SessionVocabulary, SharedPass, TargetModel
from specchat_engine.policy.controller import Controller
from specchat_engine.prompt.images import ImageRun, ReadImage
from specchat_engine.prompt.template import ChatTemplate
from specchat_engine.threads.cpu_contention import Passes


@dataclass(slots=True)
class Pair:
    """The models and what is known about them. `vocabulary`, `template` and `answer_format` are the target's.

    `drafts` are the draft models by the names of their drafters; they may change between two answers. `head` drafts
    from the target's hidden states, and `stores` are texts that may be drafted from. `plugins` makes drafters of
    others, by name. `controller` knows what passes cost and what is accepted. `plain_because` says why this target
    cannot speculate, empty if it can. `about()` goes into the start line of a trace. `passed` gets the times of the
    target's passes, and may add to the turn's notices. `on_cpu` is True if the processors do all the computing, so
    that their time shows what other programs do. Where several answers share passes, `answering` is entered for each,
    `away` while the caller has a round, and `shared_pass` returns what others added to an answer's last pass.
    `read_image` gives the tokens of an image, None if the target sees none; `no_images_because` says why.
    """

    target: TargetModel
    vocabulary: SessionVocabulary
    template: ChatTemplate
    drafts: Mapping[str, DraftModel[SessionModel]] = field(default_factory=dict)
    head: HeadDrafter | None = None
    stores: Stores | None = None
    plugins: Mapping[str, MakeDrafter] = field(default_factory=dict)
    controller: Controller = field(default_factory=Controller)
    plain_because: str = ""
    about: Callable[[], Mapping[str, Any]] = dict
    passed: Callable[[list[str], Passes], None] | None = None
    on_cpu: bool = True
    lock: RLock = field(default_factory=RLock)
    answering: Callable[[], AbstractContextManager[None]] = nullcontext
    away: Callable[[], AbstractContextManager[None]] = nullcontext
    shared_pass: Callable[[], SharedPass] = lambda: ALONE
    read_image: ReadImage | None = None
    no_images_because: str = "this model sees no images"
    answer_format: AnswerFormat = field(default_factory=AnswerFormat)

    def drafters(self) -> list[Drafter]:
        """All drafters, made anew for one session."""
        models = [draft.drafter(name) for name, draft in self.drafts.items()]
        head = [self.head] if self.head else []
        plugins = (PluginDrafter(name, make, self.vocabulary) for name, make in self.plugins.items())
        stores = [StoreDrafter(self.stores)] if self.stores else []
        others = (drafter for drafter in unaided() if not drafter.unfit(self.target))
        return [*models, *head, PromptLookupDrafter(), *stores, *others, *plugins]

    @property
    def drafting(self) -> tuple[SessionModel, ...]:
        """The models that draft."""
        drafts = (draft.model for draft in self.drafts.values())
        return tuple(model for model in (*drafts, self.head and self.head.model) if model)

    @property
    def draft(self) -> SessionModel | None:
        """The first draft model."""
        return next((draft.model for draft in self.drafts.values()), None)

    @property
    def peer(self) -> SessionModel | None:
        """The model whose predictions can be compared with the target's; None if the first one drafts through text."""
        first = next(iter(self.drafts.values()), None)
        return None if first and first.translation else next(iter(self.drafting), None)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Lets others use or close the models meanwhile."""
        with self.away():
            self.lock.release()
            try:
                yield
            finally:
                self.lock.acquire()

    def see(self, images: Sequence[ImageRun]) -> None:
        """Shows the target where images stand in what it reads next."""
        if isinstance(self.target, SeeingModel):
            self.target.see(images)

    def clear(self) -> None:
        """Empties the memory of all models."""
        for model in (self.target, *self.drafting):
            model.clear()
