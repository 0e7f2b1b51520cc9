"""What follows a training: the result is verified, measured by kind of text, and remembered as the target's draft."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from specchat.bench.document import Benchmark, read_benchmark
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import Estimate
from specchat.cli.messages import print_rows, say
from specchat.errors import FAILED
from specchat.models.last_pairs import DraftTiming, last_draft, read_timings, write_timings
from specchat.models.preferences import remember_pair

BEST, LOOKUP = Arm("hybrid", "auto"), Arm("lookup", "auto")
"""The own choice with what was trained, and without it."""

_CLEAR = 1.1
"""A gain over single answers of each kind is believed from here on, since one answer varies by 5 %."""

_K = 4
_MAX_TOKENS, _PROMPTS = 64, 1
_SHARE, _PARTS, _FEWEST_SECONDS = 0.15, 3, 90.0
"""The check takes this share of the time, at least some seconds, a third for each of its parts."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was trained: a draft model or head in a file, or layers in the target itself."""

    target: Path
    draft: str
    drafter: str

    @property
    def flags(self) -> list[str]:
        """How a command names the pair."""
        return ["-m", str(self.target), "-d", self.draft]


def check_seconds(minutes: float) -> float:
    """How much of the time of a training is for its check."""
    return min(60 * minutes / 2, max(_FEWEST_SECONDS, 60 * minutes * _SHARE))


def check(result: Result, seconds: float) -> int:
    """Verifies and measures in processes of their own, without torch's threads. Returns the exit code.

    It takes about that many seconds: what runs longer is stopped, and what it found by then counts.
    """
    part = max(seconds, _FEWEST_SECONDS) / _PARTS
    alone = Arm("model" if result.drafter == "draft" else result.drafter, _K)
    before = last_draft(result.target)
    say("verifying: plain and drafted answers are compared token by token")
    if _specchat("verify", *result.flags, "--drafter", alone.drafter, "--prompts", str(_PROMPTS), seconds=part):
        say(f"{result.draft} is not adopted, because answers differ: see above")
        return FAILED
    say("measuring on kinds of text that are built in")
    arms = (alone, BEST, LOOKUP)
    benchmark = measured(result.flags, arms, part)
    if benchmark is None:
        say("nothing was measured: see above, or give more --minutes")
        return FAILED
    alphas = {row.kind: row.alpha for row in benchmark.rows if row.arm == alone and row.alpha is not None}
    ratios = {(row.kind, row.arm): row.end_to_end_ratio for row in benchmark.rows}
    print_rows(
        ("kind", f"α of {alone.label}", *(f"{arm.label} × plain" for arm in arms)),
        ((kind, f"{alpha:.2f}", *(_ratio(ratios[kind, arm]) for arm in arms)) for kind, alpha in alphas.items()),
    )
    best, lookup = _overall(benchmark, BEST), _overall(benchmark, LOOKUP)
    speedup = gained(best, lookup)
    say(f"over all kinds: {best.words}")
    to_beat = 1.0
    if before and str(before) != result.draft:
        earlier = measured(["-m", str(result.target), "-d", str(before)], (BEST,), part)
        if earlier:
            best_before = _overall(earlier, BEST)
            to_beat = max(to_beat, gained(best_before, lookup))
            say(f"with {before.name}, its draft so far: {best_before.words}")
    if result.draft != "mtp":
        path = str(Path(result.draft).absolute())
        others = [timing for timing in read_timings(result.target) if timing.draft != path]
        write_timings(result.target, [*others, DraftTiming(path, speedup, BEST.drafter, str(BEST.k), alphas)])
        if speedup > to_beat:
            remember_pair(result.target, Path(result.draft))
            say(f"{Path(result.draft).name} is remembered as this target's draft")
        else:
            say(f"{Path(result.draft).name} gains no more than what there is, or chance: -d uses it all the same")
    return 0


def measured(flags: Sequence[str], arms: Sequence[Arm], seconds: float) -> Benchmark | None:
    """A short benchmark of these arms and plain decoding; None if nothing was measured."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        listed = ",".join(map(str, (PLAIN, *arms)))
        words = ["--arms", listed, "--temp", "0.8", "--repeats", "1", "--max-tokens", str(_MAX_TOKENS), "--json"]
        with file.open("w", encoding="utf-8") as out:
            failed = _specchat("bench", *flags, *words, out=out, seconds=seconds)
        return None if failed or not file.stat().st_size else read_benchmark(file)


def gained(best: Estimate, lookup: Estimate) -> float:
    """The speed of the own choice relative to plain decoding; at most 1 if that may be chance, or if lookup, which
    needs no draft, is as fast."""
    sure = best.is_gain if best.interval else best.value > _CLEAR
    return best.value if sure and best.value > lookup.value else min(best.value, 1.0)


def _overall(benchmark: Benchmark, arm: Arm) -> Estimate:
    """The speed over all kinds relative to plain decoding; 1 if nothing was measured."""
    nothing = Estimate(1.0, None, None, 0)
    return next((mean.end_to_end_ratio for mean in benchmark.overall(None) if mean.arm == arm), nothing)


def _ratio(estimate: Estimate | None) -> str:
    return f"{estimate.value:.2f}" if estimate else ""


def _specchat(*words: str, out: IO[str] | None = None, seconds: float) -> int:
    """Runs a command, and interrupts it after `seconds`. Returns its exit code, 0 if it was interrupted."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:  # as under nohup: the command would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([sys.executable, "-m", "specchat", *words], stdout=out) as process:
        signal.signal(signal.SIGINT, before)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return 0
