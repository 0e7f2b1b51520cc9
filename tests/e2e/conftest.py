"""Fixtures that start the real program on the built-in pair."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.terminal import SPECCHAT, Terminal, clean_environment
from specchat_assets import builtin_pair

FLAGS = ("-t", "1", "--seed", "7")
"""One thread: on a busy machine two threads wait for each other."""


@pytest.fixture(scope="session", autouse=True)
def pair() -> None:
    """Fails every test at once with a clear message if the built-in pair is missing."""
    builtin_pair()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An empty home folder and no configuration."""
    return clean_environment(tmp_path / "home")


@pytest.fixture
def specchat(environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    """Starts `specchat` with these arguments in a terminal of `width` × `height`."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: these tests run the program in a real terminal")
    terminals: list[Terminal] = []

    def start(*arguments: str, width: int = 140, height: int = 40) -> Terminal:
        terminals.append(Terminal((*SPECCHAT, *arguments, *FLAGS), environment, width, height))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()
