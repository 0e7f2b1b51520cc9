from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specchat import __version__
from specchat.cli import main
from specchat.settings.schema import SETTINGS
from specchat.settings.setting import SettingGroup
from specchat.settings.values import Choice, Number


def test_help_names_the_commands_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("chat", "run", "doctor", "Exit codes"))


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"specchat {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frob"], "No such command 'frob'; see `specchat --help`"),
        (["run", "--frob"], "No such option"),
        (["run", "x", "--temp", "hot"], "--temp is 'hot': use a number from 0 to 100"),
        (["run", "x", "-k", "many"], "-k is 'many': use auto, or a whole number from 0 to 32"),
        (["run", "x", "-k", "-1"], "-k is '-1': use auto, or a whole number from 0 to 32"),
        (["run", "x", "--temp", "-1"], "--temp is '-1': use a number from 0 to 100"),
        (["run", "x", "-d", "small.gguf"], "has no target"),
        (["run", "x", "--verifier", "magic"], "--verifier is 'magic': use coupled, rejection, block or typical"),
        (["chat", "--verifier", "magic"], "--verifier is 'magic': use coupled, rejection, block or typical"),
        (["run", "x", "--logit-bias", "7"], "--logit-bias is '7': use TOKEN=BIAS"),
        (["run", "x", "--grammar", "a", "-j", "{}"], "grammar and json_schema are both given"),
        (["run", "x", "--json-schema", "{"], "the JSON schema is not JSON"),
        (["run", "x", "--grammar-file", "none.gbnf"], "none.gbnf cannot be read"),
        (["chat", "-jf", "none.json"], "none.json cannot be read"),
        (["run"], "there is nothing to answer"),
    ],
)
def test_wrong_usage_is_one_line_with_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("specchat: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err


@pytest.mark.parametrize("command", [["run", "hi"], ["chat"], ["verify"], ["bench", "--arms", "lookup:99"]])
def test_every_command_refuses_the_same_k(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main([*command, *([] if "--arms" in command else ["-k", "99"])]) == 2
    assert "is '99': use auto, or a whole number from 0 to 32 (0 is plain decoding)" in capsys.readouterr().err


def test_every_flag_is_named_with_its_wrong_value(capsys: pytest.CaptureFixture[str]) -> None:
    for setting in SETTINGS:
        if isinstance(setting.kind, Number | Choice) and setting.flag != "--exact":  # which means "on" by itself
            command = ["serve"] if setting.group is SettingGroup.SERVING else ["run", "x"]
            assert main([*command, setting.flag, "nonsense"]) == 2
            assert f"{setting.flag} is 'nonsense': use " in capsys.readouterr().err


def test_flags_without_a_command_belong_to_the_chat(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-k", "many"]) == 2
    assert "k is 'many'" in capsys.readouterr().err


def test_the_chat_needs_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-m", "any.gguf"]) == 2
    assert "the chat needs a terminal" in capsys.readouterr().err


def test_an_error_shows_its_traceback_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "x", "-m", str(tmp_path / "none.gguf")]
    assert main(command) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main([*command, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_hostile_file_name_cannot_write_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "x", "-m", "\x1b[2Jnone\n.gguf"]) == 1
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_standard_output_is_no_traceback(closed: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m specchat models ls {closed}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("arguments", ["--help", "run --help", "chat --help", "--version"])
def test_a_full_disk_is_one_line(arguments: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m specchat {arguments} > /dev/full", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "specchat: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("chat", 2, "the chat needs a terminal"),
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
