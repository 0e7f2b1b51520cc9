"""What the user wants answers to keep to: tokens biased by id, and a grammar in any of the four ways to give one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specchat.errors import ConfigError

GRAMMAR_KEYS = ("grammar", "grammar_file", "json_schema", "json_schema_file")
"""The settings that name a grammar, of which one at most is given."""

_BIAS = re.compile(r"\s*(\d+)\s*(?:=|(?=[+-]))\s*(\S+)\s*")
_MOST_BYTES = 1_000_000


def parse_biases(value: object) -> object:
    """Pairs of a token id and its bias from `TOKEN=BIAS` or llama.cpp's `TOKEN+BIAS`, with commas or as a list.

    Raises ValueError for what cannot be read; what is no text is left to whoever checks it next.
    """
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    return (
        [_parse_bias(each) if isinstance(each, str) else each for each in value] if isinstance(value, list) else value
    )


def _parse_bias(text: str) -> tuple[int, float]:
    match = _BIAS.fullmatch(text)
    try:
        if match:
            return int(match[1]), float(match[2])
    except ValueError:
        pass
    raise ValueError(f"logit_bias is {text!r}: use TOKEN=BIAS, such as 15043=-1.5, or 15043=-inf to ban a token")


def check_one_grammar(settings: Mapping[str, Any]) -> None:
    """Raises ConfigError where more than one of `GRAMMAR_KEYS` is set."""
    given = [key for key in GRAMMAR_KEYS if settings[key] is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} are both given: an answer follows one grammar, so leave one away")


def grammar_text(
    grammar: str | None, grammar_file: Path | None, json_schema: str | None, json_schema_file: Path | None
) -> str | None:
    """The grammar, in GBNF, that is given in one of these ways; None where none of them is.

    Raises ConfigError for a file that cannot be read, SettingError for a schema that cannot become a grammar.
    """
    if grammar_file is not None:
        return _read(grammar_file)
    schema = _read(json_schema_file) if json_schema_file is not None else json_schema
    if schema is None:
        return grammar
    from specchat_engine.grammar.json_schema import schema_grammar

    return schema_grammar(schema)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ConfigError(f"{path} has more than {_MOST_BYTES} bytes: that is no grammar that can be used")
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}; check the path") from None
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read: {error}; save it as UTF-8") from None
    if not text.strip():
        raise ConfigError(f"{path} is empty: write a grammar or a schema into it")
    return text
