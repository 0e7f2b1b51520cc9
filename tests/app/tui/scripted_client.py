"""An engine of the imagination: it loads at once and plays scripted rounds, as far as the test lets it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from specchat.engine_process.open_task import Gate
from specchat.engine_process.protocol import (
    ChatMessage,
    DraftTimed,
    DraftTrial,
    Ended,
    Event,
    Generate,
    Inspect,
    Inspected,
    Kept,
    Loaded,
    Loading,
    Notice,
    Offer,
    Prefix,
    Prepare,
    Recalled,
    Started,
    Summarised,
    TaskFailed,
)
from specchat.settings.options import ChatOptions
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.codec import to_json
from specchat_engine.decoding.rounds import (
    DraftedToken,
    Outcome,
    PromptProgress,
    Round,
    RoundTimes,
    TargetToken,
    TokenKind,
)
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.load_options import LoadOptions, ModelInfo
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

LOADED = Loaded(
    target=ModelInfo("builtin-guide", "guide.gguf", n_params=18_000_000, n_ctx=1024),
    draft=ModelInfo("builtin-draft", "draft.gguf", n_params=2_000_000, n_ctx=1024),
    drafters=("hybrid", "model", "lookup", "none"),
    recommended=SamplingParams(temperature=0.7),
    refusal=None,
    n_ctx=1024,
)


def chat_options(**changes: object) -> ChatOptions:
    """The options of a chat whose seed is 7, with these settings of the engine or options in place of others."""
    values: dict[str, object] = {
        "target": Path("guide.gguf"),
        "draft": Path("draft.gguf"),
        "load": LoadOptions(),
        "seed": 7,
    }
    engines = {each.name for each in fields(Settings)} - {each.name for each in fields(ChatOptions)}
    chosen = {name: changes.pop(name) for name in engines & changes.keys()}
    return ChatOptions(**(values | changes), chosen=chosen)  # type: ignore[arg-type]


def script(notation: str) -> list[Round]:
    """Rounds from a notation: `|` stands between rounds and `>` before the target's own token.

    Before the `>` come the drafted tokens: `~rejected~`, `/discarded/`, and accepted ones, which begin with a space.
    """
    rounds = []
    spent = 0.0
    for index, part in enumerate(notation.split("|")):
        drafted_part, _, target = part.rpartition(">")
        drafted = []
        for rejected, discarded, accepted in re.findall(r"~([^~]*)~|/([^/]*)/|( ?[^ ~/]+|\s)", drafted_part):
            outcome = Outcome.REJECTED if rejected else Outcome.DISCARDED if discarded else Outcome.ACCEPTED
            drafted.append(DraftedToken(1, rejected or discarded or accepted, 0.5, 0.6, outcome))
        kind = TokenKind.PLAIN if not drafted else TokenKind.BONUS
        if any(token.outcome is Outcome.REJECTED for token in drafted):
            kind = TokenKind.CORRECTION
        times = RoundTimes(0.1 * len(drafted), 1.5, 0.05)
        spent += times.draft + times.verify + times.other
        source = "model" if index % 3 else "lookup"
        token = TargetToken(2, target, 0.6, kind)
        rounds.append(Round(index, source, 4, "fixed", tuple(drafted), token, (), times, spent))
    return rounds


def ended(rounds: Sequence[Round], reason: str = "end") -> Ended:
    """The end that an engine would report after these rounds."""
    stats = TurnStats(prompt_tokens=20, plain_ms=1.0)
    for event in rounds:
        stats.observe(event)
    return Ended(reason, "".join(event.text for event in rounds), stats.to_json())


def start_line(messages: Sequence[ChatMessage], turn: int, seed: int, settings: Settings) -> dict[str, Any]:
    """The first line of a trace, as the engine writes it."""
    return {
        "type": "start",
        "schema": 1,
        "target": {"name": "builtin-guide", "n_params": 18_000_000},
        "draft": {"name": "builtin-draft", "n_params": 2_000_000},
        "drafter": settings.drafter,
        "verifier": settings.verifier,
        "lossless": settings.verifier != "typical",
        "params": {"k": settings.k, "thinking": settings.thinking} | to_json(settings.sampling),
        "seed": seed,
        "turn": turn,
        "prompt_tokens": 20,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
    }


@dataclass
class ScriptedClient:
    """Plays `rounds` for every message, or the next of `variants` while there are some.

    Behind `hold_after` of them it waits until `go` is set or it is stopped. The next loads give what
    `loads` holds, then `load_events`. After a failure that it died of it loads again before the next answer, and takes
    longer than the screen's clock. A draft that is timed gains what `gains` has of its name. An answer that is offered
    tools makes the next of `calls` while there are some.
    """

    rounds: list[Round] = field(default_factory=lambda: script("> Hello| there> world"))
    load_events: tuple[Event, ...] = (Loading(0.5), LOADED)
    loads: list[tuple[Event, ...]] = field(default_factory=list)
    loaded: list[tuple[Path, Path | None]] = field(default_factory=list)
    threads: list[LoadOptions] = field(default_factory=list)
    reading: PromptProgress | None = None
    hold_loading: bool = False
    hold_after: int | None = None
    failure: TaskFailed | None = None
    go: threading.Event = field(default_factory=threading.Event)
    settings: list[Settings] = field(default_factory=list)
    asked: list[tuple[ChatMessage, ...]] = field(default_factory=list)
    prepared: list[tuple[ChatMessage, ...]] = field(default_factory=list)
    prefixes: list[Prefix] = field(default_factory=list)
    noises: list[tuple[int, int, int]] = field(default_factory=list)
    variants: list[list[Round]] = field(default_factory=list)
    calls: list[tuple[ToolCall, ...]] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    prepared_offers: list[Offer] = field(default_factory=list)
    inspected: list[tuple[tuple[int, ...], int, tuple[int, ...]]] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    recalled: list[Path] = field(default_factory=list)
    timed: list[Path] = field(default_factory=list)
    gains: dict[str, Event] = field(default_factory=dict)
    hold_timing: bool = False
    opens_reasoning: bool = False
    stopped: bool = False
    died: bool = False
    busy: bool = False
    """Whether it loads or answers, or waits in the middle of that."""
    waits: bool = False
    at_gate: bool = False
    closed: bool = False
    gate: Gate = field(default_factory=Gate)

    @property
    def idle(self) -> bool:
        """Whether nothing comes until the test does something."""
        held = self.waits and not (self.go.is_set() or self.stopped)
        return not self.busy or held or (self.at_gate and self.gate.holds)

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        self.busy = True
        self.loaded.append((target, draft))
        if self.hold_loading:
            self._wait()
        yield from self.loads.pop(0) if self.loads else self.load_events
        self.busy = False

    def generate(self, request: Generate) -> Iterator[Event]:
        self.busy = True
        self.stopped = False
        return self._generated(request)

    def _generated(self, request: Generate) -> Iterator[Event]:
        prefix, tools = request.prefix, request.tools
        self.asked.append(request.messages)
        self.offers.append(tools)
        self.settings.append(request.settings)
        self.prefixes.append(prefix)
        self.noises.append((request.seed, request.turn, request.attempt))
        self.gate.begin(request.frozen)
        try:
            yield from self._played(request)
        finally:  # a reader may go away after the last event
            self.busy = False

    def _played(self, request: Generate) -> Iterator[Event]:
        prefix, tools = request.prefix, request.tools
        if self.died:
            yield from self.load_events
            self.died = False
            time.sleep(0.3)
        opened = {"opens_reasoning": True} if self.opens_reasoning else {}
        text = prefix if isinstance(prefix, str) else ""
        given = {"prefix": [1] * len(text), "prefix_text": text} if text else {}
        if self.reading:
            yield self.reading
        line = start_line(request.messages, request.turn, request.seed, request.settings)
        yield Started(line | opened | given)
        played = []
        for event in self.variants.pop(0) if self.variants else self.rounds:
            if self.hold_after is not None and len(played) == self.hold_after:
                self._wait()
            self.at_gate = True
            self.gate.wait()
            self.at_gate = False
            if self.stopped:
                break
            played.append(event)
            yield event
        if self.failure is not None and not self.stopped:
            self.died = self.failure.died
            yield self.failure
        elif self.stopped:
            last = ended(played, "cancelled")
            yield replace(last, text=text + last.text)
        elif tools.functions and self.calls:
            yield replace(ended(played), calls=self.calls.pop(0), content=played[0].text if played else "")
        else:
            last = ended(played)
            yield replace(last, text=text + last.text)

    def _wait(self) -> None:
        self.waits = True
        self.go.wait(600)
        self.waits = False

    def prepare(self, request: Prepare) -> None:
        self.prepared.append(request.messages)
        self.prepared_offers.append(request.tools)

    def set(self, settings: Settings) -> None:
        self.settings.append(settings)

    def inspect(self, request: Inspect) -> Iterator[Event]:
        tokens, position, asked = request.tokens, request.position, request.asked
        self.inspected.append((tokens, position, asked))
        known = dict.fromkeys((tokens[position], *asked))
        inspected = tuple(
            InspectedToken(
                token, f"<{token}>", 0.5 / rank, rank, 1.0 if rank == 1 else 0.0, None if rank == 1 else "top-k"
            )
            for rank, token in enumerate(known, 1)
        )
        yield Inspected(Inspection(position, tokens[position], inspected, request.settings.sampling))

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        self.kept.append(folder)
        yield Kept(True)

    def recall(self, folder: Path) -> Iterator[Event]:
        self.recalled.append(folder)
        yield Recalled(folder in self.kept)

    def use_threads(self, options: LoadOptions) -> None:
        self.threads.append(options)

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        self.timed.append(draft)
        self.stopped = False
        yield DraftTrial(0.5)
        if self.hold_timing:
            self._wait()
        yield TaskFailed("timing was stopped") if self.stopped else self.gains.get(draft.stem, DraftTimed(None))

    def freeze(self, on: bool) -> None:
        self.gate.freeze(on)

    def step(self, rounds: int = 1) -> None:
        self.gate.step(rounds)

    def cancel(self) -> None:
        self.stopped = True
        self.go.set()
        self.gate.stop()

    def close(self) -> None:
        self.closed = True
        self.cancel()


@dataclass
class Summarising(ScriptedClient):
    """An engine that summarises the first exchange when there are three questions."""

    summary: str = "what was said"

    def _generated(self, request: Generate) -> Iterator[Event]:
        if len(request.messages) == 5:
            yield Notice("the context is nearly full")
            yield Summarised(self.summary, 2)
        yield from super()._generated(request)
