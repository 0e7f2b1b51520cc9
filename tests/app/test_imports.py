"""What is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence, Set
from importlib.metadata import version

from specchat import __version__

HEAVY = {"textual", "llama_cpp", "torch", "numpy", "pydantic", "rich"}
LIGHT = (
    "specchat.cli",
    "specchat.engine_process.local_client",
    "specchat.settings.options",
    "specchat.store",
    "specchat.settings.presets",
    "specchat.engine_process.shared_client",
    "specchat.tools.toolbox",
)
NEEDLESS = {"textual", "rich", "torch", "typer", "huggingface_hub", "pydantic", "importlib.metadata", "markdown_it"}


def imports(modules: Sequence[str], unwanted: Set[str]) -> str:
    """What a process that imports these modules in turn has imported of the unwanted ones, after each module."""
    lines = (f"import {module}; print('{module}:', *sorted({unwanted!r} & set(sys.modules)))" for module in modules)
    code = "\n".join(("import sys", *lines))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_light_modules_stay_light() -> None:
    assert imports(LIGHT, HEAVY) == "".join(f"{module}:\n" for module in LIGHT)


def test_the_engines_process_waits_for_nothing_that_it_does_not_compute_with() -> None:
    assert imports(["specchat.engine_process.server"], NEEDLESS) == "specchat.engine_process.server:\n"


def test_help_answers_before_anything_heavy_is_imported() -> None:
    words = [sys.executable, "-X", "importtime", "-m", "specchat", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "specchat.cli" in imported
    assert not imported & (HEAVY | NEEDLESS - {"typer"} | {"asyncio", "jinja2", "sqlite3", "uvicorn"})


def test_the_version_is_the_projects() -> None:
    assert version("specchat") == __version__
