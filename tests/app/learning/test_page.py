"""The page about what a draft has learned: from nothing at all to a chart with adoptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.learning import Learned, Learning, learned_page
from specchat.stats.charts import as_text
from specchat_engine.decoding.stats import AcceptanceCounts


def page(tmp_path: Path, width: int = 80) -> str:
    return as_text(learned_page(Learning(), tmp_path / "target.gguf", tmp_path / "draft.gguf", width))


def begun(tmp_path: Path) -> Learned:
    """A draft that learns, and that has drafted 3,000 tokens."""
    Learning().turn(on=True)
    learned = Learning().of(tmp_path / "target.gguf", tmp_path / "draft.gguf")
    learned.saw(3000, "free", [(learned.base, AcceptanceCounts(150, 50))])
    return learned


def test_without_a_draft_model_it_says_how_to_get_one(tmp_path: Path) -> None:
    assert "load one with /draft" in as_text(learned_page(Learning(), tmp_path / "target.gguf", None, 80))


def test_before_learning_is_on_it_says_how_to_turn_it_on_and_writes_nothing(tmp_path: Path) -> None:
    assert page(tmp_path).startswith("Learning is off: 0 tokens recorded")
    assert "/learn on" in page(tmp_path)
    assert not Learning().folder.exists()


def test_before_the_first_answer_it_says_what_will_be_shown(tmp_path: Path) -> None:
    Learning().turn(on=True)
    assert page(tmp_path).startswith("Learning is on")
    assert "after the next answer" in page(tmp_path)


def test_a_drawing_reads_the_history_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path)
    read, times = Path.read_text, list[str]()
    monkeypatch.setattr(Path, "read_text", lambda file, *how: times.append(file.name) or read(file, *how))
    assert "free ○ 0.75" in " ".join(page(tmp_path).split())
    assert times.count("learned.json") == 1


@pytest.mark.parametrize("width", [34, 80, 140])
def test_it_shows_the_curve_and_each_adoption(tmp_path: Path, width: int) -> None:
    learned = begun(tmp_path)
    for before, after in ((0.75, 0.8), (0.8, 0.9)):
        new = tmp_path / "new.gguf"
        new.touch()
        learned.adopt(new, before, after)
        learned.saw(2000, "free", [(learned.current, AcceptanceCounts(170, 30))])
    learned.back()
    text = page(tmp_path, width)
    flat = " ".join(text.split())
    assert "free ○ 0.75 ● 0.85 → 0.85" in flat
    assert "▲ draft-1.gguf after 3,000 tokens: held-out α 0.75 → 0.80" in flat
    assert "△ draft-2.gguf after 5,000 tokens, undone: held-out α 0.80 → 0.90" in flat
    assert max(map(len, text.splitlines())) <= min(width, 100)
