"""Where the application stores things, by the platform's conventions."""

from __future__ import annotations

from pathlib import Path

import platformdirs

_NAME = "specchat"


def expanded(path: Path) -> Path:
    """The path with the home folder in place of `~`; the path as written if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path.absolute()


def config_file() -> Path:
    """The user's configuration; it need not exist."""
    return platformdirs.user_config_path(_NAME, appauthor=False) / "config.toml"


def presets_file() -> Path:
    """The user's own templates for sampling parameters; it need not exist."""
    return config_file().with_name("presets.toml")


def prompts_folder() -> Path:
    """The user's stored prompts, one Markdown file for each; it need not exist."""
    return config_file().with_name("prompts")


def roles_folder() -> Path:
    """The user's stored roles, one Markdown file for each; it need not exist."""
    return config_file().with_name("roles")


def theme_file() -> Path:
    """The theme that was last chosen in the app; it need not exist."""
    return config_file().with_name("theme.toml")


def data_folder() -> Path:
    """What the user would miss: stored conversations."""
    return platformdirs.user_data_path(_NAME, appauthor=False)


def sessions_db() -> Path:
    """The one file of the stored conversations; it need not exist."""
    return data_folder() / "sessions.db"


def images_folder() -> Path:
    """The pictures of the stored conversations; it need not exist."""
    return data_folder() / "images"


def unfinished_file() -> Path:
    """The list of the application's downloads that have not ended; it need not exist."""
    return data_folder() / "downloads.json"


def cache_folder() -> Path:
    """What can be made again."""
    return platformdirs.user_cache_path(_NAME, appauthor=False)


def memories_folder() -> Path:
    """What the models have read of sessions that were left."""
    return cache_folder() / "memories"


def log_folder() -> Path:
    """What the engine's process printed."""
    return platformdirs.user_log_path(_NAME, appauthor=False)


def worker_log() -> Path:
    """The log of the engine's process, whose end is the reason shown after a crash."""
    return log_folder() / "worker.log"
