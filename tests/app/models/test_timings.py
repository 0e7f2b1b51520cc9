"""What was timed of a target's drafts."""

from __future__ import annotations

from pathlib import Path

from specchat.models.timings import Timing, keep_timings, read_timings
from specchat.settings.paths import data_folder


def test_what_was_timed_is_kept_best_first_and_replaced_by_the_next_time(tmp_path: Path) -> None:
    target = tmp_path / "t.gguf"
    keep_timings(target, [Timing("/a.gguf", 0.9, "model", "4"), Timing("/b.gguf", 1.4, "hybrid", "auto")])
    assert [one.draft for one in read_timings(target)] == ["/b.gguf", "/a.gguf"]
    keep_timings(target, [Timing("/c.gguf", 1.1, "model", "2")])
    assert [one.draft for one in read_timings(target)] == ["/c.gguf"]
    assert read_timings(tmp_path / "other.gguf") == []


def test_a_damaged_file_says_nothing(tmp_path: Path) -> None:
    data_folder().mkdir(parents=True)
    for text in ("[]", "{", '{"%s": [{"draft": 1}]}' % (tmp_path / "t.gguf"), '{"%s": 3}' % (tmp_path / "t.gguf")):
        (data_folder() / "timings.json").write_text(text)
        assert read_timings(tmp_path / "t.gguf") == []
