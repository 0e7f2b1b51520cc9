"""The grammar that answers follow, given in any of four ways: a grammar or a JSON schema, as text or in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specchat.errors import ConfigError, FileTooLarge
from specchat.files import bounded_text

GRAMMAR_KEYS = ("grammar", "grammar_file", "json_schema", "json_schema_file")
"""The settings that name a grammar; at most one of them is given."""

_MOST_BYTES = 1_000_000


def check_one_grammar(settings: Mapping[str, Any]) -> None:
    """Raises ConfigError if more than one of `GRAMMAR_KEYS` is set."""
    given = [key for key in GRAMMAR_KEYS if settings[key] is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} are both given: an answer follows one grammar, so omit one of them")


def grammar_text(
    grammar: str | None, grammar_file: Path | None, json_schema: str | None, json_schema_file: Path | None
) -> str | None:
    """The given grammar or schema, or None if none is given.

    Raises ConfigError for a file that cannot be read, SettingError for a schema that a grammar cannot express whole.
    """
    if grammar_file is not None:
        return _read(grammar_file)
    schema = _read(json_schema_file) if json_schema_file is not None else json_schema
    if schema is None:
        return grammar
    from specchat_engine.grammar.schema import check_schema, parsed

    check_schema(parsed(schema))
    return schema


def _read(path: Path) -> str:
    try:
        text = bounded_text(path, _MOST_BYTES, pipes=True)
    except FileTooLarge:
        raise ConfigError(f"{path} has more than {_MOST_BYTES} bytes: use a smaller grammar") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}; check the path") from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read: {error}; save it as UTF-8") from None
    if not text.strip():
        raise ConfigError(f"{path} is empty: write a grammar or a schema into it")
    return text
