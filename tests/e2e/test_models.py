"""Finds, checks, downloads and loads models in a real terminal, from an empty home folder and a local hub."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from e2e.test_chat import DRAFTING, STATISTICS
from specchat_assets import builtin_pair
from support.hub_server import Hub, Repository, running_hub

SLOW = 0.01
"""Seconds per 16 KiB. The target takes about 25 s; the test waits for a part of it."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub with the built-in pair under other names."""
    target, draft = (path.read_bytes() for path in builtin_pair())
    with running_hub() as running:
        running.repositories = {
            "lab/guide-GGUF": Repository({"guide-F16.gguf": target}, downloads=100),
            "lab/little-GGUF": Repository({"little-F16.gguf": draft}, downloads=10),
        }
        yield running


@pytest.fixture
def new(environment: dict[str, str], hub: Hub) -> dict[str, str]:
    """The environment of a first-time user of this hub."""
    shutil.rmtree(environment["XDG_DATA_HOME"])
    return environment | {"HF_ENDPOINT": hub.url}


@pytest.fixture
def terminals(new: dict[str, str]) -> Iterator[list[Terminal]]:
    """Terminals to be closed at the end."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: these tests run the program in a real terminal")
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def start(terminals: list[Terminal], new: dict[str, str]) -> Terminal:
    terminals.append(Terminal((*SPECCHAT, "chat", *DRAFTING, *FLAGS), new, 100, 30))
    return terminals[-1]


def search(terminal: Terminal, text: str, file: str) -> None:
    """Searches the hub and opens a repository's models."""
    terminal.wait_for("words in a repository's name")
    terminal.type(text)
    terminal.wait_for(rf"lab/{text}-GGUF .* ↓")
    terminal.keys("Enter")
    terminal.wait_for(file)


def listed(new: dict[str, str]) -> dict[str, str]:
    """The hub's models as another program lists them, each with the reason why it cannot be used."""
    command = (*SPECCHAT, "models", "ls", "--json")
    done = subprocess.run(command, env=new, capture_output=True, text=True, check=True, timeout=600)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: one["problem"] for one in found if one["name"].startswith("lab/")}


def parts(home: Path) -> dict[str, int]:
    """How many bytes have arrived, by sha256."""
    return {part.name.removesuffix(".part"): part.stat().st_size for part in home.rglob("*.part")}


def requests_for(arrived: dict[str, int]) -> dict[str, str]:
    """The bytes to request of these files, by sha256: none of a file that has arrived as a whole."""
    whole = [path.stat().st_size for path in builtin_pair()]
    return {digest: f"bytes={size}-" if size else "" for digest, size in arrived.items() if size not in whole}


def resumed(hub: Hub) -> dict[str, str]:
    """The bytes requested since `hub.asked` was cleared, by sha256."""
    return {asked.path.split("?")[0].strip("/"): asked.headers.get("Range", "") for asked in hub.transfers()}


def wait_for_percent(terminal: Terminal, least: int) -> int:
    """Waits in the list of downloads for this percentage. Returns the percentage reached."""
    found = 0

    def enough(shown: str) -> bool:
        nonlocal found
        percents = re.search(r"lab/guide-GGUF.* (\d+) % of 39\.\d MB", shown)
        found = int(percents[1]) if percents else 0
        return found >= least

    terminal.wait_until(enough, f"{least} % of the pair")
    return found


def test_a_pair_is_found_checked_downloaded_despite_a_kill_and_a_quit_and_chatted_with(
    terminals: list[Terminal], new: dict[str, str], hub: Hub, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    terminal = start(terminals, new)
    terminal.wait_for("Welcome to specchat")
    terminal.wait_for(r"(this|This) machine")
    terminal.keys("Up", "Up", "Enter")
    search(terminal, "guide", "guide-F16.gguf")
    terminal.keys("Enter")
    terminal.wait_for(r"As the target:(.|\n)*✓ memory .* free on CPU")
    terminal.keys("Escape")
    terminal.wait_for("lab/guide-GGUF .* ↓")
    terminal.keys("C-u")
    search(terminal, "little", "little-F16.gguf")
    terminal.keys("F5")
    terminal.wait_for(r"As the draft of lab/guide-GGUF:F16:(.|\n)*✓ tokenizer(.|\n)*✓ vocabulary")
    assert all(re.fullmatch(r"bytes=\d+-\d+", asked.headers["Range"]) for asked in hub.transfers())
    assert not parts(home)

    hub.slow = SLOW
    terminal.keys("Enter")
    wait_for_percent(terminal, 5)
    engine = terminal.engine()
    os.kill(terminal.app(), signal.SIGKILL)
    terminal.wait_for("exit code 137")
    terminal.wait_until(lambda _: not Path(f"/proc/{engine}").exists(), "the end of the engine's process")
    killed = parts(home)
    assert killed
    assert not [*home.rglob("*.gguf")]
    assert all("% is downloaded" in problem for problem in listed(new).values())

    hub.asked.clear()
    again = start(terminals, new)
    again.wait_for(r"lab/guide-GGUF.* interrupted at \d+ % · Ctrl\+G resumes", absent="Welcome to specchat")
    again.keys("F8")
    again.wait_for(r"✗ lab/guide-GGUF:F16 · only \d+ % is downloaded")
    assert not hub.transfers()
    again.keys("BTab")
    again.wait_for(r"lab/guide-GGUF.* interrupted at \d+ %: Enter resumes")
    again.keys("Enter")
    percent = wait_for_percent(again, 100 * sum(killed.values()) // 39_000_000 + 5)
    assert resumed(hub) == requests_for(killed)
    again.keys("Escape")
    again.wait_for(r"↓ lab/guide-GGUF.* % ·", absent="Downloads")
    again.keys("C-q")
    left = re.search(r"(\d+) % of lab/guide-GGUF.* are here and kept", again.wait_for("exit code 0"))
    assert left
    assert int(left[1]) >= percent
    quitted = parts(home)
    assert quitted
    assert all(quitted[digest] > size for digest, size in killed.items() if digest in quitted)
    assert {name: bool(problem) for name, problem in listed(new).items()}["lab/guide-GGUF:F16"]

    hub.slow = 0.0
    hub.asked.clear()
    last = start(terminals, new)
    last.wait_for(r"● active(.|\n)*interrupted at \d+ % · Ctrl\+G resumes")
    last.keys("C-g")
    last.wait_for(r"lab/guide-GGUF.* is here · Ctrl\+G loads it")
    assert resumed(hub) == requests_for(quitted)
    assert listed(new) == {"lab/guide-GGUF:F16": "", "lab/little-GGUF:F16": ""}
    for path, name in zip(builtin_pair(), ("guide-F16.gguf", "little-F16.gguf"), strict=True):
        (fetched,) = home.rglob(name)
        assert fetched.read_bytes() == path.read_bytes()
    last.keys("F8")
    last.wait_for(r"  lab/guide-GGUF:F16 .* 35\.\d MB(.|\n)*  lab/little-GGUF:F16 ", absent="✗")
    last.keys("Escape")
    last.wait_for("● active", absent="On this machine")

    last.keys("C-g")
    last.wait_for("● active", absent=r"Ctrl\+G loads it")
    last.keys("F8")
    last.wait_for(r"● lab/guide-GGUF:F16 (.|\n)*● lab/little-GGUF:F16 ")
    last.keys("Escape")
    last.wait_for("● active", absent="On this machine")
    last.type("What is speculative decoding?")
    last.wait_for(STATISTICS)


def test_a_downloaded_draft_can_be_added_to_the_target_in_the_picker(
    terminals: list[Terminal], new: dict[str, str], hub: Hub
) -> None:
    pull = (*SPECCHAT, "models", "pull", *hub.repositories)
    subprocess.run(pull, env=new, capture_output=True, timeout=600, check=True)
    terminal = start(terminals, new)
    terminal.wait_for("Welcome to specchat")
    terminal.keys("Enter")
    terminal.wait_for("● active", absent="Welcome to specchat")
    terminal.keys("F8")
    terminal.wait_for("lab/guide-GGUF:F16")
    terminal.keys(*"guide-GGUF")
    terminal.keys("F4")
    terminal.wait_for(r"A draft for guide-F16(.|\n)*✓ .*little(.|\n)*fit")
    terminal.keys("Enter")
    terminal.wait_for(r"● active", absent="A draft for")
    terminal.type("What is speculative decoding?")
    terminal.wait_for(STATISTICS)
