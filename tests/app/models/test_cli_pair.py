"""`specchat models pair`: verdicts before and after a download."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.models.environment import hub_environment
from support.hub_server import Hub, Repository
from support.tiny_models import TinyModels, write_tiny_model


def test_a_pair_that_fits_says_how_to_chat_with_it_even_if_the_vocabularies_differ(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pair", str(tiny_models.target), str(tiny_models.draft)]) == 0
    captured = capsys.readouterr()
    assert "✓ vocabulary" in captured.out
    assert "✗" not in captured.out
    conclusion, *_ = captured.err.splitlines()
    assert conclusion == f"specchat: they fit: `specchat chat -m {tiny_models.target} -d {tiny_models.draft}`"
    assert main(["models", "pair", str(tiny_models.target), str(tiny_models.stranger)]) == 0
    captured = capsys.readouterr()
    assert "! vocabulary       the vocabularies differ from token 260 on: 'll' in the target, 'zz'" in captured.out
    assert "  → drafting through text" in captured.out
    assert "they fit" in captured.err


def test_of_a_draft_that_would_not_pay_it_says_what_would(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pair", str(tiny_models.target), str(tiny_models.target)]) == 0
    _, advice = capsys.readouterr().err.splitlines()
    assert "gain nothing here" in advice
    assert "by lookup" in advice
    assert f"`specchat train eagle3 -m {tiny_models.target}`" in advice


def test_a_blocker_has_a_reason_a_remedy_and_exit_code_1(
    tiny_models: TinyModels, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = str(write_tiny_model(tmp_path / "silent.gguf", merges=()))
    assert main(["models", "pair", str(tiny_models.target), silent, "--json"]) == 1
    [verdict] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    blockers = [line for line in verdict["lines"] if line["grade"] == "blocker"]
    assert (verdict["fits"], verdict["grade"]) == (False, "blocker")
    assert blockers[0]["finding"]
    assert blockers[0]["remedy"]
    assert main(["models", "pair", str(tiny_models.target), silent]) == 1
    captured = capsys.readouterr()
    assert "✗ " in captured.out
    assert "  → " in captured.out
    assert "does not fit" in captured.err


def test_a_pair_is_checked_before_it_is_downloaded(
    hub: Hub, tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.repositories |= {
        "a/target-GGUF": Repository({"target-F16.gguf": tiny_models.target.read_bytes()}),
        "a/draft-GGUF": Repository({"draft-F16.gguf": tiny_models.draft.read_bytes()}),
    }
    names = ["a/target-GGUF:F16", "a/draft-GGUF"]
    assert main(["models", "pair", *names]) == 0
    assert "`specchat models pull a/target-GGUF:F16 a/draft-GGUF`" in capsys.readouterr().err
    assert not [*hub_environment().cache.rglob("*")]
    assert main(["models", "pull", *names]) == 0
    transfers = len(hub.transfers())
    capsys.readouterr()
    assert main(["models", "pair", *names]) == 0
    assert "`specchat chat -m a/target-GGUF:F16 -d a/draft-GGUF`" in capsys.readouterr().err
    assert len(hub.transfers()) == transfers


def test_the_context_counts_in_memory(tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(tiny_models.target), str(tiny_models.draft)]
    found = []
    for size in ("64", "500000"):
        main(["models", "pair", *names, "-c", size, "--json"])
        lines = json.loads(capsys.readouterr().out)["lines"]
        found.append([line["finding"] for line in lines if line["topic"] == "memory"])
    assert found[0] != found[1]


def test_a_file_that_is_not_a_model_is_an_error_of_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.gguf").write_bytes(b"nothing")
    assert main(["models", "pair", str(tmp_path / "x.gguf"), "y"]) == 1
    captured = capsys.readouterr()
    assert "is not a GGUF file" in captured.err
    assert captured.err.count("\n") == 1
