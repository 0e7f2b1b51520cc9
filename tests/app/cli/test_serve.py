"""`specchat serve`: what keeps it from starting is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.cli.conftest import Complaint
from specchat.cli import main
from specchat.serve.listener import listen
from support.real_server import real_server
from support.tiny_models import TinyModels

SERVER = ("starlette", "uvicorn", "sse_starlette", "prometheus_client", "pydantic")


def test_its_help_names_the_servers_flags_and_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    shown = capsys.readouterr().out
    flags = ("--host", "--port", "-np", "--api-key", "--api-key-file", "--no-auth", "--cors", "-m", "-d", "-c", "-k")
    assert all(flag in shown for flag in flags)
    assert "--system" not in shown


def test_a_missing_package_is_named_with_the_remedy(complaint: Complaint, monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in SERVER:
        monkeypatch.setattr("specchat.cli.serve.find_spec", lambda name, gone=missing: None if name == gone else name)
        said = f"the server needs {missing}, which is not installed: pip install 'specchat[serve]'"
        assert complaint("serve") == f"specchat: {said}\n"


def test_a_port_in_use_is_named(complaint: Complaint) -> None:
    with listen("127.0.0.1", 0) as listening:
        port = str(listening.getsockname()[1])
        assert f"port {port}" in complaint("serve", "--port", port)


def test_a_file_that_is_no_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    assert main(["serve", "-m", str(tmp_path / "text.gguf"), "--port", "0"]) == 1
    loading, line = capsys.readouterr().err.splitlines()
    assert loading == "specchat: loading text.gguf"
    assert "text.gguf is not a GGUF file" in line


def test_it_says_what_it_serves_and_where_and_ends_well_when_the_system_asks_it_to(tiny_models: TinyModels) -> None:
    with real_server("-m", tiny_models.target, "-d", tiny_models.draft, "-t", "1", "-np", "2") as server:
        server.process.terminate()
        assert server.process.wait(600) == 0
        loading, line = server.errors.read_text("utf-8").splitlines()
    assert loading == "specchat: loading target.gguf"
    assert line == f"specchat: target 91k ⇠ draft 54k at {server.url}/v1, 2 at a time; Ctrl+C ends it"


def test_the_command_line_loads_nothing_of_the_server() -> None:
    code = f"import specchat.cli, specchat.cli.app, sys; print(*sorted({{*{SERVER!r}}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
