"""How a command fails: one line on standard error and an exit code, never a traceback unless one was asked for."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from specchat.errors import FAILED, WRONG_USAGE, ConfigError, SpecchatError
from specchat.terminal.filter import clean_line
from specchat_assets import BuiltinPairError
from specchat_engine.errors import EngineError, SettingError


def say(message: str) -> None:
    """One line to the user, beside the answer."""
    sys.stderr.write(f"specchat: {clean_line(message)}\n")
    sys.stderr.flush()


def no_native_debugger() -> None:
    """A failed assertion in native code must not start a debugger on the terminal; call it before models load."""
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")


def one_line_from_native_code() -> None:
    """A failed assertion in native code ends a command in one line, too; call it before models load."""
    from specchat_engine.llama.logs import last_words

    no_native_debugger()
    last_words.end_with(say, FAILED)


def complain(error: Exception, *, debug: bool = False) -> int:
    """Says in one line why a command failed, behind the traceback where `debug` asks for it; returns the exit code."""
    if isinstance(error, BrokenPipeError):
        return 0  # the reader has seen enough
    if debug:
        traceback.print_exception(error)
    say(_in_words(error, debug))
    return WRONG_USAGE if isinstance(error, ConfigError | SettingError) else FAILED


@contextmanager
def one_line_errors(debug: bool) -> Iterator[None]:
    """Turns an error of a command of typer's into its line and exit code."""
    import typer

    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:  # noqa: BLE001 - the outermost frame of a command: a user never sees a traceback unasked
        raise typer.Exit(complain(error, debug=debug)) from None


def _in_words(error: Exception, debug: bool) -> str:
    if isinstance(error, EngineError | SpecchatError | BuiltinPairError):
        return str(error)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"{error.filename}: {reason}" if error.filename else reason
    hint = "" if debug else "; run it again with --debug and report what it prints"
    return f"an unexpected {type(error).__name__}: {error}{hint}"
