"""Copying through the desktop's own program."""

from pathlib import Path

import pytest

from specchat.terminal.clipboard import copy_natively


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An X11 desktop whose programs are in this folder."""
    for name in ("WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("specchat.terminal.clipboard._TIMEOUT", 600)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    return tmp_path


def test_a_text_goes_to_the_desktops_program_as_it_is(desktop: Path) -> None:
    program(desktop, "xclip", f'cat > {desktop}/got; echo "$@" > {desktop}/how')
    assert copy_natively("größer\n\ttab")
    assert (desktop / "got").read_text() == "größer\n\ttab"
    assert (desktop / "how").read_text().strip() == "-selection clipboard"


def test_a_program_that_fails_gives_way_to_the_next(desktop: Path) -> None:
    program(desktop, "xclip", "cat > /dev/null; exit 1")
    program(desktop, "xsel", f"cat > {desktop}/got")
    assert copy_natively("x")
    assert (desktop / "got").read_text() == "x"


def test_a_program_that_stays_to_serve_the_text_is_not_waited_for(desktop: Path) -> None:
    program(desktop, "xclip", "cat > /dev/null; sleep 30 &")
    assert copy_natively("x")


def test_without_a_desktop_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert not copy_natively("x")
