"""Printing rows as a table on a terminal, as lines with tabs into a pipe, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specchat.terminal.filter import clean_line


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table on a terminal, where the last column takes the remaining width, and lines with tabs elsewhere."""
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


def print_json(*objects: Mapping[str, object]) -> None:
    """Prints one object a line."""
    for one in objects:
        sys.stdout.write(json.dumps(one, ensure_ascii=True) + "\n")
    sys.stdout.flush()
