from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.conftest import Complaint
from specchat import __version__
from specchat.cli import main


def test_help_names_the_commands_and_exit_codes_and_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("chat", "run", "doctor", "Exit codes"))
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"specchat {__version__}\n"


def test_an_error_shows_its_traceback_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "x", "-m", str(tmp_path / "none.gguf")]
    assert main(command) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main([*command, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_hostile_file_name_cannot_write_to_the_terminal(complaint: Complaint) -> None:
    assert "\x1b" not in complaint("run", "x", "-m", "\x1b[2Jnone\n.gguf", code=1)


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_closed_standard_output_is_no_traceback(closed: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m specchat models ls {closed}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", ["run --help", "--version"])
def test_a_full_disk_is_one_line(arguments: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m specchat {arguments} > /dev/full", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "specchat: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("chat --plain -m none.gguf", 1, "none.gguf"),
        ("replay -", 1, "standard input"),
        ("--attach http://127.0.0.1:9", 2, "watching needs a terminal"),
    ],
)
def test_a_closed_standard_input_is_an_empty_one(arguments: str, code: int, words: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m specchat {arguments} <&-", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "unexpected" not in done.stderr
