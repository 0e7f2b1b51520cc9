"""Frozen dataclasses to JSON values and back, derived from their fields: the one codec of pipe, traces and store.

Writing: a dataclass becomes an object with its fields' names, an enum its value, a tuple a list. Numbers that JSON does
not know (infinities, NaN) become their text. Reading is tolerant about names: unknown ones are ignored, missing ones
have the field's default. It is strict about values: each has the type that the field declares. A class with a method
`to_json` and a class method `from_json`, which raises ValueError, has the form that these give it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

Reader = Callable[[Any], Any]
"""Turns a JSON value into a field's value. Raises ValueError for a value of another type."""


def to_json(value: Any) -> Any:
    """The value as `json.dumps` takes it: dataclasses, enums, tuples and mappings of them, at any depth."""
    if value is None or isinstance(value, Enum):
        return value and value.value
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    if hasattr(value, "from_json"):
        return value.to_json()
    return {name: to_json(getattr(value, name)) for name in _names(cast(Any, type(value)))}


def from_json(kind: type[T], value: Any) -> T:
    """An instance of this dataclass from what `to_json` gave. Raises ValueError for anything else."""
    return cast(T, _reader(cast(Any, kind))(value))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _reader(hint: Any) -> Reader:
    """Reads values of one type hint."""
    if hint is Any:
        return lambda value: value
    if hint is float:
        return _number
    if hint in (int, str, bool, NoneType):
        return _plain(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if hasattr(hint, "from_json"):
        return cast(Reader, hint.from_json)
    if is_dataclass(hint):
        return _object(cast(type, hint))
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _one_of(arguments)
    if origin in (Union, UnionType):
        return _either([_reader(argument) for argument in arguments])
    if origin is tuple:
        return _tuple(arguments)
    if origin in (list, Sequence):
        each = _reader(arguments[0])
        return lambda value: [each(item) for item in _items(value)]
    if origin in (dict, Mapping):
        of_value = _reader(arguments[1])
        return lambda value: {str(name): of_value(item) for name, item in _names_and_values(value).items()}
    raise TypeError(f"a field of type {hint} has no form in JSON")


def _object(kind: type[Any]) -> Reader:
    hints = get_type_hints(kind)
    readers = [(field, _reader(hints[field.name])) for field in fields(kind)]

    def read(value: Any) -> Any:
        given = _names_and_values(value)
        return kind(**{field.name: reader(given[field.name]) for field, reader in readers if _is_given(field, given)})

    return read


def _is_given(field: Field[Any], given: Mapping[str, Any]) -> bool:
    """Whether the field is to be read; False where it has its default. Raises ValueError where it has none."""
    if field.name in given:
        return True
    if field.default is MISSING and field.default_factory is MISSING:
        raise ValueError(f"it has no {field.name}")
    return False


def _tuple(arguments: tuple[Any, ...]) -> Reader:
    if len(arguments) == 2 and arguments[1] is ...:
        each = _reader(arguments[0])
        return lambda value: tuple(each(item) for item in _items(value))
    readers = [_reader(argument) for argument in arguments]
    return lambda value: tuple(reader(item) for reader, item in zip(readers, _items(value), strict=True))


def _either(readers: Sequence[Reader]) -> Reader:
    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except ValueError as error:
                problem = error
        raise problem

    return read


def _one_of(allowed: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"{value!r} is none of {', '.join(map(repr, allowed))}")
        return value

    return read


def _plain(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{value!r} is no {kind.__name__}")
        return value

    return read


def _number(value: Any) -> float:
    if isinstance(value, str) and not math.isfinite(number := float(value)):
        return number
    if type(value) not in (int, float):
        raise ValueError(f"{value!r} is not a number")
    return cast(float, value)


def _items(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r:.40} is not a list")
    return value


def _names_and_values(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.40} is not an object")
    return value
