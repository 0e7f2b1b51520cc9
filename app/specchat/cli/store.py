"""`specchat store`: texts of the user's that may be drafted from. Modules are imported when a command runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specchat.cli.flags import Debug, Json, Target
from specchat.cli.messages import one_line_errors, print_json, print_rows, say, show_progress

if TYPE_CHECKING:
    from specchat.texts import Collection

store = typer.Typer(
    help="Texts to draft from: what followed the same words in your files or past chats. They stay on this machine.",
    rich_markup_mode=None,
)

Sources = Annotated[list[str], typer.Argument(metavar="PATH|chats...", help="Text files, folders; chats for your own.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A store; see `store ls`.")]
Named = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its name. [that of the first source]")]


@store.command()
def add(sources: Sources, name: Named = None, model: Target = None, debug: Debug = False) -> None:
    """Index texts for a target's tokenizer; added to a store of that name if there is one."""
    with one_line_errors(debug):
        from specchat.texts import Collections

        name = name or Path(sources[0]).resolve().stem
        Collections().add(name, sources)
        _index(name, model)


@store.command()
def update(name: Name, model: Target = None, debug: Debug = False) -> None:
    """Read changed texts again, or index a store for another target."""
    with one_line_errors(debug):
        _index(name, model)


@store.command()
def ls(json: Json = False, debug: Debug = False) -> None:
    """List the stores with their sizes."""
    with one_line_errors(debug):
        from specchat.models.labels import format_size
        from specchat.texts import Collections

        known = Collections().all()
        if json:
            print_json(*map(_as_json, known))
            return
        if not known:
            say("there is no store yet: `specchat store add FOLDER` makes one")
        print_rows(
            ("store", "used", "tokens", "size", "hits", "sources"),
            (
                (
                    collection.name,
                    "on" if collection.is_on else "off",
                    f"{max((made.tokens for made in collection.made.values()), default=0):,}",
                    format_size(collection.size),
                    f"{collection.hits:,}",
                    ", ".join(collection.sources),
                )
                for collection in known
            ),
        )


@store.command()
def on(name: Name, debug: Debug = False) -> None:
    """Use a store again."""
    with one_line_errors(debug):
        _turn(name, on=True)


@store.command()
def off(name: Name, debug: Debug = False) -> None:
    """Keep a store, but do not draft from it."""
    with one_line_errors(debug):
        _turn(name, on=False)


@store.command()
def rm(name: Name, debug: Debug = False) -> None:
    """Delete a store; the texts themselves stay."""
    with one_line_errors(debug):
        from specchat.texts import Collections

        Collections().remove(name)
        say(f"{name} is deleted; the texts themselves stay")


def _turn(name: str, *, on: bool) -> None:
    from specchat.texts import Collections

    Collections().turn(name, on=on)
    say(f"{name} is {'on' if on else 'off'}, from the next start on")


def _index(name: str, model: str | None) -> None:
    """Indexes a store for a target, unless nothing changed."""
    from specchat.models.chosen_pair import chat_options
    from specchat.models.labels import format_size
    from specchat.settings.config import read_config
    from specchat.texts import Collections, vocabulary_key
    from specchat_engine.llama.model import LlamaModel

    target = chat_options(read_config({"model": model} if model else {})).target
    loaded = LlamaModel(target, gpu_layers=0, vocabulary_only=True)
    try:
        key = vocabulary_key(loaded.header)
        collection = Collections().update(
            name,
            key,
            lambda text: loaded.vocabulary.tokenize(text, special=False),
            lambda done, total: show_progress(sys.stderr, f"{done} of {total} texts"),
        )
    finally:
        loaded.close()
        show_progress(sys.stderr, "")
    made = collection.made[key]
    size = format_size(collection.size)
    say(f"{name}: {made.tokens:,} tokens of {len(made.texts):,} texts for {target.stem}, {size}")


def _as_json(collection: Collection) -> dict[str, object]:
    return {
        "type": "store",
        "name": collection.name,
        "on": collection.is_on,
        "sources": list(collection.sources),
        "size": collection.size,
        "hits": collection.hits,
        "indexes": {key: made.tokens for key, made in collection.made.items()},
    }
