"""The description of the API in OpenAPI's form, from the models of the requests."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from specchat import __version__
from specchat.serve.requests.base import Wire
from specchat.serve.requests.chat import ChatRequest
from specchat.serve.requests.completions import CompletionRequest
from specchat.serve.requests.messages import CountRequest, MessagesRequest
from specchat.serve.requests.responses import ResponsesRequest

_POSTED: dict[str, tuple[type[Wire], str]] = {
    "/v1/chat/completions": (ChatRequest, "Answer a conversation (OpenAI's chat API)"),
    "/v1/completions": (CompletionRequest, "Continue raw texts (OpenAI's older API)"),
    "/v1/responses": (ResponsesRequest, "Answer a conversation (OpenAI's newer API)"),
    "/v1/messages": (MessagesRequest, "Answer a conversation (Anthropic's API)"),
    "/v1/messages/count_tokens": (CountRequest, "Count the tokens of a conversation (Anthropic's API)"),
}
_ASKED = {
    "/v1/models": "The model",
    "/v1/watch": "Watch the answers to all clients, as Server-Sent Events, if the server allows that",
    "/health": "Whether the server runs",
    "/metrics": "Metrics for Prometheus",
}
_JSON = "application/json"
_ERRORS = {
    "400": "A value that cannot be used",
    "401": "No key, or an unknown one",
    "403": "A web page or a name that may not use the server",
    "413": "Too large",
    "429": "Too many requests wait",
    "502": "The engine's process ended",
    "503": "The models cannot be loaded",
    "504": "The answer took too long",
}


def description() -> dict[str, Any]:
    """The whole description."""
    kinds = {kind for kind, _ in _POSTED.values()}
    template = "#/components/schemas/{model}"
    names, shared = models_json_schema([(kind, "validation") for kind in kinds], ref_template=template)
    paths: dict[str, Any] = {
        path: {"post": _posted(about, names[kind, "validation"])} for path, (kind, about) in _POSTED.items()
    }
    paths |= {path: {"get": {"summary": about, "responses": _responses()}} for path, about in _ASKED.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "specchat", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": shared.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _posted(about: str, schema: Any) -> dict[str, Any]:
    body = {"required": True, "content": {_JSON: {"schema": schema}}}
    return {"summary": about, "requestBody": body, "responses": _responses()}


def _responses() -> dict[str, Any]:
    return {"200": {"description": "Done"}} | {status: {"description": about} for status, about in _ERRORS.items()}
