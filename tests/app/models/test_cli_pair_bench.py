"""`specchat models pair TARGET --bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specchat.cli import main, models_pair
from specchat.models.last_pairs import last_draft, read_timings
from specchat.models.preferences import Preferences, read_preferences, write_preferences
from support.tiny_models import TinyModels, write_tiny_pair


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TinyModels:
    """Tiny models in the library, without the built-in pair."""
    folder = tmp_path / "models"
    folder.mkdir()
    found = write_tiny_pair(folder)
    write_preferences(Preferences(folders=(str(folder),)))
    monkeypatch.setattr("specchat.models.sources.builtin_pair", lambda: ())
    return found


def test_the_drafts_are_timed_ranked_and_the_best_is_remembered(
    models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pair", str(models.target), "--bench", "--seconds", "1", "--json"]) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.splitlines()]
    gains = [one["speedup"]["value"] for one in found if one["speedup"]]
    assert gains == sorted(gains, reverse=True)
    assert "draft" in [one["draft"] for one in found]
    kept = read_timings(models.target)
    assert [one.speedup for one in kept] == gains
    best = last_draft(models.target)
    assert best == (Path(kept[0].draft) if gains[0] > 1 else None)
    assert ("is remembered" in captured.err) is (gains[0] > 1)


def test_a_named_draft_is_timed_alone(models: TinyModels, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "pair", str(models.target), str(models.draft), "--bench", "--seconds", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("specchat: 1 draft to time, about 1 s each\n")
    assert captured.out.startswith("draft\t")


def test_a_draft_that_cannot_be_loaded_is_reported_and_the_others_are_timed(
    models: TinyModels, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(engine: object, seconds: float) -> None:
        raise models_pair.EngineError("decoding failed: 1")

    monkeypatch.setattr(models_pair, "time_draft", refuse)
    assert main(["models", "pair", str(models.target), "--bench", "--seconds", "1"]) == 1
    captured = capsys.readouterr()
    assert "draft was not timed: decoding failed: 1" in captured.err
    assert "no draft gains anything here" in captured.err
    assert read_preferences().pairs == ()


def test_without_any_possible_draft_it_says_so(
    tmp_path: Path, tiny_models: TinyModels, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.models.sources.builtin_pair", lambda: ())
    assert main(["models", "pair", str(tiny_models.target), "--bench"]) == 1
    assert "no model on this machine can draft for target" in capsys.readouterr().err


def test_without_a_draft_and_without_bench_it_says_what_is_missing(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "pair", str(tiny_models.target)]) == 2
    assert capsys.readouterr().err == (
        "specchat: name a draft to check the pair, or add --bench to time those on this machine\n"
    )
