"""The draft models of an engine: their names, and their memories in each place where an answer is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specchat_engine.drafters import GUESSED, DraftModel, HierarchyDrafter, ModelDrafter
from specchat_engine.errors import EngineError, PairError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import LoadOptions, ModelInfo
from specchat_engine.loaded import info_of, translation_between
from specchat_engine.settings import FURTHER_MODEL

CANNOT_GO_BACK = "this model's memory cannot take back drafted tokens, neither by a cut nor to a checkpoint"

Drafting = dict[str, DraftModel[LlamaContext]]
"""Draft models by the names of their drafters."""


class DraftModels:
    """Opens, exchanges and closes the memories of draft models, and closes their weights with them.

    `at` has the draft models of each place; all places have the same. `infos` describes them.
    """

    def __init__(
        self,
        target: LlamaContext,
        options: LoadOptions,
        threads: int,
        open_texts: Callable[[NativeContext], list[LlamaContext]],
    ) -> None:
        """None yet. `open_texts` makes the memories of all places in a context of llama.cpp."""
        self.at: list[Drafting] = [{} for _ in range(options.parallel)]
        self.infos: dict[str, ModelInfo] = {}
        self._target = target
        self._options = options
        self._threads = threads
        self._open_texts = open_texts
        self._named = 1

    @property
    def contexts(self) -> dict[str, LlamaContext]:
        """The memories in the first place, by the names of the drafters."""
        return {name: draft.model for name, draft in self.at[0].items()}

    @property
    def texts(self) -> list[LlamaContext]:
        """The memories of all places."""
        return [draft.model for drafting in self.at for draft in drafting.values()]

    @property
    def models(self) -> list[LlamaModel]:
        """Their weights."""
        return [context.model for context in self.contexts.values()]

    def load(self, path: Path, *, tokenizer: bool) -> LlamaModel:
        """The weights of a draft model, where drafts are to be. Raises ModelFileError."""
        options = self._options
        return LlamaModel(
            path,
            gpu_layers=options.gpu_layers_draft,
            devices=options.devices_draft,
            main_gpu=options.main_gpu,
            tokenizer=tokenizer,
        )

    def add(self, model: LlamaModel, because: str, *, first: bool = False) -> str:
        """Gives a draft model to all places; the name of its drafter, which no other one gets.

        `because` says why it drafts through text, empty if it does not. Only the `first` is called "model". Raises
        PairError for a model that cannot go back, and ModelFileError; the weights stay open then.
        """
        options, reach = self._options, min(self._target.capacity, model.n_ctx_train)
        branching = 2 if model.can_branch and options.parallel == 1 else 1
        drafts_as, rows = (HierarchyDrafter, GUESSED + 1) if options.hierarchy == "on" else (ModelDrafter, branching)
        rows = 1 if because else rows
        native = NativeContext(
            model, n_ctx=reach, max_rows=rows, threads=self._threads, options=options, texts=options.parallel
        )
        texts = self._open_texts(native)
        if not texts[0].can_go_back:
            native.close()
            raise PairError(f"{model.path} cannot draft: {CANNOT_GO_BACK}; use another draft model, or lookup")
        if not first:
            self._named += 1
        name = ModelDrafter.name if first else f"{FURTHER_MODEL}{self._named}"
        translation = translation_between(self._target.model, model) if because else None
        for drafting, text in zip(self.at, texts, strict=True):
            drafting[name] = DraftModel(text, translation, drafts_as)
        self.infos[name] = info_of(texts[0])
        return name

    def exchange(self, name: str, model: LlamaModel) -> None:
        """Computes with another file of a draft model, and closes the one before. Raises ModelFileError."""
        context = self.at[0][name].model
        context.exchange(model).close()
        self.infos[name] = info_of(context)

    def check_alone(self) -> None:
        """Raises EngineError if several answers can be given at a time: no draft model is exchanged then."""
        if self._options.parallel > 1:
            raise EngineError("a draft model is exchanged where one answer is given at a time: use parallel 1")
