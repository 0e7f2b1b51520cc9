"""The processors that this process may use, and how fast they read from memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

_ALIKE = 0.75
"""A core counts as fast if it has at least this share of the greatest capacity."""

_READ_BYTES = 256 * 2**20
"""All threads together read this much in one go, which is more than caches hold."""

_READS = 5


_FEATURE_KEYS = ("flags", "Features")
"""How x86 and ARM call them."""


@dataclass(frozen=True, slots=True)
class Processors:
    """What this process may use: physical `cores`, how many of them are `fast`, and what a control group grants.

    `limit` counts whole processors, None where nothing limits them; `name` is the processor's own, as far as it is
    known.
    """

    cores: int
    fast: int
    limit: int | None = None
    name: str = ""

    @property
    def usual(self) -> int:
        """The threads to use: decoding gains nothing from a second thread on a core, nor from throttled ones."""
        return max(1, min(self.cores, self.limit or self.cores))


def read_processors(root: Path = Path("/")) -> Processors:
    """The processors as the system reports them below `root`; without a report there is no limit or difference."""
    system, allowed = root / "sys/devices/system/cpu", _allowed()
    cores: dict[str, list[int]] = {}
    for cpu in allowed:
        siblings = _text(system / f"cpu{cpu}/topology/thread_siblings_list")
        cores.setdefault(siblings or f"cpu{cpu}", []).append(cpu)
    firsts = [cpus[0] for cpus in cores.values()]
    return Processors(len(cores), _fast(root, firsts), _limit(root), _name(root))


def read_features(root: Path = Path("/")) -> frozenset[str]:
    """The instruction sets of the processor by Linux's names, such as `avx2` and `asimddp`; none on other systems."""
    lines = (line.partition(":") for line in _text(root / "proc/cpuinfo").splitlines())
    return frozenset(next((names.split() for key, _, names in lines if key.strip() in _FEATURE_KEYS), ()))


class Bandwidth(NamedTuple):
    """Bytes a second, and the share of the processor time that they wanted which the reading threads got."""

    bytes_per_second: float
    cpu_share: float


def measure_bandwidth(threads: int) -> Bandwidth:
    """The bytes a second that this many threads read from memory together; the best of a few rounds. Takes under 1 s.

    Decoding on a CPU is bound by this.
    """
    shares = np.array_split(np.ones(_READ_BYTES // 8, np.float64), max(threads, 1))
    best = Bandwidth(0.0, 0.0)
    with ThreadPoolExecutor(len(shares)) as pool:
        for _ in range(_READS):
            begin, computed = perf_counter(), process_time()
            list(pool.map(np.max, shares))
            seconds, computed = perf_counter() - begin, process_time() - computed
            best = max(best, Bandwidth(_READ_BYTES / seconds, min(computed / seconds / len(shares), 1.0)))
    return best


def _allowed() -> Iterable[int]:
    """The processors that this process may run on, all of them where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def _fast(root: Path, cpus: list[int]) -> int:
    """How many of these are performance cores: by name if the system names them, else by capacity."""
    named = _text(root / "sys/devices/cpu_core/cpus")
    if named:
        return len(set(cpus) & _listed(named)) or len(cpus)
    capacity = [_number(_text(root / f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity")) for cpu in cpus]
    known = [value for value in capacity if value]
    return sum(value >= _ALIKE * max(known) for value in known) if len(known) == len(cpus) else len(cpus)


def _limit(root: Path) -> int | None:
    """The whole processors that the control groups around this process grant, at least 1."""
    groups = root / "sys/fs/cgroup"
    group = next((line[3:] for line in _text(root / "proc/self/cgroup").splitlines() if line.startswith("0::")), "/")
    inner = groups / group.strip().lstrip("/")
    granted = []
    for folder in (inner, *inner.parents):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        granted.append((_number(quota), _number(period)))
        if folder == groups:
            break
    granted.append((_number(_text(groups / "cpu/cpu.cfs_quota_us")), _number(_text(groups / "cpu/cpu.cfs_period_us"))))
    whole = [max(1, quota // period) for quota, period in granted if quota and period]
    return min(whole, default=None)


def _name(root: Path) -> str:
    lines = _text(root / "proc/cpuinfo").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _listed(text: str) -> set[int]:
    """The numbers in a list such as `0-3,8`."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            numbers |= set(range(int(first), int(last if last.isdecimal() else first) + 1))
    return numbers


def _number(text: str) -> int:
    """A whole number above 0, else 0: `max`, -1 and nothing all mean that there is none."""
    return int(text) if text.isdecimal() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
