"""Loads what a command names, as far as it fits together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from specchat.engine_process.protocol import Load, Loaded, Time
from specchat.learning import Learning
from specchat.texts import Collections
from specchat_engine import Engine
from specchat_engine.errors import PairError
from specchat_engine.gguf import read_model
from specchat_engine.settings import FURTHER_MODEL

Progress = Callable[[float], bool]
"""Gets the share that is loaded, from 0 to 1; returning False stops the load."""

_PROGRESS_STEP = 0.01


@dataclass(frozen=True, slots=True)
class Opened:
    """Loaded models.

    `draft` is the file of the draft model, None without one. What it has learned drafts as `learned_name`, which is
    empty if it has learned nothing. `refusal` says why something was left out, None if nothing was.
    """

    engine: Engine
    draft: Path | None = None
    learned_name: str = ""
    refusal: str | None = None


def open_what_fits(command: Load, progress: Progress) -> Opened:
    """The models, without those that do not fit the target. Raises an EngineError if the target cannot be loaded."""
    try:
        return open_models(command, command.draft, progress)
    except PairError as error:
        refusal = str(error)
    alone = replace(command, options=replace(command.options, head="none", drafts=()))
    for choice, draft in ((command, None), (alone, command.draft)):
        with suppress(PairError):
            return replace(open_models(choice, draft, progress), refusal=refusal)
    return replace(open_models(alone, None, progress), refusal=refusal)


def open_models(command: Load | Time, draft: str | None, progress: Progress) -> Opened:
    """The models, with what the draft model has learned and the texts that may be drafted from.

    Raises PairError for models that do not fit each other, or another EngineError.
    """
    target, options = Path(command.target), command.options
    own = Path(draft) if draft and draft != "mtp" and not read_model(Path(draft)).is_head else None
    learned_name = ""
    if own and Learning().is_on:
        learned = Learning().of(target, own)
        if learned.adoptions:
            options = replace(options, drafts=(*options.drafts, str(learned.current)))
            learned_name = f"{FURTHER_MODEL}{1 + len(options.drafts)}"
    stores = Collections().indexes(read_model(target))
    engine = Engine.load(target, draft, options, progress, stores=stores)
    return Opened(engine, own, learned_name)


def describe(opened: Opened) -> Loaded:
    """Returns the event that describes loaded models."""
    engine = opened.engine
    return Loaded(
        target=engine.target,
        draft=engine.draft,
        drafters=engine.drafters,
        recommended=engine.recommended,
        refusal=opened.refusal,
        n_ctx=engine.target.n_ctx,
        notices=engine.notices,
        plain_because=engine.plain_because,
        translated_because=engine.translated_because,
        no_images_because=engine.no_images_because,
        head=engine.head,
        further=tuple(engine.further.values()),
        memory=engine.memory_use,
        answer_format=engine.answer_format,
        thinking=engine.thinking,
        ends=tuple(sorted(engine.vocabulary.ends)),
    )


def by_hundredths(report: Callable[[float], None]) -> Callable[[float], None]:
    """Reports a share that grows from 0 to 1 once for every hundredth, and its end."""
    reported = -1.0

    def report_some(share: float) -> None:
        nonlocal reported
        if share >= reported + _PROGRESS_STEP or share >= 1 > reported:
            reported = share
            report(share)

    return report_some


def reported_progress(report: Callable[[float], None], stopped: Callable[[], bool]) -> Progress:
    """Reports the progress of a load, which ends if `stopped` says so or nobody listens any more."""
    report = by_hundredths(report)

    def progress(share: float) -> bool:
        try:
            report(share)
        except BrokenPipeError:  # an exception cannot pass through llama.cpp, which calls this
            return False
        return not stopped()

    return progress
