"""`specchat bench` on tiny models: what is measured and printed, never how fast."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.conftest import Complaint
from specchat.bench.document import SCHEMA
from specchat.bench.measure import BenchRunner
from specchat.bench.plan import BenchTurn
from specchat.bench.samples import Sample
from specchat.cli import main
from specchat_engine.errors import DecodeError
from specchat_engine.threads.in_force import PairThreads
from specchat_engine.threads.processors import read_processors
from support.bench_samples import MODEL, PLAIN, benchmark
from support.tiny_models import TinyModels


@pytest.fixture
def tiny(tiny_models: TinyModels, tmp_path: Path) -> list[str]:
    prompts = tmp_path / "prompts.toml"
    prompts.write_text(
        '[facts]\nprompts = ["What?", "Why is that?"]\n[copy]\nprompts = ["Say no no no no."]\n', "utf-8"
    )
    few = ["--arms", "none,model:3,lookup:4", "--prompts", str(prompts), "--repeats", "2", "-n", "8", "-t", "1"]
    return ["bench", "-m", str(tiny_models.target), "-d", str(tiny_models.draft), *few]


def stops_after(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    """The run measures so many answers, then this happens."""

    really_measure = BenchRunner.measure

    def measure(runner: BenchRunner, turns: Iterable[BenchTurn]) -> Iterator[Sample]:
        for number, sample in enumerate(really_measure(runner, turns)):
            if number == count:
                raise error
            yield sample

    monkeypatch.setattr(BenchRunner, "measure", measure)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    line, rest = capsys.readouterr().out.split("\n", 1)
    assert rest == ""
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_run_ends_with_tables_a_chart_and_recommended_settings(
    capsys: pytest.CaptureFixture[str], tiny: list[str], tmp_path: Path
) -> None:
    svg = tmp_path / "chart.svg"
    assert main([*tiny, "--svg", str(svg)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert re.match(r"target \S+ ⇠ draft \S+   seed 1   answers of up to 8 tokens\n", captured.out)
    assert "3 arms in turn, 3 prompts of 2 kinds, repeats 2" in captured.out
    assert captured.out.index("temperature 0") < captured.out.index("temperature 0.8")
    assert captured.out.count("plain = 1") == 2
    assert "36 answers in " in captured.out
    assert captured.out.splitlines()[-1].startswith(("Use --drafter ", "Use plain decoding"))
    assert svg.read_text("utf-8").startswith("<svg ")


def test_json_is_one_document_with_everything(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    assert main([*tiny, "--json", "--temp", "0", "--temp", "0.5", "-s", "9", "--top-k", "5"]) == 0
    found = document(capsys)
    assert (found["type"], found["schema"], found["complete"], found["seed"]) == ("bench", SCHEMA, True, 9)
    assert found["arms"] == ["none", "model:3", "lookup:4"]
    assert (found["temperatures"], found["max_tokens"], found["repeats"]) == ([0.0, 0.5], 8, 2)
    assert found["sampling"]["top_k"] == 5
    assert found["prompts"] == {"facts": ["What?", "Why is that?"], "copy": ["Say no no no no."]}
    assert found["options"]["threads"] == found["machine"]["threads"] == 1
    assert found["versions"]["llama.cpp"]
    assert len(found["samples"]) == 3 * 3 * 2 * 2
    assert {(row["kind"], row["arm"], row["temperature"]) for row in found["rows"]} == {
        (kind, arm, temperature) for kind in found["prompts"] for arm in found["arms"] for temperature in (0.0, 0.5)
    }
    assert all(row["same_text"] == row["pairs"] for row in found["rows"])
    assert found["peak_memory_bytes"] > 0


def test_fewer_threads_beside_other_programs_are_reported_with_the_reason(
    capsys: pytest.CaptureFixture[str], tiny: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    because = "other programs keep cores busy: 1 of 2 threads compute"
    monkeypatch.setattr(PairThreads, "contended", because)
    free = [*tiny, "-t", "0", "--arms", "hybrid:auto", "--temp", "0"]
    assert main([*free, "--json"]) == 0
    machine = document(capsys)["machine"]
    assert main(free) == 0
    printed = capsys.readouterr().out
    assert machine["threads_because"] == {"threads": because}
    assert f"\nthreads: {because}\n" in printed
    assert machine["threads_prompt"] == read_processors().usual
    assert "adaptive against the best fixed" in printed


def test_without_arms_everything_that_the_pair_can_do_is_measured(
    capsys: pytest.CaptureFixture[str], tiny_models: TinyModels, tmp_path: Path
) -> None:
    prompts = tmp_path / "one.txt"
    prompts.write_text("Hello\n")
    usual = ["bench", "--prompts", str(prompts), "--repeats", "1", "-n", "4", "-t", "1", "--temp", "0", "--json"]
    assert main([*usual, "-m", str(tiny_models.target)]) == 0
    alone = document(capsys)
    assert alone["arms"] == ["none", "lookup:4", "lookup:8", "lookup:16", "hybrid:auto"]
    assert alone["draft"] is None
    assert main([*usual, "-m", str(tiny_models.target), "-d", str(tiny_models.draft)]) == 0
    both = document(capsys)
    assert both["arms"] == [
        "none", "model:2", "model:4", "model:8", "model:16", "lookup:4", "lookup:8", "lookup:16", "hybrid:auto",
    ]  # fmt: skip


def test_a_draft_model_that_no_arm_uses_is_not_loaded(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    assert main([*tiny, "--arms", "lookup:32", "--temp", "0", "--json"]) == 0
    found = document(capsys)
    assert found["draft"] is None


def test_only_the_export_goes_to_standard_output(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    assert main([*tiny, "--temp", "0", "--export", "llama-server"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("llama-server -m ")
    assert captured.out.count("\n") == 1
    assert "temperature 0" in captured.err
    assert "Use --drafter" not in captured.err


def test_control_c_prints_what_was_measured_so_far(
    capsys: pytest.CaptureFixture[str], tiny: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stops_after(patch, 7, KeyboardInterrupt())
        assert main(tiny) == 130
        captured = capsys.readouterr()
        assert "7 answers in " in captured.out
        assert "model 3" in captured.out
        assert captured.err == "specchat: stopped after 7 of 36 answers\n"
        assert main([*tiny, "--json"]) == 130
        found = document(capsys)
        assert (found["complete"], len(found["samples"])) == (False, 7)
    stops_after(monkeypatch, 0, KeyboardInterrupt())
    assert main([*tiny, "--json"]) == 130
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "specchat: stopped after 0 of 36 answers\n")


def test_an_answer_that_fails_ends_the_run_and_keeps_what_was_measured(
    capsys: pytest.CaptureFixture[str], tiny: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stops_after(monkeypatch, 7, DecodeError("the logits are not a number"))
    assert main(tiny) == 1
    captured = capsys.readouterr()
    assert "7 answers in " in captured.out
    assert captured.err == "specchat: the logits are not a number\n"


def test_a_pair_that_cannot_speculate_says_why(
    complaint: Complaint, tiny: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.llama.context.probe_rollback", lambda *_: False)
    line = complaint(*tiny, "--arms", "lookup:4", code=1)
    assert line.startswith("specchat: there is nothing to compare, speculation is off: this model's memory")


def write_runs(folder: Path) -> tuple[str, str]:
    first, second = folder / "a.json", folder / "b.json"
    first.write_text(json.dumps(benchmark({PLAIN: (10.0, 20.0), MODEL: (20.0, 40.0)}).to_json()), "utf-8")
    second.write_text(json.dumps(benchmark({PLAIN: (10.0, 20.0), MODEL: (30.0, 60.0)}, seed=2).to_json()), "utf-8")
    return str(first), str(second)


def test_two_files_are_compared_without_a_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("specchat_engine.engine.Engine.load")
    assert main(["bench", "--compare", *write_runs(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "seed: 1 in A, 2 in B" in captured.out
    line = next(line for line in captured.out.splitlines() if "model 4" in line)
    assert line.split() == ["model", "4", "1.50", "1.50–1.50", "2.00", "3.00"]
    assert main(["bench", "--json", "--compare", *write_runs(tmp_path)]) == 0
    changes = {change["arm"]: change["speed_ratio"]["value"] for change in document(capsys)["changes"]}
    assert changes == {"none": 1.0, "model:4": 1.5}
