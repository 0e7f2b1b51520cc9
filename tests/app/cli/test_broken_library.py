"""A llama.cpp that cannot be loaded is one line in every command, the one that the doctor has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.tiny_models import TinyModels

ELF = "RuntimeError(\"Failed to load shared library '/lib/libllama.so': invalid ELF header\\nat 0\")"
REMEDY = "install it again: pip install --force-reinstall --no-cache-dir llama-cpp-python=="


def specchat(home: Path, fault: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with a `llama_cpp` whose import fails."""
    package = home / "broken" / "llama_cpp"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"raise {fault}\n")
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "PYTHONPATH": path}
    command = (sys.executable, "-m", "specchat", *arguments)
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (ELF, "Failed to load shared library '/lib/libllama.so': invalid ELF header at 0"),
        ("OSError('libgomp.so.1: cannot open shared object file')", "libgomp.so.1: cannot open shared object file"),
        ("FileNotFoundError(\"Shared library with base name 'llama' not found\")", "base name 'llama' not found"),
        ("ModuleNotFoundError(\"No module named 'llama_cpp'\")", "No module named 'llama_cpp'"),
        ("AttributeError('libllama.so: undefined symbol: llama_batch_init')", "undefined symbol: llama_batch_init"),
    ],
)
def test_an_answer_says_what_failed_and_what_to_do(isolated_machine: Path, fault: str, reason: str) -> None:
    done = specchat(isolated_machine, fault, "run", "hi")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("specchat: llama.cpp cannot be loaded: ")
    assert reason in line
    assert REMEDY in line


@pytest.mark.parametrize("words", ["verify", "bench", "models pair TARGET DRAFT", "chat --plain"])
def test_every_command_that_loads_models_says_it(isolated_machine: Path, tiny_models: TinyModels, words: str) -> None:
    files = {"TARGET": str(tiny_models.target), "DRAFT": str(tiny_models.draft)}
    done = specchat(isolated_machine, ELF, *(files.get(word, word) for word in words.split()))
    assert done.returncode == 1
    *_, line = (done.stderr or done.stdout).splitlines()
    assert line.removeprefix("specchat: ").startswith("llama.cpp cannot be loaded: Failed to load shared library")
    assert REMEDY in line


def test_the_doctor_says_it_too(isolated_machine: Path) -> None:
    done = specchat(isolated_machine, ELF, "doctor", "--json")
    assert done.returncode == 1
    (finding,) = (one for one in map(json.loads, done.stdout.splitlines()) if one["name"] == "llama.cpp")
    assert finding["value"].startswith("cannot be loaded: Failed to load shared library")
    assert finding["remedy"].startswith(REMEDY)


def test_what_needs_no_model_in_memory_works_without_it(isolated_machine: Path, tiny_models: TinyModels) -> None:
    assert specchat(isolated_machine, ELF, "models", "ls").returncode == 0
    assert specchat(isolated_machine, ELF, "models", "show", str(tiny_models.target)).returncode == 0
