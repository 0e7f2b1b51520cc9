"""`specchat doctor -m`: what the width of a pass changes in one model, and what `--exact` costs there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.engine_process.records import recall
from specchat_engine import Engine
from specchat_engine.llama.kernels import has_exact_kernels
from support.tiny_models import TinyModels


def findings(model: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The findings about exactness, by name; a later one of the same name replaces an earlier one."""
    assert main(["doctor", "-m", str(model), "--json"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return {line["name"]: line["value"] for line in lines if line.get("section") == "Exactness"}


def test_what_a_perfect_draft_could_gain_is_measured_and_recorded(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "-m", str(tiny_models.target), "--json"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    (limit,) = (line for line in lines if line["section"] == "Speculation")
    assert "with the costs measured here; a token takes" in limit["value"]
    with Engine.load(tiny_models.target) as engine:
        assert recall(engine)
        assert engine.controller.targets.best_known.measured(0)[1] > 0


@pytest.mark.skipif(not has_exact_kernels(), reason="this build has no second kernels")
def test_a_model_is_measured_with_and_without_exact(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    found = findings(tiny_models.target, capsys)
    assert "plain decoding within 200 tokens" in found["widths"]
    assert "same bits" in found["--exact on"]
    assert found["its cost"].startswith("a token takes ")


def test_a_file_that_is_no_model_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.gguf").write_bytes(b"nothing")
    assert main(["doctor", "-m", str(tmp_path / "x.gguf")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
