"""Does `specchat verify` notice? Runs it on the built-in pair with each of ten bugs planted, and without.

    PYTHONPATH=tests python -m benchmarks.planted_bugs [FLAGS OF VERIFY …]

Prints for each bug whether it was caught (exit code 1), after how many seconds, and the first reason; then the same for
sound code with three seeds, which must pass.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable, Sequence

import pytest

from specchat.cli import main as specchat
from specchat_engine.llama.context import LlamaContext
from support.planted_bugs import PLANTED


def verify(flags: Sequence[str], plant: Callable[[pytest.MonkeyPatch], None] = lambda _: None) -> str:
    """The outcome of one run, in words."""
    began = time.monotonic()
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        plant(patch)
        code = specchat(["verify", "--json", *flags])
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    wrong = [line["difference"] for line in lines if line["type"] == "case" and line["difference"]]
    reason = next((each["reason"] for each in wrong if not each["explained"]), err.getvalue().strip())
    return f"exit {code}  {time.monotonic() - began:5.0f} s  {len(lines)} answers  {reason}"


def main(flags: Sequence[str]) -> None:
    """Prints the table."""
    for name, plant in PLANTED.items():
        print(f"{name:<45} {verify(flags, lambda patch, plant=plant: plant(patch, LlamaContext))}", flush=True)
    for seed in (1, 2, 3):
        print(f"{f'sound code, seed {seed}':<45} {verify([*flags, '-s', str(seed)])}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
