"""What is read or measured once for the apps of all tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from textual.css import stylesheet

from specchat.models.machine import ask_machine

Variables = dict[str, str]
Tokens = dict[str, list[Any]]


@pytest.fixture(scope="session", autouse=True)
def style_sheets_are_read_once() -> Iterator[None]:
    """Remembers the rules of each style sheet with these variables. Rules never change once they are read."""
    parse, tokenize = stylesheet.parse, stylesheet.tokenize_values
    variables: dict[tuple[tuple[str, str], ...], Tokens] = {}
    rules: dict[tuple[Any, ...], list[Any]] = {}

    def tokenize_once(values: Variables) -> Tokens:
        key = tuple(values.items())
        if key not in variables:
            variables[key] = tokenize(values)
        return variables[key]

    def parse_once(*place: Any, variable_tokens: Tokens, **how: Any) -> list[Any]:
        key = (id(variable_tokens), *place, *how.items())
        if key not in rules:
            rules[key] = list(parse(*place, variable_tokens=variable_tokens, **how))
        return rules[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stylesheet, "tokenize_values", tokenize_once)
        patch.setattr(stylesheet, "parse", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def machine_is_measured_once() -> Iterator[None]:
    """The windows about models measure this machine in a process of its own, which `tests/app/models` tests."""
    once = functools.cache(ask_machine)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("specchat.tui.memory_estimate", "specchat.tui.screens.chat.model_windows"):
            patch.setattr(f"{module}.ask_machine", once)
        yield
