"""Heads with random weights run on a tiny target of every architecture that is said to have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specchat_engine.pairing.heads import LAYER_INPUTS, PREDICTING

TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        *((name, "eagle3") for name in sorted(LAYER_INPUTS)),
        *((name, "mtp") for name in sorted(PREDICTING)),
        ("gemma4", "assistant"),
    ],
)
def test_a_head_answers_as_plain_decoding_does(architecture: str, kind: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "support.head_trial", architecture, kind, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "GGML_NO_BACKTRACE": "1"}
    done = subprocess.run(words, cwd=TESTS, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
