"""The HTTP application: its routes, who gets in, and how errors are sent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from specchat.engine_process.shared_client import SharedClient
from specchat.errors import SpecchatError
from specchat.serve.about import About
from specchat.serve.access import Guard, Keys
from specchat.serve.api_errors import ApiError, api_error
from specchat.serve.broadcast import Broadcast
from specchat.serve.endpoints import Endpoints, PromptLog
from specchat.serve.metrics import Metrics
from specchat.serve.pictures import Pictures
from specchat.serve.requests.base import ModelOffer
from specchat.serve.runner import Runner
from specchat.settings.server import Serving

_log = logging.getLogger(__name__)

_OPEN = ("/health",)
"""Paths for everybody, without a key."""

_ANTHROPIC = "/v1/messages"
_GONE = 499


def build_app(
    engine: SharedClient,
    serving: Serving,
    offer: ModelOffer,
    keys: Keys,
    *,
    log: PromptLog | None = None,
) -> Starlette:
    """The application over an engine that has loaded its models. `state.closing` ends its answers."""
    metrics = Metrics(engine, offer.model)
    broadcast = Broadcast(allowed=serving.watch == "on")
    runner = Runner(engine, metrics, broadcast, serving.timeout, serving.parallel)
    max_body = serving.max_body_bytes(images=not engine.info.no_images_because)
    endpoints = Endpoints(runner, Pictures(engine), offer, max_body, log)
    about = About(engine, offer, metrics, serving.parallel)
    routes = [
        Route("/v1/chat/completions", endpoints.chat, methods=["POST"]),
        Route("/v1/completions", endpoints.completions, methods=["POST"]),
        Route("/v1/responses", endpoints.responses, methods=["POST"]),
        Route("/v1/messages", endpoints.messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", endpoints.count_tokens, methods=["POST"]),
        Route("/v1/models", about.models),
        Route("/v1/models/{name:path}", about.model),
        Route("/v1/watch", endpoints.watch),
        Route("/health", about.health),
        Route("/metrics", about.metrics),
        Route("/openapi.json", about.openapi),
    ]
    guard = Guard(serving, keys)
    cors = Middleware(CORSMiddleware, allow_origins=[*guard.origins], allow_methods=["*"], allow_headers=["*"])
    guarded = Middleware(_Guarded, guard=guard)
    handlers: dict[Any, Any] = {SpecchatError: _known_error, HTTPException: _http_error, ClientDisconnect: _nobody}
    app = Starlette(
        routes=routes,
        middleware=[*([cors] if serving.cors else []), Middleware(_Unexpected), guarded],
        exception_handlers=handlers,
    )
    app.state.closing = runner.closing
    return app


class _Guarded:
    """Lets in whom the guard lets in."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope["path"], Headers(scope=scope))
            except ApiError as error:
                await _error_response(error, scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, path: str, headers: Mapping[str, str]) -> None:
        self._guard.check_origin(headers)
        if path not in _OPEN:
            self._guard.check_key(headers)


class _Unexpected:
    """Reports an unexpected error as such. The log gets its traceback, the client one line."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Mapping[str, object]) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(dict(message))

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # noqa: BLE001 - the outermost frame of a request
            _log.exception("an unexpected error")
            if scope["type"] == "http" and not begun:
                failure = ApiError(500, f"an unexpected {type(error).__name__}; the server's log has more")
                await _error_response(failure, scope["path"])(scope, receive, send)


def _error_response(error: ApiError, path: str) -> Response:
    """The response for an error, in the shape of the API that was asked."""
    body = error.anthropic() if path.startswith(_ANTHROPIC) else error.openai()
    return JSONResponse(body, error.status, headers=error.headers)


def _known_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SpecchatError)
    return _error_response(api_error(error), request.url.path)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    messages = {404: f"there is nothing at {request.url.path[:100]}", 405: f"{request.method} is not allowed here"}
    response = _error_response(
        ApiError(error.status_code, messages.get(error.status_code, error.detail)), request.url.path
    )
    response.headers.update(error.headers or {})
    return response


def _nobody(_request: Request, _error: Exception) -> Response:
    """The client has gone: nobody reads this."""
    return Response(status_code=_GONE)
