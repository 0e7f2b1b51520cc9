"""Questions of split speculation: POST /v1/verify with the id of an open answer."""

from __future__ import annotations

from pydantic import Field

from specchat.serve.requests.base import Wire


class VerifyRequest(Wire):
    """Token ids that a client drafted for an open answer, from an output position on. `close` ends the answer."""

    id: str = Field(max_length=64)
    position: int = Field(default=0, ge=0, lt=2**31)
    drafted: list[int] = Field(default_factory=list, max_length=4096)
    close: bool = False
