"""A machine is described by files, and the usual number of threads follows from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specchat_engine.threads import processors
from specchat_engine.threads.processors import Processors, measure_bandwidth, read_features, read_processors


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def siblings(*cores: str) -> dict[str, str]:
    """The files of a topology in which the threads of a core stand together, such as `0,4`."""
    lists = {cpu: core for core in cores for cpu in core.split(",")}
    return {f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": core for cpu, core in lists.items()}


def capacities(**values: int) -> dict[str, str]:
    return {f"sys/devices/system/cpu/{cpu}/cpu_capacity": str(value) for cpu, value in values.items()}


@pytest.fixture
def allow(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def allowed(*cpus: int) -> None:
        monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: set(cpus), raising=False)

    return allowed


@pytest.mark.parametrize(
    ("found", "usual"),
    [
        (Processors(1, 1), 1),
        (Processors(8, 8), 8),
        (Processors(14, 6), 14),
        (Processors(64, 64, 3), 3),
        (Processors(16, 8, 12), 12),
    ],
)
def test_the_usual_count_is_one_for_each_core_that_may_be_used(found: Processors, usual: int) -> None:
    assert found.usual == usual


def test_two_threads_of_a_core_count_once(tmp_path: Path, allow) -> None:  # type: ignore[no-untyped-def]
    allow(0, 1, 2, 3)
    assert read_processors(machine(tmp_path, siblings("0,2", "1,3"))) == Processors(2, 2)


def test_only_what_the_process_may_run_on_counts(tmp_path: Path, allow) -> None:  # type: ignore[no-untyped-def]
    allow(0, 2, 3)
    assert read_processors(machine(tmp_path, siblings("0,4", "1,5", "2,6", "3,7"))) == Processors(3, 3)


def test_an_unknown_topology_counts_what_may_be_used(tmp_path: Path, allow) -> None:  # type: ignore[no-untyped-def]
    allow(0, 5, 6)
    assert read_processors(tmp_path) == Processors(3, 3)


def test_fast_cores_are_those_that_the_system_names(tmp_path: Path, allow) -> None:  # type: ignore[no-untyped-def]
    allow(*range(8))
    files = siblings("0,1", "2,3", "4", "5", "6", "7") | {"sys/devices/cpu_core/cpus": "0-3"}
    assert read_processors(machine(tmp_path, files)) == Processors(6, 2)


def test_without_names_fast_cores_are_recognised_by_capacity(tmp_path: Path, allow) -> None:  # type: ignore[no-untyped-def]
    allow(0, 1, 2, 3)
    files = siblings("0", "1", "2", "3") | capacities(cpu0=446, cpu1=446, cpu2=1010, cpu3=1024)
    assert read_processors(machine(tmp_path, files)) == Processors(4, 2)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "max 100000"}, None),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "250000 100000"}, 2),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "50000 100000"}, 1),
        ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "300000 100000"}, 3),
        (
            {
                "proc/self/cgroup": "0::/a/b",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000",
                "sys/fs/cgroup/a/cpu.max": "200000 100000",
            },
            2,
        ),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "600000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 6),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
    ],
)
def test_the_tightest_control_group_limits_whole_processors(
    tmp_path: Path,
    allow,  # type: ignore[no-untyped-def]
    files: dict[str, str],
    limit: int | None,
) -> None:
    allow(*range(8))
    assert read_processors(machine(tmp_path, files)).limit == limit


@pytest.mark.parametrize(("key", "names"), [("flags\t\t", "fpu avx2 fma"), ("Features\t", "fp asimd asimddp")])
def test_features_are_those_of_the_first_processor(tmp_path: Path, key: str, names: str) -> None:
    assert read_features(tmp_path) == frozenset()
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\n{key}: {names}\n\nprocessor\t: 1\n{key}: other\n")
    assert read_features(tmp_path) == frozenset(names.split())


def test_this_machine_has_cores_and_a_process_bound_to_one_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_processors()
    assert 1 <= found.fast <= found.cores <= (os.cpu_count() or 1)
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert read_processors().usual == 1


def test_memory_is_read_at_a_plausible_speed() -> None:
    found = measure_bandwidth(1)
    assert 1e8 < found.bytes_per_second < 1e13
    assert 0 < found.cpu_share <= 1
