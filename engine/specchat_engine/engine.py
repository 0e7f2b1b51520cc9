"""A target and, optionally, a draft model, loaded and ready for sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

from specchat_engine.analysis.widths import widest_equal
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.codec import to_json
from specchat_engine.draft_models import CANNOT_GO_BACK, DraftModels
from specchat_engine.drafters import (
    MakeDrafter,
    ModelDrafter,
    StateHead,
    StateHeadModel,
    Stores,
    head_drafter,
    unaided,
    with_installed,
)
from specchat_engine.errors import EngineError, PairError, SettingError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.grammar.source import check_grammar
from specchat_engine.llama.assistant import AssistantHead
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.head import HeadContext
from specchat_engine.llama.joint import JointPasses
from specchat_engine.llama.kernels import NO_EXACT_KERNELS, has_exact_kernels
from specchat_engine.llama.library import llama_version
from specchat_engine.llama.logs import last_words
from specchat_engine.llama.machine import this_machine
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.llama.vision import Vision, projector_for
from specchat_engine.llama.vocabulary import Vocabulary
from specchat_engine.load_options import GIVEN, NORMED, Head, LoadOptions, MemoryUse, ModelInfo
from specchat_engine.loaded import info_of, is_base, machine, recommended_by, template_of, versions
from specchat_engine.memory.placement import fit_context
from specchat_engine.memory.snapshots import restore, save
from specchat_engine.models import ALONE, SessionModel
from specchat_engine.pair import Pair
from specchat_engine.pairing import check_pair, is_assistant, read_state_head, several, what_drafts
from specchat_engine.policy.calibration import measure
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.planner import AllowedDrafters
from specchat_engine.prompt.encoding import shown_tokens
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from specchat_engine.session import Session
from specchat_engine.settings import AUTO, HEADS, Settings
from specchat_engine.stores import Suffixes
from specchat_engine.threads.cpu_contention import Passes
from specchat_engine.threads.in_force import PairThreads
from specchat_engine.threads.processors import read_processors
from specchat_engine.timed_placement import timed_placement

_BASE = "is a base model, without a chat template: it continues texts and answers no questions"
NOT_EXACT = "passes over two tokens give other bits than passes over one, with this model on this machine"


class Engine:
    """Holds the models' memory; `close` (or leaving a `with` block) frees it. Its sessions share one memory.

    `draft` is the first draft model, and `further` has those beside it, by the names of their drafters.
    `head` is the head that drafts from the target's hidden states, if one is loaded.
    `translated_because` says why the draft model drafts through text, empty if its token ids are the target's.
    `no_images_because` says why messages may have no images, empty if they may.
    `shortened_because` says why the context is shorter than the model's own, empty if memory is not the reason.
    `placed_because` says where the models were placed, if times decided that.
    `base_because` says why the target continues texts instead of answering, empty if it answers.
    `exactness` says what `LoadOptions.exact` achieved, empty if it is off.
    `threads` has the thread counts in force, and why they are fewer than usual.
    """

    def __init__(
        self,
        target: LlamaModel,
        draft: LlamaModel | None,
        options: LoadOptions,
        translated_because: str = "",
        shortened_because: str = "",
        drafters: Mapping[str, MakeDrafter] | None = None,
        head: tuple[Head, LlamaModel | StateHead] | None = None,
        stores: Mapping[str, Path] | None = None,
        further: Sequence[tuple[LlamaModel, str]] = (),
        vision: Vision | str = "this model sees no images",
    ) -> None:
        """Takes over loaded models that were checked to be a pair; use `Engine.load`.

        `further` draft models come with the reason why they draft through text, empty if they do not. `head` comes with
        what computes it: its model, which is the target for layers of its own, or its weights. `vision` reads images
        for the target, or is the reason why nothing does. Raises
        PairError for a draft model that cannot go back, ModelFileError, and SettingError for a drafter's name.
        """
        self._plugins = with_installed(drafters or {})
        self.translated_because = translated_because
        self.shortened_because, self.placed_because = shortened_because, ""
        self.options = options
        of_head = head[1] if head and isinstance(head[1], LlamaModel) and head[1] is not target else None
        self._target_model, self._head_model = target, of_head
        self._template = template_of(target)
        self.base_because = f"{target.path.name} {_BASE}" if is_base(target) else ""
        self._processors = read_processors()
        usual = self._processors.usual
        n_ctx = options.n_ctx or target.n_ctx_train
        self._head: HeadContext | StateHeadModel | None = None
        self._vision = vision if isinstance(vision, Vision) else None
        self.no_images_because = "" if isinstance(vision, Vision) else vision
        self._lock = RLock()
        self._joint: JointPasses | None = None
        with ExitStack() as undo:
            rows, texts = options.k_max + 1, options.parallel
            native = NativeContext(target, n_ctx=n_ctx, max_rows=rows, threads=usual, options=options, texts=texts)
            if options.parallel > 1:
                self._joint = JointPasses(self._lock, native)
            undo.callback(native.close)
            self._targets = self._open_texts(native)
            for text in self._targets:
                text.vision = self._vision
            if self._vision:
                self._vision.room = max(self._vision.room, sum(text.capacity for text in self._targets))
            self.plain_because = "" if self._target.can_go_back else f"{CANNOT_GO_BACK}: plain decoding"
            self.exactness = self._made_exact() if options.exact == "on" else ""
            self._drafts = DraftModels(self._target, options, usual, self._open_texts)
            for model, because in [(draft, self.translated_because), *further] if draft else further:
                name = self._drafts.add(model, because, first=model is draft)
                undo.callback(self._drafts.contexts[name].close)
            if head:
                self._head = self._opened(*head, options)
            undo.pop_all()
        last_words.about(*(model.path for model in self._models))
        requested = options.threads, options.threads_draft
        with_threads = [self._head] if isinstance(self._head, HeadContext) else []
        contexts = [*self._drafts.contexts.values()]
        first = contexts[0] if contexts else None
        self.threads = PairThreads(self._target, first, usual, requested, with_threads, contexts[1:])
        self.target = info_of(self._target)
        self.recommended = recommended_by(target)
        self.controller = Controller()
        self.head = head[0] if head else None
        self.stores = Stores()
        models = (*self._drafts.infos, *([head[0].name] if head else []))
        looking = ("lookup",) if stores is None else ("lookup", "store")
        own = ("hybrid", *models, *looking)
        self._unfit = {drafter.name: drafter.unfit(self._target) for drafter in unaided()}
        fitting = (name for name, unfit in self._unfit.items() if not unfit)
        self.drafters: tuple[str, ...] = (*own, *fitting, *self._plugins, "none")
        self._has_stores = stores is not None
        if stores:
            self.use_stores(stores)

    @property
    def _target(self) -> LlamaContext:
        """The target's memory in the first place."""
        return self._targets[0]

    @property
    def draft(self) -> ModelInfo | None:
        """The first draft model."""
        return self._drafts.infos.get(ModelDrafter.name)

    @property
    def further(self) -> dict[str, ModelInfo]:
        """The draft models beside the first, by the names of their drafters."""
        return {name: info for name, info in self._drafts.infos.items() if name != ModelDrafter.name}

    @property
    def _models(self) -> list[LlamaModel]:
        own = [self._head_model] if self._head_model else []
        return [self._target_model, *self._drafts.models, *own]

    def _open_texts(self, native: NativeContext) -> list[LlamaContext]:
        """The memories of all places in a new context of llama.cpp."""
        texts: list[LlamaContext] = []
        passes = self._joint.compute if self._joint else NativeContext.compute
        for _ in range(native.texts):
            LlamaContext(native, texts, passes)
        return texts

    def _made_exact(self) -> str:
        """Limits drafts to passes that give the bits of passes over one token; returns what was found, in words."""
        target = self._target
        widest = widest_equal(target, self._target_model.vocabulary.size) if has_exact_kernels() else 1
        if widest == 1:
            because = NOT_EXACT if has_exact_kernels() else NO_EXACT_KERNELS
            self.plain_because = self.plain_because or because
            return ""
        target.max_rows = min(target.max_rows, widest)
        return (
            f"Exact: passes over 1 to {widest} tokens were compared, and give the same bits. "
            f"So a round drafts at most {widest - 1} tokens."
        )

    def _opened(self, head: Head, by: LlamaModel | StateHead, options: LoadOptions) -> HeadContext | StateHeadModel:
        """The model that drafts for the target with its hidden states."""
        target, states = self._target, self._target.hand_out(head.layers)
        if isinstance(by, LlamaModel) and not is_assistant(by.header):
            return HeadContext(by, target, states, n_ctx=target.capacity, threads=target.threads, options=options)
        predicts = AssistantHead(by, target, options=options) if isinstance(by, LlamaModel) else by
        return StateHeadModel(predicts, states, capacity=target.capacity, n_vocab=target.model.vocabulary.size)

    @classmethod
    def load(
        cls,
        target: str | Path,
        draft: str | Path | None = None,
        options: LoadOptions | None = None,
        progress: Callable[[float], bool] | None = None,
        drafters: Mapping[str, MakeDrafter] | None = None,
        stores: Mapping[str, Path] | None = None,
    ) -> Engine:
        """Loads a target and a draft model from GGUF files.

        `draft` may name a head too, as `LoadOptions.head` does.

        Without a context in the options it is the model's own, or the longest half of it that main memory can hold.
        `progress` gets the share that is loaded, 0 to 1, of each file in turn; returning False stops the load.
        `drafters` are drafters of your own by name, beside those that packages install under the entry point group
        `specchat.drafters`; settings choose them by name, and "hybrid" leaves them out. `stores` are indexes of texts
        that may be drafted from, by name; see `use_stores`. Raises ModelFileError, PairError, TemplateError,
        TextStoreError, SettingError or Cancelled, and then nothing stays loaded.
        """
        options = options or LoadOptions()
        draft, files, of_head_file = several(draft, options.drafts, options.head)
        options = replace(options, drafts=tuple(files), head=of_head_file)
        header = read_model(Path(target))
        draft, chosen = what_drafts(header, draft, options.head)
        projector, blind = projector_for(Path(target), options.mmproj, chosen.name if chosen else "")
        if chosen and projector:
            if options.head != AUTO:
                raise PairError(f"the head {chosen.name} cannot draft for a target with a projector: use head none")
            chosen = None
        if chosen and options.parallel > 1:
            if options.head != AUTO:
                raise PairError(f"the head {chosen.name} drafts for one answer at a time: use parallel 1, or head none")
            chosen = None
        small = read_model(Path(draft)) if draft else None
        because = check_pair(header, small) if small else ""
        of_head = read_model(Path(chosen.path)) if chosen and chosen.path else None
        more = [(Path(path), read_model(Path(path))) for path in options.drafts]
        whys = [check_pair(header, draft_header) for _, draft_header in more]
        beside = [draft_header for _, draft_header in more]
        seeing = projector.stat().st_size if projector and projector.is_file() else 0
        placed_because = ""
        if options.placement == AUTO:
            beside_it = (Path(draft), small) if draft and small else None
            options, placed_because = timed_placement(
                options, (Path(target), header), beside_it, this_machine(), progress
            )
        options, shortened = fit_context(header, small or of_head, options, this_machine(), beside, seeing)
        with ExitStack() as undo:

            def loaded(path: str | Path, layers: int, devices: Sequence[str], **more: Any) -> LlamaModel:
                more |= {"gpu_layers": layers, "devices": devices, "main_gpu": options.main_gpu}
                model = LlamaModel(Path(path), progress=progress, **more)
                undo.callback(model.close)
                return model

            big = loaded(
                target,
                options.gpu_layers,
                options.devices,
                tensor_split=options.tensor_split,
                overrides=options.overrides,
                header=header,
                exact=options.exact == "on",
                own_head=chosen is not None and not chosen.path,
            )
            vision = Vision(big, projector, threads=read_processors().usual) if projector else None
            if vision:
                undo.callback(vision.close)
                if options.mmproj != AUTO:
                    vision.open()
            there = options.gpu_layers_draft, options.devices_draft
            model = loaded(draft, *there, header=small, tokenizer=bool(because)) if draft else None
            further = [
                (loaded(path, *there, header=draft_header, tokenizer=bool(why)), why)
                for (path, draft_header), why in zip(more, whys, strict=True)
            ]
            head: tuple[Head, LlamaModel | StateHead] | None = None
            if chosen and of_head and NORMED in chosen.layers:
                head = chosen, read_state_head(Path(chosen.path), of_head, this_machine().host.free)
            elif chosen:
                head = chosen, loaded(chosen.path, *there, header=of_head) if chosen.path else big
            engine = cls(big, model, options, because, shortened, drafters, head, stores, further, vision or blind)
            engine.placed_because = placed_because
            undo.pop_all()
        return engine

    @property
    def on_gpu(self) -> bool | None:
        """Whether the target is on a GPU; None if a part of it is."""
        return True if self._target_model.on_gpu else False if self._target_model.on_cpu else None

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the models: a shorter context, a base model, how exact passes are."""
        return tuple(filter(None, (self.placed_because, self.shortened_because, self.base_because, self.exactness)))

    @property
    def memory(self) -> SessionModel:
        """The target's memory, which all sessions share, to look at logits between two answers.

        No other thread may use or close the engine meanwhile.
        """
        return self._target

    @property
    def can_branch(self) -> bool:
        """Whether the target can read trees: recurrent and hybrid memories hold one continuation alone."""
        return self._target.max_leaves > 1

    @property
    def memory_use(self) -> MemoryUse:
        """How many bytes the pair takes, by purpose."""
        target = self._target.buffers
        others = [context.buffers for context in self._drafting]
        weights = [model.weight_bytes for model in self._models]
        if isinstance(self._head, StateHeadModel):
            weights.append(self._head.size_bytes)
        cache = _sum(buffers.cache for buffers in others)
        return MemoryUse(
            weights[0], sum(weights[1:]), target.cache, cache, _sum(buffers.compute for buffers in (target, *others))
        )

    @property
    def machine(self) -> dict[str, Any]:
        """The machine, and the thread counts at this moment."""
        return machine(self.threads.in_force)

    @property
    def vocabulary(self) -> Vocabulary:
        """The target's vocabulary."""
        return self._target_model.vocabulary

    @property
    def header(self) -> GgufHeader:
        """The header of the target's file."""
        return self._target_model.header

    @property
    def answer_format(self) -> AnswerFormat:
        """How the target writes reasoning and calls, as far as its chat template shows."""
        return AnswerFormat.of(self._target_model.chat_template or "")

    @property
    def knows_tools(self) -> bool:
        """Whether the target's chat template mentions tools. Otherwise they reach the model as text."""
        return self._template.knows_tools

    @property
    def thinking(self) -> ThinkingSwitch:
        """What the target's chat template takes to think or not; `Settings.thinking` uses it."""
        return self._template.thinking

    def session(
        self,
        system: str | None = None,
        settings: Settings | None = None,
        seed: int | None = None,
        *,
        place: int = 0,
    ) -> Session:
        """A conversation. Without `settings` it uses the model's recommended sampling and the best drafter there is.

        Without `seed` it chooses a random one. Sessions in different places, from 0 to `LoadOptions.parallel` - 1, can
        give answers at the same time, each in a thread of its own; those in the same place share one memory. Raises
        SettingError as `check` does.
        """
        if settings is None:
            settings = Settings(sampling=self.recommended)
        self.check(settings)
        if not 0 <= place < self.options.parallel:
            raise SettingError(f"place {place} is not there: {self.options.parallel} answers can be given at a time")
        joint = self._joint
        pair = Pair(
            self._targets[place],
            self._target_model.vocabulary,
            self._template,
            drafts=self._drafts.at[place],
            head=head_drafter(self.head.name, self._head, self.head.longest) if self.head and self._head else None,
            stores=self.stores if self._has_stores else None,
            plugins=self._plugins,
            controller=self.controller.beside() if place else self.controller,
            plain_because=self.plain_because,
            about=self._about,
            passed=self._passed,
            on_cpu=all(model.on_cpu for model in self._models),
            lock=self._lock,
            answering=partial(self._answering, joint, place) if joint else nullcontext,
            away=partial(joint.away, place) if joint else nullcontext,
            shared_pass=partial(joint.shared_pass, place) if joint else lambda: ALONE,
            answer_format=self.answer_format,
            read_image=self._vision.tokens if self._vision else None,
            no_images_because=self.no_images_because,
        )
        return Session(pair, settings=settings, seed=seed, system=system)

    @contextmanager
    def _answering(self, joint: JointPasses, place: int) -> Iterator[None]:
        """While an answer is given in a place. The memories of places without one are swapped out."""
        with joint.answering(place) as busy:
            for text in (self._targets[place], *(draft.model for draft in self._drafts.at[place].values())):
                text.swap_idle_out(busy)
            yield

    def check(self, settings: Settings) -> None:
        """Raises SettingError for settings that need more than was loaded, for a grammar that no model can follow, and
        for a biased token that the vocabulary does not have. Raises DecodeError once the engine is closed."""
        self.vocabulary.check_open()
        if settings.k != AUTO and settings.k > self.options.k_max:
            raise SettingError(f"k is {settings.k}: the models were loaded for at most {self.options.k_max}")
        if settings.tree not in (0, AUTO) and not self.can_branch:
            memory = f"this target's memory ({self.header.architecture}) cannot hold several continuations"
            because = "with exact on drafts are chains" if self.options.exact == "on" else memory
            raise SettingError(f"tree is {settings.tree}, and {because}: use 0")
        AllowedDrafters.under(settings, self.drafters)
        if unfit := self._unfit.get(settings.drafter):
            raise SettingError(unfit)
        if settings.drafter not in ("hybrid", *self.drafters):
            what = "a head of the target" if settings.drafter in HEADS else "a draft model"
            raise SettingError(f"the drafter {settings.drafter!r} needs {what}: name one with -d, or use lookup")
        settings.sampling.check_tokens(self.vocabulary.size)
        if grammar := settings.sampling.grammar:
            check_grammar(grammar)

    def forget(self) -> None:
        """Empties both memories, so that the next answer reads its whole prompt. For measurements.

        An answer that is open fails before its next round. Raises DecodeError once the engine is closed, and
        EngineError while answers are being given that share passes.
        """
        with self._lock:
            self.vocabulary.check_open()
            self._check_shared("forget")
            self._target.user = None
            for text in (*self._targets, *self._drafts.texts):
                text.clear()
            if self._head:
                self._head.clear()

    def save_memory(self, folder: Path, limit: int | None = None) -> None:
        """Writes the prompt caches of target and draft model to a folder, between two answers; see `restore_memory`.

        Raises EngineError if they take more than `limit` bytes, if they cannot be written, or once it is closed.
        """
        with self._lock:
            save(self._memories, self._files, folder, limit)

    def restore_memory(self, folder: Path) -> bool:
        """Restores the prompt caches that the same pair wrote to this folder, with the same options.

        The next answer keeps the prefix that its prompt shares with them. False if the folder has no caches, or
        incomplete ones. An answer that is open fails before its next round. Raises EngineError while answers are being
        given that share passes.
        """
        with self._lock:
            self._check_shared("restore")
            if self._head:
                self._head.clear()
            return restore(self._memories, self._files, folder)

    def _check_shared(self, what: str) -> None:
        """Raises EngineError while an answer may wait for a pass on memories that would change under it."""
        if self._joint and any(text.user is not None for text in self._targets):
            raise EngineError(f"answers are being given at the same time: {what} what was read when they have ended")

    def _about(self) -> dict[str, Any]:
        """What computes an answer now, for its start line."""
        models = {"target": to_json(self.target), "draft": to_json(self.draft)}
        if self.head:
            models["head"] = to_json(self.head)
        if self.further:
            models["further"] = {name: to_json(info) for name, info in self.further.items()}
        return {**models, "versions": versions(), "machine": self.machine}

    @property
    def _memories(self) -> dict[str, LlamaContext]:
        names = {ModelDrafter.name: "draft"}
        return {"target": self._target} | {
            names.get(name, name): context for name, context in self._drafts.contexts.items()
        }

    @property
    def _drafting(self) -> tuple[LlamaContext | HeadContext | StateHeadModel, ...]:
        """The contexts that draft."""
        return (*self._drafts.contexts.values(), *([self._head] if self._head else []))

    @property
    def _files(self) -> str:
        """What saved caches belong to. Other weights of the same name and size would read them without an error."""
        paths = [model.path for model in self._models] + ([self._vision.path] if self._vision else [])
        files = [(path.resolve(), path.stat()) for path in paths]
        return repr((self.identity, [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in files]))

    @property
    def identity(self) -> str:
        """What the record of a pair belongs to: the files, the build, the devices and the machine."""
        options = replace(self.options, n_ctx=0, k_max=1, parallel=1, threads=0, threads_draft=0, mmproj=AUTO)
        options = replace(options, placement=GIVEN)
        infos = (self.target, self.draft)
        models = [f"{info.name} {info.n_params} {info.size_bytes}" for info in infos if info]
        if self.head:
            models.append(repr(self.head))
        identity = repr((models, llama_version(), self._processors, options, self._target.attention.flash))
        # Records of older versions, which wrote "auto" for threads and knew no placement, have to be found again.
        older = identity.replace("threads=0, threads_draft=0", "threads='auto', threads_draft='auto'")
        return older.replace(f"placement={GIVEN!r}, ", "")

    def use_threads(self, target: int, draft: int) -> None:
        """Changes the thread counts, as in LoadOptions, from the next pass on; any thread may call it.

        Raises SettingError for a count out of range.
        """
        self.options = replace(self.options, threads=target, threads_draft=draft)
        self.threads.ask(target, draft)

    def use_stores(self, stores: Mapping[str, Path]) -> None:
        """Drafts from these indexes from the next round on; any thread may call it.

        Each is a file of `stores.write_suffixes` with token ids of the target's vocabulary; one that was replaced is
        opened anew. Raises TextStoreError for a file that cannot be read, and changes nothing.
        """
        used = self.stores.used
        self.stores.used = {
            name: used[name] if name in used and used[name].is_of(path) else Suffixes(path)
            for name, path in stores.items()
        }

    def add_draft(self, path: Path) -> str:
        """Loads one more draft model beside the others; returns the name of its drafter.

        Between two answers; sessions draft with it from the next answer on. Raises ModelFileError, and PairError if it
        does not fit the target.
        """
        header = read_model(path)
        because = check_pair(self.header, header)
        with self._lock:
            model = self._drafts.load(path, tokenizer=bool(because))
            try:
                name = self._drafts.add(model, because)
            except EngineError:
                model.close()
                raise
            self.drafters = (*self.drafters[:2], name, *self.drafters[2:])
            self.threads.add(self._drafts.contexts[name])
        return name

    def exchange_draft(self, path: Path, name: str = "model") -> None:
        """Drafts with another file of the draft model of this name, as one that learned, from the next answer on.

        Between two answers. Raises ModelFileError, and PairError if it is not a version of the one before.
        """
        draft = self._drafts.at[0].get(name)
        if draft is None:
            raise PairError(f"{path.name} cannot be exchanged for the draft model: none is loaded")
        self._drafts.check_alone()
        header, old = read_model(path), draft.model.model
        if bool(check_pair(self.header, header)) != bool(draft.translation) or header.n_vocab != old.header.n_vocab:
            raise PairError(f"{path.name} is not a version of {old.path.name}: load the models with it instead")
        with self._lock:
            model = self._drafts.load(path, tokenizer=bool(draft.translation))
            try:
                self._drafts.exchange(name, model)
            except EngineError:
                model.close()
                raise

    def _passed(self, notices: list[str], passes: Passes) -> None:
        if self.threads.passed(passes):
            contended = self.threads.contended
            if contended and contended not in notices:
                notices.append(contended)

    def measuring(self) -> Iterator[None]:
        """Measures between answers, pass by pass, what passes cost; see `policy.calibration.measure`."""
        passes = self._measurements()

        def measured() -> object:
            with self._lock:
                self.vocabulary.check_open()
                return next(passes, passes)

        for _ in iter(measured, passes):
            yield

    def prepare_grammars(self) -> None:
        """Builds what formats and calls need, for which the first answer with one would wait.

        Raises SettingError for a model whose answers cannot follow a grammar.
        """
        with self._lock:
            self.vocabulary.prepare_grammars(shown_tokens(self.answer_format.marks, self.vocabulary))

    def _measurements(self) -> Iterator[None]:
        threads = max((model.threads for model in self._drafting), default=0)
        drafts: dict[str, LlamaContext | None] = {**self._drafts.contexts}
        for name, context in (drafts or {ModelDrafter.name: None}).items():
            yield from measure(self._target, context, self.controller, name, threads)
        if self.head:
            yield from measure(self._target, self._head, self.controller, self.head.name, threads)

    def close(self) -> None:
        """Frees all models, from any thread: an answer that is being given fails before its next round.

        Calling it again does nothing.
        """
        with self._lock:
            for context in (*self._drafting, self._target):
                context.close()
            if self._vision:
                self._vision.close()
            for model in self._models:
                model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _sum(sizes: Iterable[int | None]) -> int | None:
    """The sum, None if one of them is not known."""
    known = [*sizes]
    return None if None in known else sum(size for size in known if size)
