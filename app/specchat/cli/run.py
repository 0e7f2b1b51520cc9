"""`specchat run`: one answer, with the engine in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.chat.guide import with_help
from specchat.cli.messages import one_line_from_native_code, say, show_progress
from specchat.cli.outputs import Output, output_for
from specchat.engine_process.reading_progress import progress_reported
from specchat.engine_process.records import keep, recall
from specchat.errors import FAILED, INTERRUPTED, ConfigError
from specchat.settings.options import ChatOptions
from specchat.stats.line import limit_words, reading_words, repeating_words
from specchat.store.images import StoredImage
from specchat.terminal.process import stops_on_interrupt
from specchat.texts import Collections
from specchat_engine import Engine, Image
from specchat_engine.errors import EngineError, SettingError
from specchat_engine.gguf import read_model
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import DRAFTERS, HEADS

if TYPE_CHECKING:
    from specchat_engine import PromptProgress, Round, Session


def read_prompt(prompt: str | None) -> str:
    """The prompt followed by what is piped in, or either alone."""
    piped = ""
    if not sys.stdin.isatty():
        piped = sys.stdin.buffer.read().decode("utf-8", "replace")
    return "\n\n".join(part for part in (prompt, piped.rstrip("\n")) if part)


def read_prediction(file: Path | None) -> str:
    """The text of a file; empty without one. Raises ConfigError if it cannot be read."""
    if file is None:
        return ""
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"the prediction {file} cannot be read: {error.strerror or error}") from None


def answer_once(
    prompt: str, options: ChatOptions, *, as_json: bool, prediction: str = "", images: Sequence[StoredImage] = ()
) -> int:
    """Streams one answer to standard output and returns the exit code.

    `prediction` is a text that the answer will probably repeat, and the prompt is about the `images`. Raises
    EngineError if loading fails, and for images that the model does not see.
    """
    one_line_from_native_code()
    wanted = options.settings(SamplingParams(), DRAFTERS)
    needs_models = wanted.k != 0 and wanted.drafter in ("hybrid", "model", *HEADS)
    draft, load = (options.draft, options.load) if needs_models else (None, replace(options.load, head="none"))
    stores = Collections().indexes(read_model(options.target))
    with Engine.load(options.target, draft, load, stores=stores) as engine:
        if images and engine.no_images_because:
            raise SettingError(engine.no_images_because)
        settings = options.settings(engine.recommended, engine.drafters)
        if engine.plain_because and settings.k:
            say(f"speculation is off: {engine.plain_because}")
        elif engine.translated_because:
            say(engine.translated_because)
        for notice in engine.notices:
            say(notice)
        recall(engine)
        session = engine.session(options.system, settings, options.seed)
        session.prediction = prediction
        prompt, source = with_help(prompt, options.target)
        if source:
            say(source)
        rounds = session.generate(prompt, [Image(image.path.read_bytes()) for image in images])
        code = _stream(session, rounds, output_for(sys.stdout, as_json=as_json))
        keep(engine)
        Collections().count(engine.stores.taken_hits())
        return code


def _stream(session: Session, rounds: Iterator[Round], output: Output) -> int:
    try:
        with stops_on_interrupt(session.cancel), progress_reported(session, _show_reading) as read:
            error, num_printed = _print_rounds(session, rounds, output, read)
        if error:
            output.error(error)
        output.end(session.end_line())
        for notice in session.notices[num_printed:]:
            say(notice)
    except BrokenPipeError:
        return 0
    if words := limit_words(session.end_reason, session.settings.max_tokens, "-n"):
        say(words)
    if error:
        say(error)
        return FAILED
    return INTERRUPTED if session.end_reason == "cancelled" else 0


def _show_reading(progress: PromptProgress) -> None:
    show_progress(sys.stderr, reading_words(progress))


def _print_rounds(
    session: Session, rounds: Iterator[Round], output: Output, read: Callable[[], None]
) -> tuple[str, int]:
    """Prints the turn, and calls `read` before its first line.

    Returns the error that ended it, or an empty text, and how many notices were printed.

    Notices that come during an answer have to wait: they would be printed in the middle of its text.
    """
    error = ""
    started = False
    num_printed = repeats = 0
    while True:
        try:
            event = next(rounds, None)
        except EngineError as problem:
            event, error = None, str(problem)
        if not started:
            read()
            show_progress(sys.stderr, "")
            output.start(session.start_line())
            started = True
            num_printed = len(session.notices)
            for notice in session.notices:
                say(notice)
        if event is None:
            return error, num_printed
        output.round(event)
        if (period := session.stats.repeats) and not repeats:
            sys.stderr.write("\n" if sys.stderr.isatty() else "")
            say(f"the answer {repeating_words(period)}: Ctrl+C stops it")
        repeats = period
