"""`specchat store`: texts of the user's that may be drafted from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specchat.cli.reporting import one_line_errors

store = typer.Typer(
    help="Texts to draft from: what followed the same words in your files or past chats. They stay on this machine.",
    rich_markup_mode=None,
)

Sources = Annotated[list[str], typer.Argument(metavar="PATH|chats...", help="Text files, folders; chats for your own.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A store; see `store ls`.")]
Named = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its name. [that of the first source]")]
Target = Annotated[str | None, typer.Option("-m", "--model", metavar="FILE|NAME", help="Target. [built-in]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]


@store.command()
def add(sources: Sources, name: Named = None, model: Target = None, debug: Debug = False) -> None:
    """Index texts for a target's tokenizer; added to a store of that name if there is one."""
    with one_line_errors(debug):
        from specchat.cli.stores import add as run

        run(sources, name or Path(sources[0]).resolve().stem, model)


@store.command()
def update(name: Name, model: Target = None, debug: Debug = False) -> None:
    """Read changed texts again, or index a store for another target."""
    with one_line_errors(debug):
        from specchat.cli.stores import update as run

        run(name, model)


@store.command()
def ls(json: Json = False, debug: Debug = False) -> None:
    """List the stores with their sizes."""
    with one_line_errors(debug):
        from specchat.cli.stores import show as run

        run(as_json=json)


@store.command()
def on(name: Name, debug: Debug = False) -> None:
    """Use a store again."""
    with one_line_errors(debug):
        from specchat.cli.stores import turn as run

        run(name, on=True)


@store.command()
def off(name: Name, debug: Debug = False) -> None:
    """Keep a store, but do not draft from it."""
    with one_line_errors(debug):
        from specchat.cli.stores import turn as run

        run(name, on=False)


@store.command()
def rm(name: Name, debug: Debug = False) -> None:
    """Delete a store; the texts themselves stay."""
    with one_line_errors(debug):
        from specchat.cli.stores import remove as run

        run(name)
