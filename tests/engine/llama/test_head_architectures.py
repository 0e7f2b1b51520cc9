"""Heads with random weights run on a tiny target of every architecture that is said to have them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from specchat_engine.architectures import ARCHITECTURES

TESTS = Path(__file__).parents[2]


BATCH = 10
"""A process tries several architectures, since it takes longer to start than to try one."""


def batches(kind: str, architectures: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    names = sorted(architectures)
    return [(kind, tuple(names[begin : begin + BATCH])) for begin in range(0, len(names), BATCH)]


@pytest.mark.parametrize(
    ("kind", "architectures"),
    [
        *batches("eagle3", (name for name, known in ARCHITECTURES.items() if known.hands_out)),
        *batches("mtp", (name for name, known in ARCHITECTURES.items() if known.predicts)),
        *batches("assistant", (name for name, known in ARCHITECTURES.items() if known.assistant)),
    ],
)
def test_a_head_answers_as_plain_decoding_does(kind: str, architectures: tuple[str, ...], tmp_path: Path) -> None:
    words = [sys.executable, "-m", "support.head_trial", kind, str(tmp_path), *architectures]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), *sys.path)), "GGML_NO_BACKTRACE": "1"}
    done = subprocess.run(words, cwd=TESTS, env=environment, capture_output=True, text=True, timeout=600, check=False)
    tried = done.stdout.split()
    assert done.returncode == 0, f"{tried[-1:]}: {done.stderr[-2000:]}"
    assert tried == [*architectures]
