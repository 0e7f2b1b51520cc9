from __future__ import annotations

import resource
import subprocess
import sys
from importlib.metadata import version

import pytest

from specchat import __version__

HEAVY = {"textual", "llama_cpp", "torch", "numpy", "pydantic", "rich"}


@pytest.mark.parametrize(
    "module",
    [
        "specchat.cli",
        "specchat.engine_process.local_client",
        "specchat.settings.options",
        "specchat.store",
        "specchat.settings.presets",
        "specchat.engine_process.shared_client",
        "specchat.tools.toolbox",
    ],
)
def test_light_modules_stay_light(module: str) -> None:
    code = f"import {module}, sys; print(*sorted({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_the_engines_process_waits_for_nothing_that_it_does_not_compute_with() -> None:
    needless = {"textual", "rich", "torch", "typer", "huggingface_hub", "pydantic", "importlib.metadata", "markdown_it"}
    code = f"import specchat.engine_process.server, sys; print(*sorted({needless!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_help_takes_little_to_answer() -> None:
    """Time on a processor, which a busy machine does not stretch by much."""

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "specchat", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3


def test_the_version_is_the_projects() -> None:
    assert version("specchat") == __version__
