"""Values in Python's notation, with JSON's names for some: what models write where they were asked for JSON."""

from __future__ import annotations

import ast
import warnings
from typing import Final

LONGEST: Final = 100_000
"""Characters of a value. What is longer will not end, and would never be shown."""

_CONSTANTS: Final = {"true": True, "false": False, "null": None}


def literal_value(text: str) -> object:
    """The value of a literal. Raises ValueError, and what Python's parser raises, for any other text."""
    if len(text) > LONGEST:
        raise ValueError(f"a literal of {len(text)} characters is not read: use at most {LONGEST}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of backslashes that escape nothing, as in patterns
        return _value(ast.parse(f"({text})", mode="eval").body)


def _value(node: ast.expr) -> object:
    match node:
        case ast.Name(name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elements) | ast.Tuple(elements):
            return [_value(element) for element in elements]
        case ast.Dict(keys, values):
            return {str(_value(key)): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
    return ast.literal_eval(node)


def whole_characters(text: str) -> str:
    """The text with a character in place of each surrogate pair, as JSON writes some, and without other surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
