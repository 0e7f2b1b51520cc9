"""The endpoints about the server itself: the model, its state, and the description of its API."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from specchat import __version__
from specchat.engine_process.protocol import Loaded
from specchat.engine_process.shared_client import SharedClient
from specchat.serve.api_errors import ApiError
from specchat.serve.metrics import CONTENT_TYPE, Metrics
from specchat.serve.openapi import description
from specchat.serve.requests.base import ModelOffer
from specchat_engine.settings import VERIFIER_NAMES


class About:
    """Answers questions about the server."""

    def __init__(self, engine: SharedClient, offer: ModelOffer, metrics: Metrics, places: int) -> None:
        self._engine = engine
        self._offer = offer
        self._metrics = metrics
        self._places = places
        self._created = int(time.time())
        self._description = description()

    async def models(self, request: Request) -> Response:
        """GET /v1/models: the one model, in the words of OpenAI's, Anthropic's and vLLM's APIs."""
        model = self._model(self._engine.info)
        name = self._offer.model
        return JSONResponse({"object": "list", "data": [model], "has_more": False, "first_id": name, "last_id": name})

    async def model(self, request: Request) -> Response:
        """GET /v1/models/NAME. Raises ApiError for another name."""
        name = request.path_params["name"]
        if name != self._offer.model:
            message = f"there is no model {name[:80]!r}: this server has {self._offer.model!r}"
            raise ApiError(404, message, param="model", code="model_not_found")
        return JSONResponse(self._model(self._engine.info))

    async def health(self, request: Request) -> Response:
        """GET /health. An engine that died starts again with the next request, so that is well, too."""
        engine = self._engine
        return JSONResponse({"status": "ok", "engine": "running" if engine.alive else "starts with the next request"})

    async def metrics(self, request: Request) -> Response:
        """GET /metrics, for Prometheus."""
        return Response(self._metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(self, request: Request) -> Response:
        """GET /openapi.json."""
        return JSONResponse(self._description)

    def _model(self, loaded: Loaded) -> dict[str, Any]:
        target = loaded.target
        return {
            "id": self._offer.model,
            "object": "model",
            "type": "model",
            "display_name": loaded.pair_name,
            "created": self._created,
            "created_at": datetime.fromtimestamp(self._created, UTC).isoformat(),
            "owned_by": "specchat",
            "max_model_len": self._offer.n_ctx,
            "meta": {
                "n_vocab": target.n_vocab,
                "n_ctx_train": target.n_ctx_train,
                "n_params": target.n_params,
                "size": target.size_bytes,
            },
            "specchat": {
                "version": __version__,
                "target": target.name,
                "draft": loaded.draft.name if loaded.draft else None,
                "head": loaded.head.name if loaded.head else None,
                "drafters": loaded.drafters,
                "verifiers": VERIFIER_NAMES,
                "k_max": self._offer.k_max,
                "parallel": self._places,
            },
        }
