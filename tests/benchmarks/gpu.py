"""Measures specchat on a GPU, part by part: `PYTHONPATH=tests python -m benchmarks.gpu FOLDER --server LLAMA_SERVER`.

Each part is a program of its own with a time limit: one that fails or takes too long does not cost the others. Their
output goes to files in FOLDER; the table at the end, in Markdown, says how each ended and has its most important lines.
Models are grown first, into FOLDER/models: they compute what the built-in pair computes at a real model's cost, and
their drafts guess less well by noise. With the default sizes all parts together take about ten minutes on an H100;
`--small` rehearses them on two CPU cores.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.scaled_pair import parameters
from specchat_assets import builtin_heads

VOCABULARY = 151_936
"""Qwen's."""

_LEAST_S = 5.0
"""With less time than this no part is begun."""

_WIDTHS = r"^ *(1|2|5|9|17|33) tokens|copy|\["
_ARMS = r"^(all kinds|Use )|^ {11}\w[^▒]* {15,}\d"
"""Patterns of the lines for the table: passes by width, and the arms of `specchat bench`."""

NOISE = {"90": 0.0, "75": 0.16, "60": 0.22}
"""Relative to the spread of the draft's weights, by the α in per cent that it leaves on the benchmark's prompts."""


@dataclass(frozen=True)
class Part:
    """A program, its arguments and its limit in seconds. `pattern` matches the lines of its output for the table."""

    name: str
    limit_s: int
    words: Sequence[str]
    pattern: str = ""
    beside: bool = False
    """Whether it runs beside the part before it."""
    needed: bool = False
    """Whether the parts after it depend on what it writes."""


@dataclass(frozen=True)
class Sizes:
    """Parameters of the targets and their draft, and how much is measured.

    `patience` times as long as usual may each part take.
    """

    middle: str
    large: str
    mixture: str
    draft: int
    vocabulary: int
    depths: Sequence[int]
    tokens: int
    repeats: int
    patience: int = 1

    def share(self, target: str) -> str:
        """The draft's share of a target."""
        return f"{self.draft / parameters(target):.4f}"


REAL = Sizes("8B", "32B", "1.5B", 600_000_000, VOCABULARY, (100, 4000, 16_000), 128, 5)
SMALL = Sizes("60M", "80M", "100M", 6_000_000, 4096, (100, 400), 24, 1, 3)


def listed(folder: Path, name: str) -> list[str]:
    """Returns the paths of the models that a part of growing printed; none if it was not made."""
    try:
        lines = (folder / f"{name}.txt").read_text().splitlines()
    except OSError:
        return []
    return [line.split("\t")[0] for line in lines if line.count("\t") == 2]


def writing(
    sizes: Sizes, models: Path, target: str, quantisation: str = "Q4_K_M", share: str | None = None
) -> tuple[str, ...]:
    """Returns the program that writes a target of this size with a draft, of the usual size if no `share` is given."""
    base = ("-m", "benchmarks.scaled_pair", "--out", str(models), "--type", quantisation)
    pair = ("--target-size", target, "--draft-share", share or sizes.share(target))
    return (*base, "--vocabulary", str(sizes.vocabulary), *pair)


def growing(sizes: Sizes, models: Path) -> Iterator[Part]:
    """The parts that write the models."""
    middle, large = (writing(sizes, models, target) for target in (sizes.middle, sizes.large))
    mixture = (*writing(sizes, models, sizes.mixture, share="0.1"), "--experts", "16")
    head = ("--head", *(str(path) for path in builtin_heads() if "eagle3" in path.name))
    yield Part("grow-90", 120, (*middle, *head))
    yield Part("grow-large", 120, large, beside=True)
    yield Part("grow-mixture", 120, mixture, beside=True)
    for index, alpha in enumerate([*NOISE][1:]):
        yield Part(f"grow-{alpha}", 60, (*middle, "--draft-noise", str(NOISE[alpha])), beside=index > 0)


def measuring(sizes: Sizes, folder: Path, server: Path | None) -> Iterator[Part]:
    """The parts that measure, the most important ones first."""
    tokens = str(sizes.tokens)
    depths = ("--depths", *map(str, sizes.depths), "--repeats", str(sizes.repeats))
    pairs = {name: listed(folder, f"grow-{name}") for name in (*NOISE, "large", "mixture")}
    pairs = {name: files for name, files in pairs.items() if len(files) > 1}
    yield Part("doctor", 30, ("-m", "specchat", "doctor"), "GPU|llama.cpp")
    for name in [name for name in ("90", "large", "mixture") if name in pairs]:
        yield Part(f"widths-{name}", 60, ("-m", "benchmarks.widths", "-m", pairs[name][0], *depths), _WIDTHS)
    if server:
        only = ("--server-only", "plain", "draft 4", "draft 8", "draft 16", "draft 8 drawn on the host", "ngram-mod")
        usual = ("--server", str(server), "--each", "1", "-n", tokens)
        without = ("--without", "llama-cpp-python", "transformers")
        for name, files in pairs.items():
            written = ("--json", str(folder / f"peers-{name}.jsonl"))
            heads = ("eagle3 4", "--head", *files[2:]) if files[2:] else ()
            words = ("-m", "benchmarks.peers", *_pair(files), *usual, *only, *heads, *without, *written)
            yield Part(f"peers-{name}", 120, words, "^specchat .* is |^temperature|│ (plain|hybrid)")
    if files := pairs.get("90"):
        yield Part("widths-draft", 30, ("-m", "benchmarks.widths", "-m", files[1], *depths), _WIDTHS)
        yield Part("overhead", 60, ("-m", "benchmarks.overhead", *_pair(files), "--repeats", "1"), "^T ")
        samplers = ("-m", "benchmarks.device_samplers", "-m", files[0], "--answers", "20")
        yield Part("samplers", 60, samplers, "a pass|equal")
        yield Part("placements", 60, ("-m", "benchmarks.placements", *_pair(files)), "GB|tokens/s|Placed")
        bench = ("-m", "specchat", "bench", *_pair(files), "-n", tokens, "--repeats", "1")
        yield Part("trees", 60, (*bench, "--arms", "none,model:4,model:auto", "--tree", "auto"), _ARMS)
        for head in files[2:]:
            heads = ("--head", head, "--arms", "none,eagle3:4,eagle3:auto,hybrid:auto")
            yield Part("heads", 120, (*bench, *heads), _ARMS)
    if files := pairs.get("75"):
        words = ("-m", "specchat", "verify", *_pair(files), "--kind", "facts", "--prompts", "1", "-n", "48")
        yield Part("verify", 120, words, "answers|noise|unexplained")
        if server:
            beside = ("--server", str(server), "--servers", "plain", "draft 4", "--clients", "1", "8", "--blocks", "2")
            yield Part("parallel", 90, ("-m", "benchmarks.parallel", *_pair(files), *beside, "-n", tokens), "│")
    if files := pairs.get("mixture"):
        for experts in ("0", "-1"):
            words = ("-m", "specchat", "bench", *_pair(files), "-ncmoe", experts, "-n", tokens, "--repeats", "1")
            yield Part(f"experts{experts}", 60, (*words, "--arms", "none,hybrid:auto"), _ARMS)
    short = ("-n", tokens, "--each", "1", "--repeats", "1", "--sizes", "80x24")
    yield Part("app", 120, ("-m", "benchmarks.drawing", *_pair(pairs.get("90", [])), *short), "^[|] ")
    for quantisation in ("Q8_0", "BF16"):
        grown = f"grow-{quantisation}"
        yield Part(grown, 120, writing(sizes, folder / "models", sizes.middle, quantisation), needed=True)
        for model in listed(folder, grown)[:1]:
            yield Part(f"widths-{quantisation}", 30, ("-m", "benchmarks.widths", "-m", model, *depths[:2]), _WIDTHS)
    tests = ("-m", "pytest", "-q", "-n", "8", "tests/engine", "--ignore", "tests/engine/training")
    yield Part("tests", 240, tests, "^(FAILED|ERROR)|passed|failed")


def _pair(files: Sequence[str]) -> tuple[str, ...]:
    """The flags for a pair; none for the built-in one."""
    return ("-m", files[0], "-d", files[1]) if files else ()


@dataclass(frozen=True)
class Ended:
    """How a part ended after some seconds, and the most important lines of its output."""

    part: Part
    seconds: float
    how: str
    lines: Sequence[str] = ()

    @property
    def well(self) -> bool:
        """Whether it did all that it should."""
        return self.how == "done"

    @property
    def row(self) -> str:
        """It as a row of a table in Markdown."""
        lines = "<br>".join(f"`{line}`" for line in self.lines)
        return f"| {self.part.name} | {self.seconds:.0f} s | {self.how} | {lines} |"


def _matching(out: Path, pattern: str) -> list[str]:
    """Returns the lines of an output that match, without the strokes that would end a cell of a table."""
    lines = out.read_text(errors="replace").splitlines() if pattern else []
    return [re.sub(r" *[|│] *", "  ", line).strip() for line in lines if re.search(pattern, line)]


class Running:
    """A part that runs."""

    def __init__(self, part: Part, folder: Path, limit_s: float) -> None:
        self.part, self._limit_s, self._begun = part, limit_s, time.monotonic()
        self._out = folder / f"{part.name}.txt"
        with self._out.open("w") as out:
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            self._process = subprocess.Popen(
                [sys.executable, *part.words],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def wait(self) -> Ended:
        """Waits for its end, or ends it with all that it started."""
        try:
            code = self._process.wait(max(0.0, self._begun + self._limit_s - time.monotonic()))
            ended = "done" if code == 0 else f"exit code {code}"
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            ended = f"stopped after {self._limit_s:.0f} s"
        return Ended(self.part, time.monotonic() - self._begun, ended, _matching(self._out, self.part.pattern))


def main() -> int:
    """Runs all parts and prints how they ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", type=Path, help="llama-server, built for the same device")
    parser.add_argument("--seconds", type=float, default=570.0, help="for all parts together [570]")
    parser.add_argument("--small", action="store_true", help="small models, to rehearse on a CPU")
    parser.add_argument("--only", nargs="*", default=[], help="measurements whose names begin so")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    end, sizes = time.monotonic() + asked.seconds, SMALL if asked.small else REAL
    ended = run_all(growing(sizes, asked.folder / "models"), asked.folder, end, sizes.patience)
    measured = measuring(sizes, asked.folder, asked.server)
    wanted = (part for part in measured if not asked.only or part.name.startswith(tuple(asked.only)))
    ended += run_all(wanted, asked.folder, end, sizes.patience)
    table = "\n".join(["| part | time | ended | lines |", "| --- | ---: | --- | --- |", *(each.row for each in ended)])
    (asked.folder / "table.md").write_text(f"{table}\n")
    print(table)
    return 0 if all(each.well for each in ended) else 1


def run_all(parts: Iterable[Part], folder: Path, end: float, patience: int) -> list[Ended]:
    """Runs the parts until a time of the monotonic clock, and prints how each ended. `patience` is that of `Sizes`."""
    ended, running = list[Ended](), list[Running]()

    def wait() -> None:
        for each in running:
            ended.append(each.wait())
            print(f"{each.part.name:16} {ended[-1].seconds:6.1f} s  {ended[-1].how}", file=sys.stderr, flush=True)
        running.clear()

    for part in parts:
        if not part.beside:
            wait()
        if (left := end - time.monotonic()) < _LEAST_S:
            ended.append(Ended(part, 0.0, "left out: the time is over"))
        else:
            running.append(Running(part, folder, min(patience * part.limit_s, left)))
        if part.needed:
            wait()
    wait()
    return ended


if __name__ == "__main__":
    sys.exit(main())
