"""Split speculation: answers whose drafts the clients make, one request for each round."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from specchat.errors import SpecchatError
from specchat.serve.answers.figures import Figures
from specchat.serve.api_errors import ApiError, api_error, bad
from specchat.serve.broadcast import Broadcast
from specchat.serve.engine import ServingEngine
from specchat.serve.errors import RequestFailed
from specchat.serve.metrics import Metrics
from specchat.serve.protocol import Awaits, Begun, Finished, Made, Request
from specchat.serve.requests.verify import VerifyRequest
from specchat_engine.codec import to_json
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.settings import SAME

PATIENCE = 30.0
"""For so many seconds an answer waits for the next request of its client."""

_KIND = "split"
_FAILED = "the answer ended with an error; the engine's log has more"

Events = AsyncGenerator[Begun | Made | Awaits | Finished, None]


@dataclass(slots=True)
class _Open:
    """An answer between two requests: it has `position` tokens, and had the first one after `first` seconds."""

    events: Events
    number: int
    began: float
    first: float | None = None
    position: int = 0
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    expiry: asyncio.TimerHandle | None = None


class Verifying:
    """The open answers. Each has a place of the engine until it ends or its client is silent for too long."""

    def __init__(
        self,
        engine: ServingEngine,
        metrics: Metrics,
        broadcast: Broadcast,
        *,
        longest: int,
        patience: float = PATIENCE,
    ) -> None:
        """At most `longest` tokens are verified at a time."""
        self._engine = engine
        self._metrics = metrics
        self._broadcast = broadcast
        self._longest = longest
        self._patience = patience
        self._open: dict[str, _Open] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def open(self, request: Request) -> dict[str, Any]:
        """Begins an answer: its id, and all that a client needs to draft for it. Raises ApiError."""
        settings = replace(request.settings, drafter="none", verifier="coupled", thought_verifier=SAME)
        request = replace(request, echo=True, settings=settings)
        began, opened = monotonic(), False
        events = self._engine.split(request)
        try:
            begun, _ = await anext(events), await anext(events)
            if not isinstance(begun, Begun):
                raise RequestFailed(_FAILED)
            opened = True
        except SpecchatError as error:
            raise self._failure(error) from None
        finally:
            if not opened:
                await events.aclose()
        figures = Figures()
        figures.begin(begun)
        self._metrics.prompt(_KIND, figures)
        self._broadcast.take(begun)
        name = f"verify-{secrets.token_hex(12)}"
        self._open[name] = one = _Open(events, begun.number, began)
        self._expect(name, one)
        return {
            "id": name,
            "seed": turn_seed(request.seed, 0, 0),
            "sampling": to_json(request.settings.sampling),
            "prompt_ids": [position.token.id for position in begun.prompt],
            "prompt_text": "".join(position.token.text for position in begun.prompt),
            "longest": self._longest,
            "expires_in": self._patience,
        }

    async def draws(self, asked: VerifyRequest) -> dict[str, Any]:
        """The target's own tokens after what was drafted, and why the answer ends with them. Raises ApiError."""
        one = self._found(asked.id)
        async with one.asking:
            self._found(asked.id)  # somebody else's question may have ended it
            if asked.close:
                await self._end(asked.id)
                return {"id": asked.id, "position": one.position, "tokens": [], "end": "cancelled"}
            self._check(asked, one)
            verified, failed = False, ""
            try:
                self._engine.draft(one.number, asked.drafted)
                made = await anext(one.events)
                tokens = self._emitted(one, made)
                after = await anext(one.events)
                verified = True
            except SpecchatError as error:
                failed = str(error)
                raise self._failure(error) from None
            finally:
                if not verified:
                    await self._end(asked.id, failed)
            one.position += len(tokens)
            end = None
            if isinstance(after, Finished):
                end = after.reason
                seconds = monotonic() - one.began
                self._metrics.ended(_KIND, end, seconds=seconds, first=one.first, num_tokens=one.position)
                self._broadcast.take(after)
                await self._end(asked.id)
            else:
                self._expect(asked.id, one)
            return {"id": asked.id, "position": one.position, "tokens": tokens, "end": end}

    def _found(self, name: str) -> _Open:
        """The open answer of this id. Raises ApiError if there is none."""
        if name in self._open:
            return self._open[name]
        message = f"there is no answer {name!r}: it has ended, or nobody asked for {self._patience:g} s"
        raise ApiError(404, message, param="id", code="unknown_id")

    def _emitted(self, one: _Open, made: object) -> list[int]:
        """The tokens of a round, which is counted. Raises RequestFailed for an answer that ended instead."""
        if not isinstance(made, Made):
            raise RequestFailed(_FAILED)
        if one.first is None:
            one.first = monotonic() - one.began
        self._metrics.round(_KIND, made.round)
        self._broadcast.take(made)
        return [token.id for token in made.round.emitted if token.id is not None]

    def _check(self, asked: VerifyRequest, one: _Open) -> None:
        if asked.position != one.position:
            raise bad(f"position is {asked.position}: the answer has {one.position} tokens", "position")
        if len(asked.drafted) > self._longest:
            raise bad(f"{len(asked.drafted)} tokens were drafted: at most {self._longest} are verified", "drafted")
        size = self._engine.info.target.n_vocab
        if any(not 0 <= token < size for token in asked.drafted):
            raise bad(f"a drafted token is not in the vocabulary: use 0 to {size - 1}", "drafted")

    def _expect(self, name: str, one: _Open) -> None:
        """Ends the answer if nobody asks for long."""
        if one.expiry:
            one.expiry.cancel()

        def expire() -> None:
            if not one.asking.locked():
                task = asyncio.get_running_loop().create_task(self._end(name))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

        one.expiry = asyncio.get_running_loop().call_later(self._patience, expire)

    async def _end(self, name: str, failed: str = "") -> None:
        """Forgets an answer, which then leaves its place. `failed` says why, if it failed."""
        one = self._open.pop(name, None)
        if one:
            self._broadcast.break_off(one.number, "error" if failed else "cancelled", failed)
            if one.expiry:
                one.expiry.cancel()
            with suppress(SpecchatError):
                await one.events.aclose()

    def _failure(self, error: SpecchatError) -> ApiError:
        """The error that the client gets, which is counted."""
        failure = api_error(error)
        self._metrics.failed(_KIND, failure.status)
        return failure
