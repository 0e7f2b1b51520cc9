"""Every test of the application runs without the user's configuration, folders and variables."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from specchat.store.keeper import Keeper
from support.tiny_models import TinyModels, write_tiny_pair


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """Ctrl+C is heard here and by what tests start: a shell lets what it starts in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def isolated_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, no SPECCHAT_* variables, no colour settings, no desktop with a clipboard."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        shown = name in {"NO_COLOR", "FORCE_COLOR", "COLORTERM", "DISPLAY", "WAYLAND_DISPLAY"}
        if name.startswith(("SPECCHAT_", "XDG_")) or shown:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TERM", "xterm-256color")
    return home


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """The files that the tests load."""
    return write_tiny_pair(tmp_path_factory.mktemp("models"))


@pytest.fixture(autouse=True)
def patient_keepers(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of a chat everything is written, however long the disk takes."""
    monkeypatch.setattr(Keeper.close, "__defaults__", (600.0,))


@pytest.fixture(autouse=True)
def gave_way(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Applications in this process keep its priority, which could not be raised again; each call is remembered."""
    calls: list[None] = []
    monkeypatch.setattr("specchat.tui.screens.chat.model_loader.give_way", lambda: calls.append(None))
    return calls
