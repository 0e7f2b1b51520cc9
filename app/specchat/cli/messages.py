"""How commands report: one line on standard error, progress in the last row, tables and JSON on standard output, and
exit codes instead of tracebacks."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from specchat.errors import FAILED, WRONG_USAGE, ConfigError, SpecchatError
from specchat.terminal.filter import clean_line
from specchat_assets import BuiltinPairError
from specchat_engine.errors import EngineError, SettingError

if TYPE_CHECKING:
    from specchat.stats.charts import Line

_ROW = 79


def say(message: str) -> None:
    """Writes one line to standard error."""
    sys.stderr.write(f"specchat: {clean_line(message)}\n")
    sys.stderr.flush()


def show_progress(stream: IO[str], text: str) -> None:
    """Replaces the terminal's last row with a text, or clears it for an empty one. Does nothing on other streams."""
    if stream.isatty():
        stream.write(f"\r\x1b[K{text[:_ROW]}")
        stream.flush()


def no_native_debugger() -> None:
    """Keeps a failed assertion in native code from starting a debugger on the terminal. Call it before models load."""
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")


def one_line_from_native_code() -> None:
    """Makes a failed assertion in native code end the command with one line, too. Call it before models load."""
    from specchat_engine.llama.logs import last_words

    no_native_debugger()
    last_words.end_with(say, FAILED)


def complain(error: Exception, *, debug: bool = False) -> int:
    """Says in one line why a command failed, with `debug` after the traceback. Returns the exit code."""
    if isinstance(error, BrokenPipeError):
        return 0  # the reader of the pipe has gone, as `head` does
    if debug:
        traceback.print_exception(error)
    say(_in_words(error, debug))
    return WRONG_USAGE if isinstance(error, ConfigError | SettingError) else FAILED


@contextmanager
def one_line_errors(debug: bool) -> Iterator[None]:
    """Ends a command that raises with its line and exit code."""
    import typer

    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:  # noqa: BLE001 - the outermost frame of a command: no traceback unless asked for
        raise typer.Exit(complain(error, debug=debug)) from None


def _in_words(error: Exception, debug: bool) -> str:
    if isinstance(error, EngineError | SpecchatError | BuiltinPairError):
        return str(error)
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"{error.filename}: {reason}" if error.filename else reason
    hint = "" if debug else "; run it again with --debug and report the output"
    return f"an unexpected {type(error).__name__}: {error}{hint}"


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table on a terminal, where the last column takes the remaining width, and lines with tabs elsewhere."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        sys.stdout.write("".join("\t".join(row) + "\n" for row in cleaned))
        return
    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name != columns[-1])
    for row in cleaned:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def print_lines(title: str, lines: Callable[[int], Sequence[Line]]) -> None:
    """Prints a title and the lines of a chart at the terminal's width. Does nothing without a terminal or lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not sys.stdout.isatty() or not (drawn := lines(console.width)):
        return
    from specchat.stats.charts import Style
    from specchat.terminal.palette import BLUE, ORANGE

    styles = {Style.QUIET: "dim", Style.STRONG: "bold", Style.ACCEPTED: BLUE, Style.TARGET: ORANGE}
    console.print(Text(title, "bold"))
    for line in drawn:
        console.print(Text.assemble(*((text, styles.get(style, "")) for text, style in line)), no_wrap=True)


def print_json(*objects: Mapping[str, object]) -> None:
    """Prints one object a line."""
    for line in objects:
        sys.stdout.write(json.dumps(line, ensure_ascii=True) + "\n")
    sys.stdout.flush()
