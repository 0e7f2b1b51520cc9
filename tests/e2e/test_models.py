"""Models in a real terminal, from an empty home folder and a hub on this machine: found, judged, fetched, loaded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from specchat_assets import builtin_pair
from support.hub_server import Hub, Repository, running_hub

SLOW = 0.01
"""Seconds for each 16 KiB: the pair takes about 25 s, of which the test waits for some."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """The hub has the built-in pair, under names of its own."""
    target, draft = (path.read_bytes() for path in builtin_pair())
    with running_hub() as running:
        running.repositories = {
            "lab/guide-GGUF": Repository({"guide-F16.gguf": target}, downloads=100),
            "lab/little-GGUF": Repository({"little-F16.gguf": draft}, downloads=10),
        }
        yield running


@pytest.fixture
def new(environment: dict[str, str], hub: Hub) -> dict[str, str]:
    """Someone who was never here, whose hub is the one above."""
    shutil.rmtree(environment["XDG_DATA_HOME"])
    return environment | {"HF_ENDPOINT": hub.url}


@pytest.fixture
def terminals(new: dict[str, str]) -> Iterator[list[Terminal]]:
    """Programs that were started, to be closed at the end."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: these tests look at the program in a real terminal")
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def start(terminals: list[Terminal], new: dict[str, str]) -> Terminal:
    terminals.append(Terminal((*SPECCHAT, "chat", *FLAGS), new, 100, 30))
    return terminals[-1]


def search(terminal: Terminal, text: str, file: str) -> None:
    """From the chat to the models of a repository."""
    terminal.keys("F8")
    terminal.wait_for("On this machine")
    terminal.keys("Tab", "Tab")
    terminal.wait_for("words in a repository's name")
    terminal.type(text)
    terminal.wait_for(rf"lab/{text}-GGUF .* ↓")
    terminal.keys("Enter")
    terminal.wait_for(file)


def test_a_pair_is_found_judged_fetched_with_an_interruption_and_loaded(
    terminals: list[Terminal], new: dict[str, str], hub: Hub, tmp_path: Path
) -> None:
    terminal = start(terminals, new)
    terminal.wait_for("Welcome to specchat")
    terminal.wait_for(r"(this|This) machine")
    terminal.keys("Enter")
    terminal.wait_for("● active", absent="Welcome to specchat")

    hub.slow = SLOW
    search(terminal, "guide", "guide-F16.gguf")
    terminal.keys("Enter")
    terminal.wait_for(r"✓ memory .* free on CPU(.|\n)*Enter downloads it")
    terminal.keys("Enter")
    terminal.wait_for(r"guide-GGUF:F16 .* [1-9]\d* % of 35\.\d MB")
    terminal.keys("Escape")
    terminal.wait_for(r"↓ lab/guide-GGUF:F16 .* % ·", absent="Downloads")

    terminal.keys("C-q")
    left = terminal.wait_for(r"exit code 0")
    kept = re.search(r"(\d+) % of lab/guide-GGUF:F16 are here and kept", left)
    assert kept
    assert int(kept[1]) > 0
    assert [*(tmp_path / "home").rglob("*.part")]

    hub.slow = 0.0
    again = start(terminals, new)
    again.wait_for("● active", absent="Welcome to specchat")
    again.keys("F8")
    again.wait_for(r"✗ lab/guide-GGUF:F16")
    again.keys("End", *["Down"] * 2)
    again.wait_for(r"% of it have been downloaded")
    again.type("lab/guide")
    again.wait_for(r"guide-GGUF:F16 .* here")
    assert "Range" in hub.transfers()[-1].headers
    again.keys("Escape")
    again.wait_for(r"lab/guide-GGUF:F16 is here · Ctrl\+G loads it")

    search(again, "little", "little-F16.gguf")
    again.keys("F5")
    again.wait_for(r"As the draft of the present target(.|\n)*✓ tokenizer")
    again.keys("Enter")
    again.wait_for(r"little-GGUF:F16 .* here")
    again.keys("Escape")
    again.wait_for(r"lab/little-GGUF:F16 is here")

    again.keys("F8")
    again.wait_for("lab/guide-GGUF:F16")
    again.keys(*"guide-GGUF")
    again.keys("F4")
    again.wait_for(r"A draft for guide-F16(.|\n)*✓ .*little(.|\n)*fit")
    again.keys("Enter")
    again.wait_for(r"● active", absent="A draft for")
    again.type("What is speculative decoding?")
    again.wait_for(r"\d+ tok/s · (.* × plain · )?accepted .* · α \d\.\d\d · τ \d\.\d")
