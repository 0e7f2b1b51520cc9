"""The theme that was last chosen in the app, in a small file beside the configuration."""

from __future__ import annotations

import json

from specchat.errors import ConfigError, FileTooLarge
from specchat.files import CONFIG_BYTES, bounded_text, replace_text
from specchat.settings.paths import theme_file

_HEAD = "# specchat writes this file when a theme is chosen in the app; a theme in config.toml overrides it.\n"


def chosen_theme() -> str | None:
    """The theme's name; None if none was chosen or the file cannot be used, which is not a reason to fail."""
    try:
        text = bounded_text(theme_file(), CONFIG_BYTES)
    except (OSError, UnicodeDecodeError, FileTooLarge):
        return None
    import tomllib

    try:
        name = tomllib.loads(text).get("theme")
    except tomllib.TOMLDecodeError:
        return None
    return name if isinstance(name, str) else None


def remember_theme(name: str) -> None:
    """Stores a theme for the next start. Raises ConfigError if the file cannot be written."""
    file = theme_file()
    try:
        replace_text(file, f"{_HEAD}theme = {json.dumps(name)}\n")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}; make its folder writable") from None
