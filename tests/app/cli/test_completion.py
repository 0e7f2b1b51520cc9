"""Completion in the shell and the manual page: both come from the commands and flags as they are declared."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.settings.schema import SETTINGS
from specchat.settings.setting import SettingGroup


def completed(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash gets offered for the last word of a line."""
    words = line.split(" ")
    monkeypatch.setenv("_SPECCHAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    assert main([]) == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("specchat ver", {"verify"}),
        ("specchat --resu", {"--resume"}),
        ("specchat chat --verif", {"--verifier"}),
        ("specchat run --verifier ty", {"typical"}),
        ("specchat chat -k a", {"auto"}),
        ("specchat models l", {"ls"}),
    ],
)
def test_commands_flags_and_values_are_completed(
    line: str, offered: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(completed(line, capsys, monkeypatch)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_flag_installs_completion_for_the_shell_that_runs(
    shell: str, isolated_machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, shell))
    assert main(["--install-completion"]) == 0
    assert f"{shell} completion installed in {isolated_machine}" in capsys.readouterr().out
    files = [path for path in isolated_machine.rglob("*specchat*") if path.is_file()]
    assert any("_SPECCHAT_COMPLETE" in path.read_text() for path in files)


def test_the_manual_page_has_every_flag_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    page = capsys.readouterr().out.replace(r"\-", "-")
    assert page.startswith(".TH SPECCHAT 1")
    for setting in SETTINGS:
        assert all(flag in page for flag in setting.flags), setting.key
    for command in ("CHAT", "RUN", "DOCTOR", "MODELS PULL", "SESSIONS IMPORT"):
        assert f"\n.SH {command}\n" in page
    assert any(setting.group is SettingGroup.SERVING and setting.flags for setting in SETTINGS)


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_the_manual_page_is_sound_roff(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    page = capsys.readouterr().out
    made = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, text=True, capture_output=True, check=True)
    assert made.stderr == ""
