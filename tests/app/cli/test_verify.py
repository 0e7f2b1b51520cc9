"""`specchat verify` on tiny models; the end-to-end tests run it on the built-in pair."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from app.cli.conftest import Complaint
from specchat.cli import main
from specchat.cli.verify_kinds import asks_by_kind
from specchat_engine import Engine, Settings
from specchat_engine.analysis.audit import Audit, Case, Difference
from specchat_engine.analysis.recording import RecordedPass, Recording
from specchat_engine.errors import DecodeError
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.llama.mtmd import has_mtmd
from specchat_engine.settings import NEED_TREES, UNAIDED
from specchat_engine.threads.processors import read_processors
from support.thinking_models import write_thinking_pair
from support.tiny_models import TinyModels, write_tiny_model
from support.vision_models import png, write_projector

FEW = ["verify", "--prompts", "1", "-n", "12", "-t", "1"]
KINDS = 5

Heard = Callable[[Case, Difference | None], None]
Finds = Callable[..., None]


@pytest.fixture
def tiny(tiny_models: TinyModels) -> list[str]:
    return [*FEW, "-m", str(tiny_models.target), "-d", str(tiny_models.draft)]


@pytest.fixture
def trace_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("specchat.cli.verify.data_folder", lambda: tmp_path / "data")
    return tmp_path / "data" / "verify"


def difference(case: Case, *, explained: bool) -> Difference:
    held = HeldGrammar('root ::= "a"', None, {7: b"<tool_call>"})
    said = Recording((1, 2), 99, (RecordedPass((), (5,)), RecordedPass((), (6,))), held)
    drafted = replace(said, passes=(RecordedPass((5, 7), (5, 7, 8), accepted=2),))
    noise = 0.3 if explained else 0.01
    return Difference(
        case, said, drafted, 1, (6, 7), 0.5, noise, (0.25, inf), truncation_differs=False, reproduced=True
    )


@pytest.fixture
def finds(monkeypatch: pytest.MonkeyPatch) -> Finds:
    """The audit reports a difference in the first case and none in the others, unless `then` ends it."""

    def find(*, explained: bool, then: BaseException | None = None) -> None:
        def audit(
            _sessions: object, _target: object, _vocabulary: object, cases: list[Case], heard: Heard, _adversary: object
        ) -> Audit:
            found = difference(cases[0], explained=explained)
            for case in cases:
                heard(case, found if case is cases[0] else None)
                if then:
                    raise then
            return Audit(len(cases), 12 * len(cases), [0.1, 0.3, 0.2], findings=[found], seconds=1.0)

        monkeypatch.setattr("specchat.cli.verify.audit", audit)

    return find


def json_lines(text: str) -> list[dict[str, Any]]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def test_a_sound_pair_has_no_unexplained_difference(capsys: pytest.CaptureFixture[str], tiny: list[str]) -> None:
    assert main([*tiny, "--drafter", "model", "-k", "3"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("target 91k ⇠ draft 54k   seed 1   answers of up to 12 tokens")
    assert "drafters model   k 3\nverifiers coupled, rejection, block\n" in captured.out
    assert f"{KINDS * 6} answers, " in captured.out
    assert ", 0 unexplained\n" in captured.out


def test_threads_do_not_change_while_texts_are_compared(
    tiny: list[str], finds: Finds, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(Engine, "use_threads", lambda _, *counts: asked.append(counts))
    finds(explained=True)
    main([*tiny, "-t", "0"])
    assert asked == [(read_processors().usual,) * 2]


def test_json_has_a_line_for_every_answer_and_one_for_the_result(
    capsys: pytest.CaptureFixture[str], tiny: list[str]
) -> None:
    assert main([*tiny, "--kind", "facts", "--json", "-s", "7"]) == 0
    *cases, audited = json_lines(capsys.readouterr().out)
    assert {line["type"] for line in cases} == {"case"}
    assert (audited["type"], audited["answers"], audited["unexplained"], audited["seed"]) == ("audit", len(cases), 0, 7)
    ways = {(line["temperature"], line["drafter"], line["k"], line["verifier"]) for line in cases}
    verifiers = ("coupled", "rejection", "block")
    drafters = ("model", "lookup", *UNAIDED)
    coupled = {(t, d, k, "coupled") for t in (0, 0.8) for d in drafters for k in (1, 4, 16)}
    others = {(t, d, 4, v) for t in (0, 0.8) for d in drafters for v in verifiers[1:] if d not in NEED_TREES}
    hybrid = {(t, "hybrid", "auto", v) for t in (0, 0.8) for v in verifiers}
    misleading = {(t, "adversary", k, "coupled") for t in (0, 0.8, 1.5) for k in (1, 4, 16)} | {
        (t, "adversary", 4, v) for t in (0, 0.8, 1.5) for v in verifiers[1:]
    }
    open_sampling = {(1.5, "model", 4, v) for v in verifiers}
    assert ways == coupled | others | hybrid | misleading | open_sampling
    trees = [(line["temperature"], line["drafter"], line["k"]) for line in cases if line["tree"] == 4]
    assert set(trees) == {(t, "model", 4) for t in (0, 0.8, 1.5)}
    assert len(cases) == len(ways) + len(trees) == len(ways) + 3


def test_calls_of_tools_are_compared_if_they_are_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", n_ctx=2048)
    draft = write_tiny_model(tmp_path / "draft.gguf", seed=1, like=0, n_ctx=2048)
    pair = ["-m", str(target), "-d", str(draft), "-k", "2", "--drafter", "model"]
    assert main([*FEW, *pair, "--json", "--kind", "calls", "--temp", "0.8"]) == 0
    *cases, audited = json_lines(capsys.readouterr().out)
    assert {line["kind"] for line in cases} == {"calls"}
    assert {tuple(line["tools"]) for line in cases} == {("get_weather", "add_items", "set_timer")}
    assert {line["verifier"] for line in cases} == {"coupled", "rejection", "block"}
    assert audited["unexplained"] == 0


def test_thoughts_and_calls_are_compared_by_default_if_the_template_knows_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pair = write_thinking_pair(tmp_path)
    flags = [*FEW[:-4], "-n", "60", "-t", "1", "-c", "0", "-m", str(pair.target), "-d", str(pair.draft)]
    ways = ["-k", "3", "--drafter", "model", "--verifier", "coupled", "--temp", "0.8"]
    assert main([*flags, "--json", *ways]) == 0
    *cases, audited = json_lines(capsys.readouterr().out)
    assert {"thoughts", "calls"} < {line["kind"] for line in cases}
    thoughts = [line for line in cases if line["kind"] == "thoughts"]
    assert {(line["thinking"], line["grammar"]) for line in thoughts} == {("on", False), ("on", True)}
    assert audited["unexplained"] == 0


def test_a_third_of_the_thoughts_has_a_limit_unless_the_user_sets_one_for_all(tmp_path: Path) -> None:
    with Engine.load(write_thinking_pair(tmp_path).target) as engine:
        asks = asks_by_kind(["thoughts"], engine, 3)["thoughts"]
    assert sorted(ask.settings(Settings()).think_tokens for ask in asks) == [0] * 6 + [16] * 3
    assert {ask.settings(Settings(think_tokens=5)).think_tokens for ask in asks} == {5}


def test_a_model_without_a_switch_has_no_thoughts_to_compare(
    capsys: pytest.CaptureFixture[str], tiny: list[str]
) -> None:
    assert main([*tiny, "--kind", "thoughts"]) == 2
    assert "this model's chat template has no switch for thinking" in capsys.readouterr().err


def test_a_tree_that_is_asked_for_is_what_all_drafts_are_compared_with(
    capsys: pytest.CaptureFixture[str], tiny: list[str]
) -> None:
    assert main([*tiny, "--kind", "facts", "--json", "--tree", "2", "--drafter", "model", "--temp", "0.8"]) == 0
    *cases, audited = json_lines(capsys.readouterr().out)
    assert {(line["tree"], line["verifier"]) for line in cases} == {(2, "coupled")}
    assert audited["unexplained"] == 0


@pytest.mark.parametrize(
    ("flags", "ways"),
    [
        (
            ["-k", "2", "--temp", "0.3"],
            {
                (0.3, d, 2, v)
                for d in ("hybrid", "model", "lookup", *UNAIDED, "adversary")
                for v in ("coupled", "rejection", "block")
                if d not in NEED_TREES or v == "coupled"
            },
        ),
        (["-k", "2", "--drafter", "lookup", "--verifier", "block"], {(t, "lookup", 2, "block") for t in (0, 0.8)}),
        (["-k", "32", "--drafter", "model", "--verifier", "coupled", "--temp", "0"], {(0, "model", 32, "coupled")}),
    ],
)
def test_flags_narrow_what_is_compared(
    capsys: pytest.CaptureFixture[str], tiny: list[str], flags: list[str], ways: set[object]
) -> None:
    assert main([*tiny, "--kind", "facts", *flags, "--json"]) == 0
    *cases, _ = json_lines(capsys.readouterr().out)
    assert {(line["temperature"], line["drafter"], line["k"], line["verifier"]) for line in cases} == ways


def test_a_pair_that_cannot_speculate_says_why(
    complaint: Complaint, tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat_engine.llama.context.probe_rollback", lambda *_: False)
    line = complaint(*FEW, "-m", str(tiny_models.target), code=1)
    assert line.startswith("specchat: there is nothing to verify, speculation is off: this model's memory")


def test_numerics_are_reported_with_their_rate_and_are_not_a_failure(
    capsys: pytest.CaptureFixture[str], tiny: list[str], finds: Finds, trace_folder: Path
) -> None:
    finds(explained=True)
    assert main([*tiny, "-k", "3", "--drafter", "model", "--temp", "0.8"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "facts                0.8         3           2          1             –\n" in captured.out
    assert "    · model, k 3, coupled, token 2: numerics: a near-tie went the other way, gap 0.25" in captured.out
    assert "15 answers, 180 tokens, 1 s: 14 as promised, 1 numerics (one in 180 tokens), 0" in captured.out
    assert "noise of the logits: 0.2 in the median row, 0.3 in the worst; up to 1.2 is numerics" in captured.out
    assert not trace_folder.exists()


def test_an_unexplained_difference_fails_and_writes_a_trace_to_repeat_it(
    capsys: pytest.CaptureFixture[str], tiny: list[str], finds: Finds, trace_folder: Path
) -> None:
    finds(explained=False)
    assert main([*tiny, "-k", "3", "--drafter", "model", "-s", "5"]) == 1
    captured = capsys.readouterr()
    assert "    ✗ model, k 3, coupled, token 2: the logits differ by 0.5, the measured noise is 0.01\n" in captured.out
    assert captured.out.count("✗") == 1
    assert ", 1 unexplained\n" in captured.out
    (file,) = trace_folder.iterdir()
    assert captured.err == (
        f"specchat: 1 difference is not numerics: the logits differ by 0.5, the measured noise is 0.01; trace: {file}\n"
    )
    (line,) = json_lines(file.read_text("utf-8"))
    assert (line["type"], line["seed"], line["case"]["k"], line["options"]["threads"]) == ("difference", 5, 3, 1)
    assert [each["emitted"] for each in line["plain"]["passes"]] == [[5], [6]]
    assert line["difference"]["gaps"] == [0.25, None]
    assert line["plain"]["held"] == {"text": 'root ::= "a"', "start": None, "shown": {"7": "<tool_call>"}}
    assert line["settings"]["max_tokens"] == 12
    assert line["target"]["path"] == tiny[-3]


def test_an_unwritable_trace_does_not_hide_a_failure(
    capsys: pytest.CaptureFixture[str], tiny: list[str], finds: Finds, trace_folder: Path
) -> None:
    trace_folder.parent.write_text("a file where the folder should be")
    finds(explained=False)
    assert main([*tiny, "--json"]) == 1
    captured = capsys.readouterr()
    assert json_lines(captured.out)[-1]["unexplained"] == 1
    assert "1 difference is not numerics" in captured.err
    assert "cannot be written: Not a directory" in captured.err


def test_a_failing_model_ends_the_run_and_keeps_the_findings(
    capsys: pytest.CaptureFixture[str], tiny: list[str], finds: Finds, trace_folder: Path
) -> None:
    finds(explained=False, then=DecodeError("the logits are not a number"))
    assert main([*tiny, "-k", "3", "--drafter", "model"]) == 1
    captured = capsys.readouterr()
    assert "    ✗ model, k 3" in captured.out
    found, error = captured.err.splitlines()
    assert "1 difference is not numerics" in found
    assert error == "specchat: the logits are not a number"
    assert trace_folder.exists()


@pytest.mark.parametrize("explained", [True, False])
def test_control_c_reports_the_progress_and_keeps_the_findings(
    capsys: pytest.CaptureFixture[str], tiny: list[str], finds: Finds, trace_folder: Path, explained: bool
) -> None:
    finds(explained=explained, then=KeyboardInterrupt())
    assert main([*tiny, "-k", "3", "--drafter", "model"]) == 130
    captured = capsys.readouterr()
    assert "coupled, token 2: " in captured.out
    assert captured.err.startswith(f"specchat: stopped after 1 of {KINDS * 6} answers")
    assert ("not numerics" in captured.err) is not explained
    assert trace_folder.exists() is not explained


@pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")
def test_prompts_after_an_image_have_no_unexplained_difference(
    tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.png").write_bytes(png(1))
    projector = write_projector(tmp_path / "mmproj.gguf")
    assert main([*tiny, "--image", str(tmp_path / "a.png"), "--mmproj", str(projector), "-k", "4"]) == 0
    assert ", 0 unexplained\n" in capsys.readouterr().out


def test_an_image_that_cannot_be_read_or_seen_is_one_line(
    tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*tiny, "--image", str(tmp_path / "gone.png")]) == 2
    assert "gone.png cannot be read: No such file" in capsys.readouterr().err
    (tmp_path / "a.png").write_bytes(png(1))
    assert main([*tiny, "--image", str(tmp_path / "a.png")]) == 2
    assert "name one with --mmproj FILE" in capsys.readouterr().err
