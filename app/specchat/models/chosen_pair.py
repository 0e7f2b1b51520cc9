"""Which models a command uses: the configured pair, else the one that ships with specchat."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specchat.models.shelf import read_shelf
from specchat.settings.options import ChatOptions
from specchat.settings.schema import Config
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions
from specchat_engine.settings import AUTO, Settings


def chat_options(config: Config) -> ChatOptions:
    """What the configuration asks for. A configured model without a draft has none: lookup drafts for it.

    Models are named as in `specchat models ls`, or by their path. Raises LibraryError for a name that none has, and
    BuiltinPairError where no model is configured and the built-in pair is missing.
    """
    target, draft = _chosen_pair(config)
    return ChatOptions(
        target,
        draft,
        load_options(config),
        **config.of(Settings),
        sampling=config.sampling,
        seed=config.seed,
        system=config.system,
    )


def load_options(config: Config) -> LoadOptions:
    """How the configuration wants models to be loaded."""
    options = LoadOptions(**config.of(LoadOptions))
    return options if config.k == AUTO else replace(options, k_max=max(config.k, options.k_max))


def _chosen_pair(config: Config) -> tuple[Path, Path | None]:
    """The configured pair, else the default one of `specchat models default`, else the built-in one."""
    if config.model is not None:
        names = config.model.as_posix(), config.draft.as_posix() if config.draft else ""
    elif (default := read_shelf().default) is not None:
        names = default.target, default.draft
    else:
        return builtin_pair()
    from specchat.models.finding import find_path

    target, draft = names
    return find_path(target), find_path(draft) if draft else None
