"""How the measurement of a real pair goes on where it stopped, and what its table compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.peers.contest import Result, Task
from benchmarks.real import NEW, ONE, common, read, sittings, table, unanswered
from specchat.bench.plan import read_prompts
from support.real_models import RealModel, find

PLAIN, DRAFTS, OURS = ("llama-server", "plain"), ("llama-server", "draft 4"), ("specchat", "hybrid auto")
TASKS = [
    Task(kind, number, 0, (), (), temperature, 1, 8)
    for number in range(2)
    for kind in ("edit", "chat")
    for temperature in (0.0, 0.8)
]


def line(key: tuple[str, str], task: Task, speed: float, session: str = NEW) -> str:
    place = {"kind": task.kind, "number": task.number, "temperature": task.temperature}
    times = {"tokens": 10, "milliseconds": 10_000 / speed}
    return json.dumps({"session": session, "peer": key[0], "name": key[1], **place, **times}) + "\n"


def test_a_later_call_gives_the_answers_that_are_missing_in_turns(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text(line(PLAIN, TASKS[0], 10) + line(OURS, TASKS[0], 10) + line(PLAIN, TASKS[1], 10))
    missing = [*unanswered(sittings(TASKS[:3], NEW), [PLAIN, DRAFTS, OURS], read(results, NEW))]
    assert [[*map(TASKS.index, tasks)] for tasks, _ in missing] == [[0], [1], [2]]
    assert [sorted(keys) for _, keys in missing] == [[DRAFTS], [DRAFTS, OURS], [DRAFTS, PLAIN, OURS]]
    assert [*unanswered(sittings(TASKS[:1], NEW), [PLAIN], read(results, ONE))] == [([TASKS[0]], [PLAIN])]


def test_one_session_has_all_prompts_of_a_kind_at_a_temperature_and_is_repeated_whole() -> None:
    together = [*sittings(TASKS, ONE)]
    assert len(together) == 4
    assert all(len({(task.kind, task.temperature) for task in tasks}) == 1 and len(tasks) == 2 for tasks in together)
    half = {PLAIN: {together[0][0]: Result(1, 1.0)}}
    assert [tasks for tasks, _ in unanswered(together, [PLAIN], half)] == together


def test_the_table_compares_prompts_that_all_configurations_answered(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    speeds = {PLAIN: 10.0, OURS: 15.0}
    lines = [line(key, task, speed) for task in TASKS for key, speed in speeds.items()]
    unpaired = Task("edit", 9, 0, (), (), 0.0, 1, 8)
    results.write_text("".join(lines) + line(OURS, unpaired, 1000) + line(OURS, TASKS[0], 1000, ONE))
    heading, _, *rows = table(common(read(results, NEW)))
    assert heading == "| tool | configuration | edit | chat | all, T 0 | all, T 0.8 |"
    assert rows == [
        "| specchat | hybrid auto | 1.50, 1.50 | 1.50, 1.50 | 1.50 (1.50–1.50) | 1.50 (1.50–1.50) |",
        "| llama-server | plain, tokens/s | 10.0, 10.0 | 10.0, 10.0 | | |",
        "| llama-server | plain | 1.00, 1.00 | 1.00, 1.00 | 1.00 (1.00–1.00) | 1.00 (1.00–1.00) |",
    ]


@pytest.mark.parametrize(("file", "each"), [("real_prompts.toml", 6), ("new_prompts.toml", 3)])
def test_the_prompts_have_the_kinds_that_the_table_names(file: str, each: int) -> None:
    prompts = read_prompts(Path(__file__).with_name(file))
    assert [*prompts] == ["edit", "code", "chat", "structured", "summary"]
    assert {len(texts) for texts in prompts.values()} == {each}


def test_a_model_is_found_by_its_content_and_named_if_it_is_missing(tmp_path: Path) -> None:
    words = RealModel("house/words:words.gguf", 5, "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7")
    (tmp_path / "another.gguf").write_text("wrong")
    with pytest.raises(FileNotFoundError, match=r"house/words:words\.gguf \(SHA-256 486ea"):
        find(tmp_path, words)
    (tmp_path / "downloaded.gguf").write_text("world")
    assert find(tmp_path, words) == tmp_path / "downloaded.gguf"
