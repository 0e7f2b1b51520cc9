"""What a server of specchat is asked for in split speculation: its own draws after drafted tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.requests import request_body
from specchat.remote.servers import Engine, Server, recognise
from specchat.remote.transport import Transport
from specchat.remote.values import counts, mapping, text
from specchat.worker.protocol import ChatMessage
from specchat_engine.codec import from_json
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from specchat_engine.split import Draws

_OF_STREAMS = ("stream", "stream_options", "specchat", "k", "drafter", "verifier", "thought_verifier")
"""What a request says of the server's own drafts, and of how they are told."""

_ENDS = ("end", "stop", "length", "context", "cancelled")


@dataclass(frozen=True, slots=True)
class Opened:
    """An answer that a server has begun: the seed of its noise, how its target draws, the prompt as the target reads
    it, with its text, and how many drafted tokens it verifies at a time."""

    id: str
    seed: int
    sampling: SamplingParams
    prompt_ids: tuple[int, ...]
    prompt_text: str
    longest: int

    @classmethod
    def of(cls, value: Any) -> Opened:
        """What a server sent. Raises RemoteError for anything else."""
        told = mapping(value)
        ids, seed, longest = counts(told.get("prompt_ids")), told.get("seed"), told.get("longest")
        try:
            sampling: SamplingParams = from_json(SamplingParams, told.get("sampling"))
        except (ValueError, KeyError, TypeError):
            ids = None
        if not ids or not isinstance(seed, int) or not isinstance(longest, int) or not text(told.get("id")):
            raise RemoteError("the server began no answer to verify drafts for: is it another version of specchat?")
        return cls(text(told["id"]), seed, sampling, ids, text(told.get("prompt_text")), longest)


class Verifying:
    """One answer of a server whose drafts are made here. Close it at the end."""

    def __init__(self, address: Address) -> None:
        """Asks the server what it is. Raises RemoteError for one that cannot verify drafts."""
        self._address = address
        self._url = address.api("/verify")
        self._transport = Transport(address)
        self._id = ""
        try:
            self.server: Server = recognise(self._transport.questions(), address)
        except BaseException:
            self._transport.close()
            raise
        if self.server.engine is not Engine.SPECCHAT:
            self._transport.close()
            raise RemoteError(f"{address.host} is {self.server.engine}: split speculation needs a specchat server")

    def open(self, messages: Sequence[ChatMessage], settings: Settings, seed: int) -> Opened:
        """Begins the answer. Raises RemoteError."""
        body = request_body(self.server, messages, settings, seed=seed).json | {"seed": seed}
        question = {name: value for name, value in body.items() if name not in _OF_STREAMS}
        opened = Opened.of(self._transport.post(self._url, question))
        self._id = opened.id
        return opened

    def draws(self, position: int, drafted: Sequence[int]) -> Draws:
        """The target's tokens after what was drafted. Raises RemoteError."""
        question = {"id": self._id, "position": position, "drafted": [*drafted]}
        told = mapping(self._transport.post(self._url, question))
        tokens, end = counts(told.get("tokens")), told.get("end")
        if tokens is None or not (end is None or end in _ENDS) or not (tokens or end):
            raise RemoteError(f"{self._address.host} sent something else than the target's tokens")
        if end is not None:
            self._id = ""
        return Draws(tokens, end)

    def close(self) -> None:
        """Ends the answer, if it has not ended, and the connection."""
        try:
            if self._id:
                self._transport.post(self._url, {"id": self._id, "close": True})
        except RemoteError:
            pass  # the server forgets it by itself
        finally:
            self._transport.close()
