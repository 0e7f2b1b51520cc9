"""A llama.cpp that cannot be loaded is one line in every command, the one that the doctor has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from support.tiny_models import TinyModels

ELF = "RuntimeError(\"Failed to load shared library '/lib/libllama.so': invalid ELF header\\nat 0\")"
FAULTS = {
    ELF: "Failed to load shared library '/lib/libllama.so': invalid ELF header at 0",
    "OSError('libgomp.so.1: cannot open shared object file')": "libgomp.so.1: cannot open shared object file",
    "FileNotFoundError(\"Shared library with base name 'llama' not found\")": "base name 'llama' not found",
    "ModuleNotFoundError(\"No module named 'llama_cpp'\")": "No module named 'llama_cpp'",
    "AttributeError('libllama.so: undefined symbol: llama_batch_init')": "undefined symbol: llama_batch_init",
}
REMEDY = "install it again: pip install --force-reinstall --no-cache-dir llama-cpp-python=="

_PROGRAM = """
import contextlib, io, json, os, sys
from specchat.cli import main

for fault, words in json.loads(sys.argv[1]):
    os.environ["FAULT"] = fault
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(words)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), file=sys.__stdout__)
"""


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def specchat(home: Path, *commands: tuple[str, list[str]]) -> list[Done]:
    """Runs commands, each with a fault in place of the import of `llama_cpp`."""
    package = home / "broken" / "llama_cpp"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import os\nraise eval(os.environ['FAULT'])\n")
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home), "PYTHONPATH": path}
    words = [sys.executable, "-c", _PROGRAM, json.dumps(commands)]
    done = subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=True
    )
    return [Done(*json.loads(line)) for line in done.stdout.splitlines()]


def test_an_answer_says_what_failed_and_what_to_do(isolated_machine: Path) -> None:
    answers = specchat(isolated_machine, *((fault, ["run", "hi"]) for fault in FAULTS))
    for done, reason in zip(answers, FAULTS.values(), strict=True):
        assert done.code == 1, reason
        (line,) = done.err.splitlines()
        assert line.startswith("specchat: llama.cpp cannot be loaded: ")
        assert reason in line
        assert REMEDY in line


def test_every_command_that_loads_models_says_it_and_the_others_work(
    isolated_machine: Path, tiny_models: TinyModels
) -> None:
    target, draft = str(tiny_models.target), str(tiny_models.draft)
    loading = [["verify"], ["bench"], ["models", "pair", target, draft], ["chat", "--plain"]]
    others = [["models", "ls"], ["models", "show", target]]
    *failed, doctor, listed, shown = specchat(
        isolated_machine, *((ELF, words) for words in (*loading, ["doctor", "--json"], *others))
    )
    for done, words in zip(failed, loading, strict=True):
        assert done.code == 1, words
        *_, line = (done.err or done.out).splitlines()
        assert line.removeprefix("specchat: ").startswith("llama.cpp cannot be loaded: Failed to load shared library")
        assert REMEDY in line
    (finding,) = (one for one in map(json.loads, doctor.out.splitlines()) if one["name"] == "llama.cpp")
    assert doctor.code == 1
    assert finding["value"].startswith("cannot be loaded: Failed to load shared library")
    assert finding["remedy"].startswith(REMEDY)
    assert (listed.code, shown.code) == (0, 0)
