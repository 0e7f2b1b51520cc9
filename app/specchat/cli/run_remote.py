"""`specchat run --remote`: one answer of a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from specchat.cli.messages import say
from specchat.cli.outputs import JsonOutput, Output, output_for
from specchat.cli.remote import RemoteChat
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import (
    ChatMessage,
    Ended,
    Event,
    Generate,
    Loaded,
    Notice,
    Recounted,
    Started,
    TaskFailed,
)
from specchat.errors import FAILED, INTERRUPTED
from specchat.settings.options import ChatOptions
from specchat.store.images import StoredImage
from specchat.store.records import new_seed
from specchat.terminal.process import stops_on_interrupt
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import end_line


def answer_remotely(
    prompt: str, chat: RemoteChat, *, as_json: bool, prediction: str = "", images: Sequence[StoredImage] = ()
) -> int:
    """Streams one answer to standard output and returns the exit code."""
    client, options = chat.client, chat.options
    try:
        loaded = _load(client, options)
        if loaded is None:
            return FAILED
        output = output_for(sys.stdout, as_json=as_json)
        with stops_on_interrupt(client.cancel):
            try:
                # A trace waits for its end if the server sends its rounds again there.
                recounts = loaded.server is not None and loaded.server.recounts
                waits = recounts and isinstance(output, JsonOutput)
                events = _asked(client, options, loaded, _messages(options, prompt, images), prediction)
                return _stream(events, output, waits=waits)
            except BrokenPipeError:
                return 0
    finally:
        client.close()


def _load(client: EngineClient, options: ChatOptions) -> Loaded | None:
    for event in client.load(options.target, options.draft, options.load):
        if isinstance(event, Loaded):
            return event
        if isinstance(event, TaskFailed):
            say(event.message)
    return None


def _asked(
    client: EngineClient, options: ChatOptions, loaded: Loaded, messages: Sequence[ChatMessage], prediction: str
) -> Iterator[Event]:
    settings = options.settings(loaded.recommended, loaded.drafters)
    seed = new_seed() if options.seed is None else options.seed
    return client.generate(Generate(tuple(messages), settings, seed, prediction=prediction))


def _messages(options: ChatOptions, prompt: str, images: Sequence[StoredImage]) -> list[ChatMessage]:
    system = [ChatMessage("system", options.system)] if options.system else []
    return [*system, ChatMessage("user", prompt, images=tuple(str(image.path) for image in images))]


def _stream(events: Iterator[Event], output: Output, *, waits: bool) -> int:
    """Prints the answer. If it `waits`, rounds are printed at the end, where the server sends them again."""
    rounds: list[Round] = []
    notices: list[str] = []
    started = False
    for event in events:
        match event:
            case Started(line):
                output.start(line)
                started = True
            case Notice(text) if not started:
                say(text)
            case Notice(text):
                notices.append(text)  # it would be printed in the middle of the answer
            case Round():
                rounds.append(event)
                if not waits:
                    output.round(event)
            case Recounted(again):
                rounds = [*again]
            case Ended() | TaskFailed():
                for each in rounds if waits else ():
                    output.round(each)
                if started:
                    _end(event, rounds, output)
                break
    for text in notices:
        say(text)
    if isinstance(event, TaskFailed):
        say(event.message)
        return FAILED
    return INTERRUPTED if isinstance(event, Ended) and event.reason == "cancelled" else 0


def _end(last: Ended | TaskFailed, rounds: Sequence[Round], output: Output) -> None:
    """Prints how the answer ended; after a failure with the statistics of its rounds."""
    if isinstance(last, Ended):
        output.end(end_line(last.reason, last.text, last.stats, last.costs))
        return
    stats = TurnStats()
    for event in rounds:
        stats.observe(event)
    output.error(last.message)
    text = "".join(event.text for event in rounds)
    output.end(end_line("error", text, stats.to_json() | {"speedup": None}, MeasuredCosts()))
