"""`specchat sessions`: the stored conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specchat.cli.reporting import one_line_errors

sessions = typer.Typer(
    help="The stored conversations. `specchat chat --resume` continues one; /sessions in the chat lists them.",
    rich_markup_mode=None,
)

Exports = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="ChatGPT's zip or conversations.json, Open WebUI's JSON, LM Studio's .conversation.json, "
        "oterm's store.db, or a folder with such files.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]


@sessions.callback()
def _sessions() -> None:
    """Takes the commands."""


@sessions.command("import")
def import_(files: Exports, json: Json = False, debug: Debug = False) -> None:
    """Import conversations from other chats; those that are here already are not added twice."""
    with one_line_errors(debug):
        from specchat.cli.sessions_import import import_files as run

        raise typer.Exit(run(files, as_json=json))
