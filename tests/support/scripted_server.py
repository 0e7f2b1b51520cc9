"""An engine that answers by a script, rounds for it, and a server on loopback for real clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette

from specchat.engine_process.errors import Busy, ServeError
from specchat.engine_process.protocol import Ended, Generate, LikelyToken, Loaded, Position, Scored, Started
from specchat.engine_process.shared_client import AnswerEvent
from specchat.serve.access import Keys
from specchat.serve.app import build_app
from specchat.serve.endpoints import PromptLog
from specchat.serve.listener import address_of, listen, server_of
from specchat.serve.requests.base import ModelOffer
from specchat.settings.server import Serving
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.load_options import ModelInfo
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

LOADED = Loaded(
    target=ModelInfo("target", "/secret/target.gguf", n_vocab=300, n_ctx_train=512),
    draft=ModelInfo("draft", "/secret/draft.gguf"),
    drafters=("hybrid", "model", "lookup", "none"),
    recommended=SamplingParams(),
    refusal=None,
    n_ctx=512,
)


def made_round(index: int, accepted: Sequence[str], own: str | None, *, wrong: int = 0, source: str = "model") -> Round:
    """A round that accepted these texts and ended with the target's own, None for none; `wrong` drafts were not."""
    drafted = [DraftedToken(10 + i, text, None, None, Outcome.ACCEPTED) for i, text in enumerate(accepted)]
    outcomes = [Outcome.REJECTED, *[Outcome.DISCARDED] * wrong][:wrong]
    drafted += [DraftedToken(90, "?", None, None, outcome) for outcome in outcomes]
    kind = TokenKind.NONE if own is None else TokenKind.CORRECTION if wrong else TokenKind.BONUS
    kind = kind if drafted else TokenKind.PLAIN
    token = TargetToken(None if own is None else 50, own or "", None, kind)
    times = RoundTimes(draft=1.0, verify=4.0, other=0.5, rollback=0.5)
    return Round(index, source, 4, "", tuple(drafted), token, (), times, t_ms=20.0 + 6.0 * (index + 1))


@dataclass
class Script:
    """One answer: its rounds, and how it ends. An error is raised instead of the event with that number."""

    rounds: Sequence[Round] = ()
    reason: str = "end"
    text: str | None = None
    error: ServeError | None = None
    fails_at: int = 0
    waits_at: int | None = None
    cached: int = 0
    cache_miss: str = ""
    thinking: bool = False


HELLO = Script([made_round(0, (), "Hel"), made_round(1, ("lo", " wor"), "ld", wrong=2), made_round(2, (), "")])
"""Hello world, in three rounds: a plain one, one that accepted two of four drafted tokens, and the end."""


@dataclass
class ScriptedEngine:
    """Answers every request with the next script, the last one again and again."""

    scripts: list[Script] = field(default_factory=lambda: [HELLO])
    info: Loaded = LOADED
    running: int = 0
    waiting: int = 0
    deaths: int = 0
    alive: bool = True
    busy: bool = False
    asked: list[Generate] = field(default_factory=list)
    left: list[Generate] = field(default_factory=list)
    started: threading.Event = field(default_factory=threading.Event)
    freed: threading.Event = field(default_factory=threading.Event)

    async def answer(self, request: Generate) -> AsyncGenerator[AnswerEvent, None]:
        """The events of the script."""
        if self.busy:
            raise Busy(4, 7)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        self.asked.append(request)
        self.running += 1
        complete = False
        try:
            place = 0
            for event in _events(request, script):
                if script.error and place == script.fails_at:
                    raise script.error
                if place == script.waits_at:
                    self.started.set()
                    await asyncio.Event().wait()
                yield event
                place += not isinstance(event, Scored)
            complete = True
        finally:
            self.running -= 1
            if not complete:
                self.left.append(request)
                self.freed.set()

    async def count(self, request: Generate) -> int:
        """As many tokens as there are words."""
        self.asked.append(request)
        return sum(len(message.content.split()) for message in request.messages)


def _events(request: Generate, script: Script) -> Iterator[AnswerEvent]:
    prompt = [_position(text) for text in ("<a>", "<b>", "<c>")] if request.echo else []
    line = {
        "type": "start",
        "schema": 1,
        "target": {"name": "target", "n_params": 0, "path": "/secret/target.gguf"},
        "verifier": "coupled",
        "lossless": True,
        "seed": request.seed,
        "turn": 0,
        "prompt_tokens": 3,
        "messages": template_messages(request),
        **({"opens_reasoning": True} if script.thinking else {}),
    }
    yield Started(line, script.cached, tuple(prompt), script.cache_miss)
    for event in script.rounds:
        texts = [token.text for token in event.drafted if token.outcome is Outcome.ACCEPTED]
        texts += [] if event.token.kind is TokenKind.NONE else [event.token.text]
        if request.logprobs is not None:
            yield Scored(tuple(_position(text, request.logprobs) for text in texts))
        yield event
    text = "".join(event.text for event in script.rounds) if script.text is None else script.text
    yield Ended(script.reason, text, TurnStats().to_json())


def _position(text: str, likeliest: int = 0) -> Position:
    others = tuple(_likely(f"other{i}", -2.0 - i) for i in range(likeliest))
    return Position(_likely(text, -0.5), others)


def _likely(text: str, logprob: float) -> LikelyToken:
    return LikelyToken(1, text, logprob, tuple(text.encode()))


def template_messages(request: Generate) -> list[dict[str, Any]]:
    """The messages of a request as the chat template gets them."""
    return [message.for_engine().to_json() for message in request.messages]


def offer(settings: Settings | None = None) -> ModelOffer:
    """What the scripted engine offers."""
    return ModelOffer("target", settings or Settings(), LOADED.drafters, k_max=16, n_ctx=512, ends=(2,))


def scripted_app(
    engine: ScriptedEngine,
    serving: Serving | None = None,
    log: PromptLog | None = None,
    settings: Settings | None = None,
) -> Starlette:
    """The application over a scripted engine."""
    serving = serving or Serving()
    return build_app(engine, serving, offer(settings), Keys(serving.api_key), log=log)


@contextmanager
def on_loopback(app: Starlette) -> Iterator[str]:
    """The URL of a real server for the application, in a thread of this process."""
    server, listening = server_of(app), listen("127.0.0.1", 0)
    server.config.timeout_graceful_shutdown = 600  # answers end by themselves when the server does
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield address_of(listening)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
