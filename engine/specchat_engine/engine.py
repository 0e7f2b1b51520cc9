"""A target and, optionally, a draft model, loaded and ready for sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

from specchat_engine.codec import to_json
from specchat_engine.drafters import MakeDrafter, Translation, with_installed
from specchat_engine.errors import PairError, SettingError
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import llama_version
from specchat_engine.llama.logs import Buffers, last_words
from specchat_engine.llama.machine import this_machine
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.load_options import LoadOptions, MemoryUse, ThreadCount
from specchat_engine.loaded import info_of, machine, recommended_by, template_of, translation_between, versions
from specchat_engine.memory.room import with_room
from specchat_engine.memory.saving import restore, save
from specchat_engine.models import SessionModel
from specchat_engine.pair import Pair
from specchat_engine.pairing import check_pair
from specchat_engine.policy.calibration import measure
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.planner import AllowedDrafters
from specchat_engine.sampling.sampler import constraint_of
from specchat_engine.session import Session
from specchat_engine.settings import AUTO, Settings
from specchat_engine.threads.cpu_contention import Passes
from specchat_engine.threads.in_force import Threads
from specchat_engine.threads.processors import read_processors

_CANNOT_GO_BACK = "this model's memory cannot take back drafted tokens, neither by a cut nor to a checkpoint"


class Engine:
    """Holds the models' memory; `close` (or leaving a `with` block) frees it. Its sessions share one memory.

    `translated_because` says why the draft model drafts through text, empty if its token ids are the target's.
    `shortened_because` says why the context is shorter than the model's own, empty if memory is not the reason.
    `threads` has the thread counts in force, and the reasons.
    """

    def __init__(
        self,
        target: LlamaModel,
        draft: LlamaModel | None,
        options: LoadOptions,
        translated_because: str = "",
        shortened_because: str = "",
        drafters: Mapping[str, MakeDrafter] | None = None,
    ) -> None:
        """Takes over loaded models that were checked to be a pair; use `Engine.load`.

        Raises PairError for a draft model that cannot go back, ModelFileError, and SettingError for a drafter's name.
        """
        self._plugins = with_installed(drafters or {})
        self.translated_because = translated_because
        self.shortened_because = shortened_because
        self.options = options
        self._models = [model for model in (target, draft) if model]
        self._template = template_of(target)
        self._processors = read_processors()
        usual = self._processors.usual
        n_ctx = options.n_ctx or target.n_ctx_train
        self._draft: LlamaContext | None = None
        self._translation: Translation | None = None
        with ExitStack() as undo:
            self._target = LlamaContext(target, n_ctx=n_ctx, max_rows=options.k_max + 1, threads=usual, options=options)
            undo.callback(self._target.close)
            if draft:
                self._translation = translation_between(target, draft) if self.translated_because else None
                reach = min(n_ctx, draft.n_ctx_train)
                self._draft = LlamaContext(draft, n_ctx=reach, max_rows=1, threads=usual, options=options)
                undo.callback(self._draft.close)
            if self._draft and not self._draft.can_go_back:
                raise PairError(
                    f"{self._draft.model.path} cannot draft: {_CANNOT_GO_BACK}; use another draft model, or lookup"
                )
            undo.pop_all()
        last_words.about(*(model.path for model in self._models))
        asked = options.threads, options.threads_draft
        self.threads = Threads(self._target, self._draft, self._processors, asked)
        self._lock = RLock()
        self.target = info_of(self._target)
        self.draft = info_of(self._draft) if self._draft else None
        self.recommended = recommended_by(target)
        self.controller = Controller()
        own = ("hybrid", "model", "lookup") if draft else ("lookup",)
        self.drafters: tuple[str, ...] = (*own, *self._plugins, "none")
        self.plain_because = "" if self._target.can_go_back else f"{_CANNOT_GO_BACK}: plain decoding"

    @classmethod
    def load(
        cls,
        target: str | Path,
        draft: str | Path | None = None,
        options: LoadOptions | None = None,
        progress: Callable[[float], bool] | None = None,
        drafters: Mapping[str, MakeDrafter] | None = None,
    ) -> Engine:
        """Loads a target and a draft model from GGUF files.

        Without a context in the options it is the model's own, or the longest half of it that main memory can hold.
        `progress` gets the share that is loaded, 0 to 1, of each file in turn; returning False stops the load.
        `drafters` are drafters of your own by name, beside those that packages install under the entry point group
        `specchat.drafters`; settings choose them by name, and "hybrid" leaves them out. Raises ModelFileError,
        PairError, TemplateError, SettingError or Cancelled, and then nothing stays loaded.
        """
        paths = [Path(target), *([Path(draft)] if draft else [])]
        headers = [read_model(path) for path in paths]
        because = check_pair(*headers) if draft else ""
        small = headers[1] if draft else None
        options, shortened = with_room(headers[0], small, options or LoadOptions(), this_machine())
        with ExitStack() as undo:
            loaded = LlamaModel(
                paths[0],
                gpu_layers=options.gpu_layers,
                devices=options.devices,
                tensor_split=options.tensor_split,
                main_gpu=options.main_gpu,
                progress=progress,
                header=headers[0],
            )
            undo.callback(loaded.close)
            loaded_draft = None
            if draft:
                loaded_draft = LlamaModel(
                    paths[1],
                    gpu_layers=options.gpu_layers_draft,
                    devices=options.devices_draft,
                    main_gpu=options.main_gpu,
                    progress=progress,
                    header=headers[1],
                    tokenizer=bool(because),
                )
                undo.callback(loaded_draft.close)
            engine = cls(loaded, loaded_draft, options, because, shortened, drafters)
            undo.pop_all()
        return engine

    @property
    def memory(self) -> SessionModel:
        """The target's memory, which all sessions share, to look at logits between two answers.

        No other thread may use or close the engine meanwhile.
        """
        return self._target

    @property
    def memory_use(self) -> MemoryUse:
        """How many bytes the pair takes, by purpose."""
        target, draft = self._target.buffers, self._draft.buffers if self._draft else Buffers(0, 0)
        compute = None if target.compute is None or draft.compute is None else target.compute + draft.compute
        weights = [model.weight_bytes for model in self._models]
        return MemoryUse(weights[0], sum(weights[1:]), target.cache, draft.cache, compute)

    @property
    def machine(self) -> dict[str, Any]:
        """The machine, and the thread counts at this moment."""
        return machine(self.threads.in_force)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target's vocabulary."""
        return self._models[0].vocabulary

    def session(self, system: str | None = None, settings: Settings | None = None, seed: int | None = None) -> Session:
        """A conversation. Without `settings` it uses the model's recommended sampling and the best drafter there is.

        Without `seed` it chooses a random one. Raises SettingError as `check` does.
        """
        if settings is None:
            settings = Settings(drafter=self.drafters[0], sampling=self.recommended)
        self.check(settings)
        pair = Pair(
            self._target,
            self._draft,
            self._models[0].vocabulary,
            self._template,
            translation=self._translation,
            plugins=self._plugins,
            controller=self.controller,
            plain_because=self.plain_because,
            about=self._about,
            passed=self._passed,
            on_cpu=all(model.on_cpu for model in self._models),
            lock=self._lock,
        )
        return Session(pair, settings=settings, seed=seed, system=system)

    def check(self, settings: Settings) -> None:
        """Raises SettingError for settings that need more than was loaded, and for a grammar or a biased token that the
        vocabulary cannot serve. Raises DecodeError once the engine is closed."""
        self.vocabulary.check_open()
        if settings.k != AUTO and settings.k > self.options.k_max:
            raise SettingError(f"k is {settings.k}: the models were loaded for at most {self.options.k_max}")
        AllowedDrafters.under(settings, self.drafters)
        if settings.drafter not in ("hybrid", *self.drafters):
            raise SettingError(f"the drafter {settings.drafter!r} needs a draft model: name one with -d, or use lookup")
        with self._lock:
            constraint = constraint_of(settings.sampling, self.vocabulary)
            if constraint:
                constraint.close()

    def forget(self) -> None:
        """Empties both memories, so that the next answer reads its whole prompt. For measurements.

        An answer that is open fails before its next round. Raises DecodeError once the engine is closed.
        """
        with self._lock:
            self.vocabulary.check_open()
            self._target.user = None
            for context in self._memories.values():
                context.clear()

    def save_memory(self, folder: Path, limit: int | None = None) -> None:
        """Writes both models' prompt caches to a folder, between two answers; see `restore_memory`.

        Raises EngineError if they take more than `limit` bytes, if they cannot be written, or once it is closed.
        """
        with self._lock:
            save(self._memories, self._files, folder, limit)

    def restore_memory(self, folder: Path) -> bool:
        """Restores the prompt caches that the same pair wrote to this folder, with the same options.

        The next answer keeps the prefix that its prompt shares with them. False if the folder has no caches, or
        incomplete ones. An answer that is open fails before its next round.
        """
        with self._lock:
            return restore(self._memories, self._files, folder)

    def _about(self) -> dict[str, Any]:
        """What computes an answer now, for its start line."""
        models = {"target": to_json(self.target), "draft": to_json(self.draft)}
        return {**models, "versions": versions(), "machine": self.machine}

    @property
    def _memories(self) -> dict[str, LlamaContext]:
        return {"target": self._target} | ({"draft": self._draft} if self._draft else {})

    @property
    def _files(self) -> str:
        """What saved caches belong to. Other weights of the same name and size would read them without an error."""
        found = [(model.path.resolve(), model.path.stat()) for model in self._models]
        return repr((self.identity, [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in found]))

    @property
    def identity(self) -> str:
        """What the record of a pair belongs to: the files, the build, the devices and the machine."""
        options = replace(self.options, n_ctx=0, k_max=1, threads=AUTO, threads_draft=AUTO)
        models = [f"{info.name} {info.n_params} {info.size_bytes}" for info in (self.target, self.draft) if info]
        return repr((models, llama_version(), self._processors, options, self._target.attention.flash))

    def use_threads(self, target: ThreadCount, draft: ThreadCount) -> None:
        """Changes the thread counts, as in LoadOptions, from the next pass on; any thread may call it.

        Raises SettingError for a count out of range.
        """
        self.options = replace(self.options, threads=target, threads_draft=draft)
        self.threads.ask(target, draft)

    def _passed(self, notices: list[str], passes: Passes) -> None:
        if self.threads.passed(passes):
            contended = self.threads.contended
            if contended and contended not in notices:
                notices.append(contended)

    def measuring(self) -> Iterator[None]:
        """Measures between answers, pass by pass, what passes cost and, if they may be chosen, which threads are best.

        Costs come first, and again if other threads were chosen; see `policy.calibration.measure`.
        """
        passes = self._measurements()

        def measured() -> object:
            with self._lock:
                self.vocabulary.check_open()
                return next(passes, passes)

        for _ in iter(measured, passes):
            yield

    def _measurements(self) -> Iterator[None]:
        yield from measure(self._target, self._draft, self.controller)
        if self.plain_because:
            return
        before = self.threads.in_force.counts
        yield from self.threads.trying(date.today(), self.controller)
        if self.threads.in_force.counts != before:
            yield from measure(self._target, self._draft, self.controller)

    def close(self) -> None:
        """Frees both models, from any thread: an answer that is being given fails before its next round.

        Calling it again does nothing.
        """
        with self._lock:
            for context in self._memories.values():
                context.close()
            for model in self._models:
                model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
