"""`specchat verify`: compare plain and speculative decoding with the user's own pair, token by token."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from specchat.bench.plan import NEED_MODELS
from specchat.cli.messages import one_line_from_native_code, say
from specchat.cli.verify_kinds import Ask, asks_by_kind, check_kinds
from specchat.cli.verify_reports import described, measured, report_for
from specchat.errors import FAILED, INTERRUPTED
from specchat.settings.options import ChatOptions
from specchat.settings.paths import data_folder
from specchat_engine import Engine, EngineError, Image, Message, SamplingParams, Session, SettingError, Settings
from specchat_engine.analysis.adversary import Adversary
from specchat_engine.analysis.audit import Case, Finding, audit
from specchat_engine.analysis.recording import Recording
from specchat_engine.codec import to_json
from specchat_engine.settings import (
    AUTO,
    DRAFTERS,
    FURTHER_MODEL,
    LOSSY_VERIFIERS,
    NEED_TREES,
    SAME,
    VERIFIER_NAMES,
    DraftLength,
    TreeSize,
)

TEMPERATURES = (0.0, 0.8)
KS = (1, 4, 16)
TREE = 4
"""How many tokens a tree has beside its chain by default."""

MAX_TOKENS = 64
"""The default length of answers, in tokens."""

SEED = 1
"""The default seed of every answer, so that a run can be repeated."""


OPEN: dict[str, Any] = {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.1}
"""Sampling that removes nothing and surprises often: a rule that trusts likely drafts goes wrong there, and one that
forgets a penalty."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is compared. The first verifier is compared with every k, the others with the middle one.

    Hybrid drafting is compared with k auto, unless k was given. `tree` holds for all drafts.
    `hard` adds what wrong rules do not survive: drafts that are made to mislead, the middle k with `TREE` as well, if
    the target can branch, and, unless a temperature was given, `OPEN` sampling.
    """

    temperatures: Sequence[float]
    drafters: Sequence[str]
    ks: Sequence[DraftLength]
    verifiers: Sequence[str]
    tree: TreeSize = AUTO
    hard: bool = True


def verify(
    options: ChatOptions,
    given: Collection[str],
    prompts: int,
    *,
    as_json: bool,
    kinds: Sequence[str] = (),
    image: Path | None = None,
) -> int:
    """Compares, prints what differs, and returns the exit code: 1 if a difference is not numerics.

    `given` are the flags that stood on the command line, by name: one that chooses a drafter, k, temperature or
    verifier narrows what is compared, and so do `kinds`. With an `image` each prompt comes after a message that shows
    it. Raises SettingError if nothing is left, or for an image that cannot be read or seen, EngineError if loading
    fails.
    """
    before = _seen(image) if image else []
    scope_of(options, given, DRAFTERS)
    check_kinds(kinds)
    one_line_from_native_code()
    adversary = Adversary()
    mislead = {adversary.name: adversary.made}
    with Engine.load(options.target, options.draft, options.load, drafters=mislead) as engine:
        engine.use_threads(*engine.threads.in_force.counts)  # keep the number, whatever other programs do meanwhile
        if engine.plain_because:
            say(f"there is nothing to verify, speculation is off: {engine.plain_because}")
            return FAILED
        if image and engine.no_images_because:
            raise SettingError(engine.no_images_because)
        scope = scope_of(options, given, engine.drafters)
        asks = asks_by_kind(kinds, engine, prompts)
        cases = [*all_cases(scope, options, engine.recommended, asks, branches=engine.can_branch)]
        seed = SEED if options.seed is None else options.seed

        def session_for(settings: Settings) -> Session:
            session = engine.session(options.system, settings, seed)
            session.messages += before
            return session

        report = report_for(engine, cases, seed, as_json=as_json)
        differences = _DifferenceFile()

        def hear(case: Case, finding: Finding | None) -> None:
            if finding and not finding.explained:
                differences.add(finding, session_for(case.settings), options)
            report.case(case, finding)

        try:
            result = audit(session_for, engine.memory, engine.vocabulary, cases, hear, adversary)
        except KeyboardInterrupt:
            say(" · ".join(part for part in (report.stopped(), differences.summary()) if part))
            return INTERRUPTED
        except EngineError:
            report.stopped()
            if differences.summary():
                say(differences.summary())
            raise
    report.finish(result)
    if not result.unexplained:
        return 0
    say(differences.summary())
    return FAILED


def _seen(image: Path) -> list[Message]:
    """A conversation in which an image was shown. Raises SettingError if it cannot be read."""
    try:
        data = image.read_bytes()
    except OSError as error:
        raise SettingError(f"--image {image} cannot be read: {error.strerror or error}") from None
    return [Message("user", "Look at this image.", images=(Image(data),)), Message("assistant", "I see it.")]


def scope_of(options: ChatOptions, given: Collection[str], loaded: Sequence[str]) -> Scope:
    """Everything that can be compared with the `loaded` drafters, narrowed by the given flags.

    Raises SettingError if a flag leaves nothing to compare.
    """
    drafters = [name for name in DRAFTERS if name in loaded and name != "none"]
    drafters += [name for name in loaded if name.startswith(FURTHER_MODEL)]
    scope = Scope(TEMPERATURES, drafters, KS, [name for name in VERIFIER_NAMES if name not in LOSSY_VERIFIERS])
    if "temperature" in given and "temperature" in options.sampling:
        scope = replace(scope, temperatures=(options.sampling["temperature"],))
    chosen = Settings(**options.chosen)
    if "drafter" in given:
        scope = replace(scope, drafters=(chosen.drafter,), hard=False)
    if "k" in given:
        scope = replace(scope, ks=(chosen.k,))
    if scope.ks == (0,) or scope.drafters == ("none",):
        raise SettingError("plain decoding is what all else is compared with: omit -k 0 and --drafter none")
    if "verifier" in given:
        if chosen.verifier in LOSSY_VERIFIERS:
            raise SettingError(
                f"the verifier {chosen.verifier!r} is lossy and does not promise the same text: use "
                f"{', '.join(scope.verifiers)}"
            )
        scope = replace(scope, verifiers=(chosen.verifier,))
    if "thought_verifier" in given and chosen.relaxes_thoughts:
        raise SettingError(
            f"the verifier {chosen.thought_verifier!r} for thoughts is lossy and does not promise the same text: omit "
            "--thought-verifier"
        )
    if "tree" in given:
        scope = replace(scope, tree=chosen.tree, verifiers=("coupled",) if chosen.tree else scope.verifiers)
    return scope


def all_cases(
    scope: Scope,
    options: ChatOptions,
    recommended: SamplingParams,
    asks: Mapping[str, Sequence[Ask]],
    *,
    branches: bool = True,
) -> Iterator[Case]:
    """What to ask, grouped by prompt and sampling. `branches` says whether the target can read trees."""
    own, chosen = options.sampled(recommended), Settings(**options.chosen)
    chosen = replace(chosen, thought_verifier=SAME, max_tokens=chosen.max_tokens or MAX_TOKENS)
    samplings = [replace(own, temperature=temperature) for temperature in scope.temperatures]
    if scope.hard and scope.temperatures == TEMPERATURES:
        samplings.append(replace(own, **OPEN))
    for (kind, asks_of_kind), sampling in product(asks.items(), samplings):
        is_open = sampling not in samplings[: len(scope.temperatures)]
        for ask, verifier in product(asks_of_kind, scope.verifiers):
            base = ask.settings(replace(chosen, sampling=sampling))
            for drafter, k in _drafts(scope, first=verifier == scope.verifiers[0], is_open=is_open):
                settings = replace(base, drafter=drafter, k=k, verifier=verifier, tree=scope.tree)
                yield Case(kind, ask.prompt, settings, ask.tools)
                middle = scope.ks[len(scope.ks) // 2]
                branching = scope.tree == AUTO and scope.hard and branches and drafter in NEED_MODELS
                if branching and (verifier, k) == ("coupled", middle):
                    yield Case(kind, ask.prompt, replace(settings, tree=TREE), ask.tools)


def _drafts(scope: Scope, *, first: bool, is_open: bool) -> Iterator[tuple[str, DraftLength]]:
    """Who drafts how much under one verifier, the first one or another."""
    middle = scope.ks[len(scope.ks) // 2 :][:1]
    if is_open:
        yield from product(("model",) if "model" in scope.drafters else (), middle)
    else:
        for drafter in scope.drafters if first else [name for name in scope.drafters if name not in NEED_TREES]:
            is_auto = drafter == "hybrid" and scope.ks == KS
            yield from product((drafter,), (AUTO,) if is_auto else scope.ks if first else middle)
    if scope.hard:
        yield from product((Adversary.name,), scope.ks if first else middle)


class _DifferenceFile:
    """Findings that are bugs, with all that is needed to repeat them: one line of JSON each, one file for a run."""

    def __init__(self) -> None:
        self._file = data_folder() / "verify" / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}.jsonl"
        self._first: Finding | None = None
        self._count = 0
        self._failure = ""

    def add(self, difference: Finding, session: Session, options: ChatOptions) -> None:
        """Writes one of them at once; `session` is one that would repeat it."""
        self._first = self._first or difference
        self._count += 1
        settings = difference.case.settings
        line = {
            **session.start_line(),
            "type": "difference",
            "case": described(difference.case),
            "system": options.system,
            "settings": to_json(settings),
            "options": asdict(options.load),
            "difference": measured(difference),
            "plain": _as_json(difference.plain),
            "speculative": _as_json(difference.speculative),
        }
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n")
        except OSError as error:
            self._failure = f"the trace {self._file} cannot be written: {error.strerror or error}"

    def summary(self) -> str:
        """How many there are, the reason of the first, and the file; empty if there are none."""
        if self._first is None:
            return ""
        these = "1 difference is" if self._count == 1 else f"{self._count} differences are"
        return f"{these} not numerics: {self._first.reason}; {self._failure or f'trace: {self._file}'}"


def _as_json(recording: Recording) -> dict[str, Any]:
    held = recording.held
    shown = {token: text.decode() for token, text in held.shown.items()}
    start = asdict(held.start) if held.start else None
    return asdict(recording) | {"held": {"text": held.text, "start": start, "shown": shown}}
