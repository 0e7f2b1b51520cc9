"""A file that passes the gate and ends llama.cpp: the command line says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specchat_engine.gguf import read_model
from support.tiny_models import ASSERTION, TinyModels, write_crafted_model


@pytest.fixture
def crafted(tmp_path: Path) -> Path:
    path = write_crafted_model(tmp_path / "crafted.gguf")
    read_model(path)  # the gate lets it through
    return path


def specchat(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    command = (sys.executable, "-m", "specchat", *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_a_crafted_target_ends_the_command_in_one_line(crafted: Path, isolated_machine: Path) -> None:
    done = specchat(isolated_machine, "run", "hi", "-m", str(crafted))
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"specchat: llama.cpp cannot use {crafted}: qwen3.cpp:")
    assert ASSERTION in line
    assert line.endswith("try the file with another download or build")


def test_a_crafted_draft_is_named_as_the_draft(crafted: Path, isolated_machine: Path, tiny_models: TinyModels) -> None:
    done = specchat(
        isolated_machine, "models", "pair", str(tiny_models.target), str(crafted), "--bench", "--seconds", "1"
    )
    assert done.returncode == 1
    *_, line = done.stderr.splitlines()
    assert f"llama.cpp cannot use {crafted}: " in line
    assert str(tiny_models.target) not in line
