"""What the commands of `specchat store` do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from specchat.cli.reporting import print_json, print_rows, say, show_progress
from specchat.models.chosen_pair import chat_options
from specchat.models.formatting import format_size
from specchat.settings.config import read_config
from specchat.texts import Collection, Collections, vocabulary_key
from specchat_engine.llama.model import LlamaModel


def add(sources: Sequence[str], name: str, model: str | None) -> None:
    """Adds sources to a store, makes it if there is none, and indexes it. Raises LibraryError or EngineError."""
    Collections().add(name, sources)
    update(name, model)


def update(name: str, model: str | None) -> None:
    """Indexes a store for a target, unless nothing changed. Raises LibraryError or EngineError."""
    target = _target(model)
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


def show(*, as_json: bool) -> None:
    """Prints a line for each store."""
    known = Collections().all()
    if as_json:
        print_json(*(_as_json(one) for one in known))
        return
    if not known:
        say("there is no store yet: `specchat store add FOLDER` makes one")
    print_rows(
        ("store", "used", "tokens", "size", "hits", "sources"),
        (
            (
                one.name,
                "on" if one.is_on else "off",
                f"{max((made.tokens for made in one.made.values()), default=0):,}",
                format_size(one.size),
                f"{one.hits:,}",
                ", ".join(one.sources),
            )
            for one in known
        ),
    )


def turn(name: str, *, on: bool) -> None:
    """Lets a store be used, or not. Raises LibraryError."""
    Collections().turn(name, on=on)
    say(f"{name} is {'on' if on else 'off'}, from the next start on")


def remove(name: str) -> None:
    """Deletes a store. Raises LibraryError."""
    Collections().remove(name)
    say(f"{name} is deleted; the texts themselves stay")


def _target(model: str | None) -> Path:
    return chat_options(read_config({"model": model} if model else {})).target


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
