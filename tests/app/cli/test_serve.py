"""`specchat serve`: what keeps it from starting is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.serve.listener import listen
from support.real_server import real_server
from support.tiny_models import TinyModels

SERVER = ("starlette", "uvicorn", "sse_starlette", "prometheus_client", "pydantic")


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line that was printed."""
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = [line for line in printed.err.splitlines() if not line.startswith("specchat: loading ")]
    return line


def test_its_help_names_the_servers_flags_and_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    shown = capsys.readouterr().out
    for flag in (
        "--host",
        "--port",
        "-np",
        "--api-key",
        "--api-key-file",
        "--no-auth",
        "--cors",
        "-m",
        "-d",
        "-c",
        "-k",
    ):
        assert flag in shown
    assert "--system" not in shown


@pytest.mark.parametrize("missing", SERVER)
def test_a_missing_package_is_named_with_the_remedy(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("specchat.cli.serve.find_spec", lambda name: None if name == missing else object())
    assert main(["serve"]) == 2
    assert line_of(capsys) == (
        f"specchat: the server needs {missing}, which is not installed: pip install 'specchat[serve]'"
    )


def test_other_machines_are_not_let_in_by_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "--api-key" in line_of(capsys)


def test_a_port_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as listening:
        port = str(listening.getsockname()[1])
        assert main(["serve", "--port", port]) == 2
    assert f"port {port}" in line_of(capsys)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--port", "70000"], "--port is '70000'"),
        (["-np", "0"], "--parallel is '0'"),
        (["--api-key", "two words"], "--api-key"),
        (["--cors", "example.org"], "--cors is 'example.org'"),
        (["--api-key-file", "missing"], "missing"),
        (["--timeout", "soon"], "--timeout is 'soon'"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(flags: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *flags]) == 2
    assert named in line_of(capsys)


def test_a_file_that_is_no_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    assert main(["serve", "-m", str(tmp_path / "text.gguf"), "--port", "0"]) == 1
    assert "text.gguf" in line_of(capsys)


def test_it_says_what_it_serves_and_where(tiny_models: TinyModels) -> None:
    with real_server("-m", tiny_models.target, "-d", tiny_models.draft, "-t", "1", "-np", "2") as server:
        assert server.interrupt() == 130
        loading, line = server.errors.read_text("utf-8").splitlines()
    assert loading == "specchat: loading target.gguf"
    assert line == f"specchat: target 91k ⇠ draft 54k at {server.url}/v1, 2 at a time; Ctrl+C ends it"


def test_it_ends_well_when_the_system_asks_it_to(tiny_models: TinyModels) -> None:
    with real_server("-m", tiny_models.target, "-t", "1", "-np", "1") as server:
        server.process.terminate()
        assert server.process.wait(30) == 0


def test_the_command_line_loads_nothing_of_the_server() -> None:
    code = f"import specchat.cli, specchat.cli.app, sys; print(*sorted({{*{SERVER!r}}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
