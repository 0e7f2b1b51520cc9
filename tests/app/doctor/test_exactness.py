"""`specchat doctor -m`: what the width of a pass changes in one model, in numbers and in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.doctor.exactness import described, parted_words
from specchat.engine_process.records import recall
from specchat_engine import Engine
from specchat_engine.analysis.widths import WidthNoise
from specchat_engine.llama.kernels import has_exact_kernels
from support.tiny_models import TinyModels


def test_what_a_perfect_draft_could_gain_and_what_exact_costs_is_measured_and_the_first_recorded(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "-m", str(tiny_models.target), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (limit,) = (line for line in lines if line["section"] == "Speculation")
    assert "with the costs measured here; a token takes" in limit["value"]
    with Engine.load(tiny_models.target) as engine:
        assert recall(engine)
        assert engine.controller.targets.best_known.measured(0)[1] > 0
    if has_exact_kernels():
        found = {line["name"]: line["value"] for line in lines if line["section"] == "Exactness"}
        assert "plain decoding within 200 tokens" in found["widths"]
        assert "same bits" in found["--exact on"]
        assert found["its cost"].startswith("a token takes ")


def test_a_file_that_is_no_model_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.gguf").write_bytes(b"nothing")
    assert main(["doctor", "-m", str(tmp_path / "x.gguf")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_equal_passes_are_said_to_give_the_same_bits_and_no_answer_parts() -> None:
    logits, texts = described([(0.0, WidthNoise(equal=True, width=5, rows=64))])
    assert logits == "passes over 5 tokens give the same bits as passes over one, in 64 rows"
    assert texts.startswith("no answer parts")


def test_each_temperature_has_its_own_share_of_answers() -> None:
    noise = WidthNoise(False, 5, 64, rms=0.09, largest=0.7, divergence=2e-4)
    logits, greedy, sampled = described(
        [(0.0, noise), (0.8, WidthNoise(False, 5, 64, rms=0.09, largest=0.7, divergence=2e-4, parting=0.001))]
    )
    assert "0.09 (rms) and 0.7 (largest), KL 0.0002 a token" in logits
    assert greedy == "no answer parts from plain decoding within 200 tokens at temperature 0"
    assert sampled == "about one answer in 6 parts from plain decoding within 200 tokens at temperature 0.8"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.8, "about 80% of the answers part from plain decoding"),
        (0.02, "about one answer in 50 parts from plain decoding"),
        (1e-5, "fewer than one answer in 1,000 parts from plain decoding"),
    ],
)
def test_a_share_of_answers_is_said_as_one_would_say_it(share: float, words: str) -> None:
    assert parted_words(share, 0.8).startswith(words)
