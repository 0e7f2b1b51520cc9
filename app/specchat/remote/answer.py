"""One answer of a server while it arrives: from its chunks to the events and the trace of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from specchat import __version__
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Notice, Recounted, Started
from specchat.remote.chunks import Chunk, Drafting, Timings
from specchat.remote.round_maker import SOURCE, placed
from specchat.remote.rounds import reader_for
from specchat.remote.servers import EngineKind, RemoteServer
from specchat.remote.thoughts import ThoughtMarks
from specchat.remote.tool_calls import RemoteCalls
from specchat.remote.values import mapping, number, text
from specchat_engine.decoding.reasoning import ReasoningCounter
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import REMOTE_SCHEMA, settings_part

_FILTERED = "content_filter"
_REMEDY = ": it reports its rounds if it is started with --per-request-spec-decode-metrics detailed"


def start_line(server: RemoteServer, host: str, question: Generate, prompt_tokens: int | None) -> dict[str, Any]:
    """The first line of the trace. What the server does not report is null."""
    settings = settings_part(question.settings)
    if not server.drafters:
        settings = {"drafter": SOURCE, "verifier": "", "lossless": None, "params": settings["params"]}
    return {
        "type": "start",
        "schema": REMOTE_SCHEMA,
        "source": "remote",
        "engine": {"kind": server.engine.value, "version": server.version, "host": host},
        "target": {"name": server.model.name, "n_params": server.model.n_params},
        "draft": {"name": server.draft, "n_params": 0} if server.draft else None,
        **settings,
        "seed": question.seed,
        "turn": question.turn,
        **({} if prompt_tokens is None else {"prompt_tokens": prompt_tokens}),
        "messages": [_recorded(message) for message in question.messages],
        **({"tools": [*question.tools.functions]} if question.tools.functions else {}),
        "versions": {"specchat": __version__},
        "machine": {},
    }


def _recorded(message: ChatMessage) -> dict[str, Any]:
    """A message with the hashes of its images, which are the names of their files."""
    hashes = [PurePath(path).stem for path in message.images]
    return message.for_engine().to_json() | ({"images": hashes} if hashes else {})


class RemoteAnswer:
    """Takes the chunks of one answer. `clock` gives the milliseconds since the request was sent.

    The messages of the question are those that the server got.
    """

    def __init__(self, server: RemoteServer, host: str, question: Generate, clock: Callable[[], float]) -> None:
        self._server = server
        self._host = host
        self._question = question
        self._clock = clock
        self._reader = reader_for(server.engine, speculates=server.speculates)
        self._thinking = ThoughtMarks()
        self._calls = RemoteCalls()
        self._rounds: list[Round] = []
        self._text: list[str] = []
        self._timings: Timings | None = None
        self._drafting: Drafting | None = None
        self._end: Mapping[str, Any] | None = None
        self._finish = ""
        self._prompt_tokens: int | None = None
        self._cached_tokens: int | None = None
        self._completion_tokens: int | None = None
        self._first_ms: float | None = None

    @property
    def begun(self) -> bool:
        """Whether anything of the answer has come."""
        return self._first_ms is not None

    @property
    def finished(self) -> bool:
        """Whether the server said that the answer is complete."""
        return bool(self._finish)

    def take(self, chunk: Chunk) -> Iterator[Event]:
        """The events of one chunk: Started with the first token, then rounds."""
        now = self._clock()
        chunk = self._calls.written(chunk)
        self._prompt_tokens = chunk.prompt_tokens if chunk.prompt_tokens is not None else self._prompt_tokens
        self._cached_tokens = chunk.cached_tokens if chunk.cached_tokens is not None else self._cached_tokens
        if chunk.completion_tokens is not None:
            self._completion_tokens = chunk.completion_tokens
        self._drafting = chunk.drafting or self._drafting
        self._finish, self._end = chunk.finish or self._finish, chunk.end or self._end
        self._timings = chunk.timings or self._timings
        if chunk.adds and not self.begun:
            yield self._started(now)
        arriving = self._thinking.tokens(chunk)
        self._text += [token.text for token in arriving]
        yield from self._numbered(self._reader.take(chunk, arriving, now))

    def end(self, reason: str = "") -> Iterator[Event]:
        """The events at the end of the answer, or where it was stopped for a `reason`."""
        if not self.begun:
            yield self._started(self._clock())
        yield from self._numbered(self._reader.finish())
        again = None if reason else self._reader.recount(self._drafting)
        if again is not None and (rounds := placed(again)) != self._rounds:
            self._rounds = rounds
            yield Recounted(tuple(rounds))
        yield from self._notices(reason)
        whole_text = self._whole_text()
        whole = not reason and self._finish != "length" and self._question.tools.functions
        calls = self._calls.made(self._question.turn) if whole else ()
        content = self._calls.beside("".join(self._text)) if calls else ""
        stats = self._stats(whole=not reason)
        yield Ended(reason or self._reason(), whole_text, stats, calls=calls, content=content)

    def _started(self, now: float) -> Started:
        self._first_ms = now
        return Started(start_line(self._server, self._host, self._question, self._prompt_tokens))

    def _numbered(self, rounds: Sequence[Round]) -> list[Round]:
        before = self._rounds[-1].t_ms if self._rounds else 0.0
        numbered = placed(rounds, len(self._rounds), before)
        self._rounds += numbered
        return numbered

    def _notices(self, reason: str) -> Iterator[Notice]:
        if self._finish == _FILTERED:
            yield Notice("a filter of the server ended the answer")
        engine = self._server.engine
        if reason or not engine.recounts:
            return
        remedy = _REMEDY if engine is EngineKind.VLLM else ""
        if self._drafting is None:
            if engine is EngineKind.VLLM and self._server.speculates:
                yield Notice(f"{engine} at {self._host} drafts, but does not report how{remedy}")
        elif sum(len(event.drafted) for event in self._rounds) != self._drafting.num_drafted:
            yield Notice(
                f"{engine} at {self._host} reports only how much it drafted, so not all drafts are shown{remedy}"
            )

    def _reason(self) -> str:
        if self._finish == "length":
            return "length" if self._question.settings.max_tokens else "context"
        return "end"

    def _whole_text(self) -> str:
        if self._end is not None and text(self._end.get("text")):
            return text(self._end["text"])
        return "".join((*self._text, self._thinking.finish()))

    def _stats(self, *, whole: bool) -> dict[str, Any]:
        """The statistics of the rounds, with the server's own counters where it sent them."""
        stats = TurnStats(prompt_tokens=self._prompt_tokens or 0, cached_tokens=self._cached_tokens or 0)
        reasoning = ReasoningCounter()
        for event in self._rounds:
            stats.observe(event)
            reasoning.observe(event)
        stats.reasoning = reasoning.stats
        timings, stats.ttft_ms = self._timings, self._first_ms or 0.0
        stats.prompt_ms = stats.ttft_ms if timings is None or timings.prompt_ms is None else timings.prompt_ms
        if whole:
            self._correct(stats)
        speedup = number(mapping(self._end and self._end.get("stats")).get("speedup"))
        counted = stats.to_json() | {"tokens_per_second": self._speed(stats), "speedup": speedup}
        if self._cached_tokens is None:
            del counted["cached_tokens"]
        return counted

    def _speed(self, stats: TurnStats) -> float | None:
        """Tokens per second. The tokens that came first count only if their time is known."""
        untimed = self._rounds[0].num_emitted if self._rounds and not self._rounds[0].ms.total else 0
        timed = stats.num_tokens - untimed
        return timed / stats.decode_ms * 1000 if timed > 0 and stats.decode_ms else None

    def _correct(self, stats: TurnStats) -> None:
        if self._completion_tokens is not None:
            stats.num_tokens = self._completion_tokens
        if self._drafting is not None:
            stats.num_drafts = self._drafting.num_drafts
            stats.num_draft_tokens = self._drafting.num_drafted
            stats.num_accepted_tokens = self._drafting.num_accepted
        elif self._timings is not None and self._timings.num_drafted:
            stats.num_draft_tokens = self._timings.num_drafted
            stats.num_accepted_tokens = self._timings.num_accepted
