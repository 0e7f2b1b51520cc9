"""Runs the server: loads the models in the engine's process, and serves until a signal ends that."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TextIO

from specchat.engine_process.protocol import Load, Loaded
from specchat.engine_process.shared_client import SharedClient
from specchat.errors import INTERRUPTED
from specchat.serve.access import Keys
from specchat.serve.answers.shape import Shape
from specchat.serve.app import build_app
from specchat.serve.endpoints import PromptLog
from specchat.serve.listener import address_of, serve_until_signalled
from specchat.serve.requests.base import ModelOffer
from specchat.settings.options import ChatOptions
from specchat.settings.paths import log_folder
from specchat.settings.server import Serving
from specchat_engine.settings import AUTO

Say = Callable[[str], None]

_DATA: Final = ("url", "image_url", "data")
"""The names that images have in the APIs."""

_LOGGED: Final = 64
"""Characters of an image in base 64 that a log keeps."""


async def run(
    options: ChatOptions, serving: Serving, keys: Keys, listening: socket.socket, say: Say, log: PromptLog | None
) -> int:
    """Serves until the process is interrupted or ended, and returns the exit code. Raises LoadFailed."""
    load = Load(str(options.target), str(options.draft) if options.draft else None, options.load)
    engine = SharedClient(log_folder() / "serve.log", load, places=serving.parallel, waiting=serving.queue)
    try:
        await engine.start()
        for notice in notices(engine.info, options.chosen.get("thinking", AUTO)):
            say(notice)
        if serving.watch == "on":
            say("--watch is on: whoever may use this server can see what all others ask and get")
        offer = offered(options, serving, engine.info)
        app = build_app(engine, serving, offer, keys, log=log)
        line = f"{engine.info.pair_name} at {address_of(listening)}/v1, {serving.parallel} at a time; Ctrl+C ends it"
        ended_by = await serve_until_signalled(app, listening, lambda: say(line))
    finally:
        await engine.close()
    return INTERRUPTED if ended_by == signal.SIGINT else 0


def offered(options: ChatOptions, serving: Serving, loaded: Loaded) -> ModelOffer:
    """Returns what clients are offered. A grammar in the configuration is for chats, not for them."""
    settings = options.settings(loaded.recommended, loaded.drafters, longest=0)
    return ModelOffer(
        model=serving.alias or loaded.target.name,
        settings=replace(settings, sampling=replace(settings.sampling, grammar=""), thinking=AUTO),
        drafters=loaded.drafters,
        k_max=options.load.k_max,
        n_ctx=loaded.n_ctx,
        ends=loaded.ends,
        thinking=loaded.thinking.variables(settings.thinking),
    )


def notices(loaded: Loaded, thinking: str = AUTO) -> list[str]:
    """Lists what the user who starts the server should know about the models."""
    refused = f"the draft model was left out: {loaded.refusal}" if loaded.refusal else ""
    plain = f"speculation is off: {loaded.plain_because}" if loaded.plain_because else ""
    unheard = loaded.thinking.notice(thinking)
    return [each for each in (refused, plain, loaded.translated_because, *loaded.notices, unheard) if each]


def prompt_log(stream: TextIO) -> PromptLog:
    """Writes what was asked and answered to a stream, one JSON object a line."""

    def write(path: str, body: Mapping[str, Any], shape: Shape) -> None:
        answers = [
            {"content": answer.content, "reasoning": answer.reasoning, "calls": [call.name for call in answer.calls]}
            for answer in shape.answers
        ]
        request = json.loads(json.dumps(body), object_hook=_without_data)
        line = {"time": time.time(), "path": path, "request": request, "answers": answers}
        stream.write(json.dumps(line) + "\n")
        stream.flush()

    return write


def _without_data(given: dict[str, Any]) -> dict[str, Any]:
    """An object of a request with the data of its image cut off."""
    return {name: _cut(value) if name in _DATA and isinstance(value, str) else value for name, value in given.items()}


def _cut(data: str) -> str:
    return data if len(data) <= _LOGGED else f"{data[:_LOGGED]}… ({len(data)} characters)"
