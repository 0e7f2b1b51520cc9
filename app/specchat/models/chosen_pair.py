"""The models that a command uses: the configured pair, the default pair, or the pair that ships with specchat."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.names import find_path
from specchat.models.preferences import read_preferences
from specchat.settings.options import ChatOptions
from specchat.settings.paths import data_folder, expanded, sessions_db
from specchat.settings.schema import Config
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions
from specchat_engine.errors import ModelFileError
from specchat_engine.settings import AUTO

_log = logging.getLogger(__name__)

_OWN_HEAD = Path("mtp")
_HEADS = (AUTO, "mtp", "none")
"""Heads that are not files."""


def chat_options(config: Config) -> ChatOptions:
    """The options of a chat. A configured model without a draft has none: prompt lookup drafts for it.

    Models are named as in `specchat models ls` or by their paths. Raises LibraryError for a name that no model has,
    and BuiltinPairError if no model is configured and the built-in pair is missing.
    """
    target, draft = _chosen_pair(config)
    options = load_options(config)
    if options.head not in _HEADS:
        options = replace(options, head=str(find_path(options.head)))
    if options.mmproj not in (AUTO, "none"):
        options = replace(options, mmproj=str(expanded(Path(options.mmproj))))
    options = replace(options, drafts=tuple(str(find_path(name)) for name in options.drafts))
    if draft and _is_head(draft) and options.head == AUTO and not options.drafts:
        draft, options = None, replace(options, head=str(draft))
    return ChatOptions.of(config, target, draft, options)


def load_options(config: Config) -> LoadOptions:
    """The options for loading models."""
    return LoadOptions(**config.of(LoadOptions))


def is_first_run(config: Config) -> bool:
    """True on the first start: no model was chosen, nothing is stored, and the welcome was not shown before."""
    if config.model is not None or sessions_db().exists() or _welcomed_file().exists():
        return False
    try:
        return read_preferences().default is None
    except LibraryError:
        return False


def remember_welcome() -> None:
    """Records that the welcome was shown. A folder that cannot be written is only logged."""
    try:
        _welcomed_file().parent.mkdir(parents=True, exist_ok=True)
        _welcomed_file().touch()
    except OSError as error:
        _log.warning("the welcome is not remembered: %s", error)


def _chosen_pair(config: Config) -> tuple[Path, Path | None]:
    """The configured pair, else the one from `specchat models default`, else the built-in one."""
    if config.model is not None:
        target, draft = config.model.as_posix(), config.draft.as_posix() if config.draft else ""
    elif (default := read_preferences().default) is not None:
        target, draft = default.target, default.draft
    else:
        return builtin_pair()
    if draft == str(_OWN_HEAD):
        return find_path(target), _OWN_HEAD
    return find_path(target), find_path(draft) if draft else None


def _is_head(path: Path) -> bool:
    """Whether a draft model is a head instead. A file that cannot be read is explained when it is loaded."""
    if path == _OWN_HEAD:
        return True
    from specchat_engine.gguf import read_model

    with suppress(ModelFileError):
        return read_model(path).is_head
    return False


def _welcomed_file() -> Path:
    return data_folder() / "welcomed"
