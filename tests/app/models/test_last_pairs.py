"""Which draft a target had last, and the timings of its drafts."""

from __future__ import annotations

from pathlib import Path

from specchat.models.last_pairs import DraftTiming, last_draft, read_timings, write_timings
from specchat.models.preferences import remember_pair
from specchat.settings.paths import data_folder


def test_the_last_draft_is_used_again_while_its_file_exists(tmp_path: Path) -> None:
    target, one, two = (tmp_path / name for name in ("t.gguf", "a.gguf", "b.gguf"))
    for path in (target, one, two):
        path.touch()
    assert last_draft(target) is None
    remember_pair(target, one)
    remember_pair(target, two)
    remember_pair(tmp_path / "other.gguf", one)
    assert last_draft(target) == two
    two.unlink()
    assert last_draft(target) is None


def test_timings_are_stored_fastest_first_until_the_next_run(tmp_path: Path) -> None:
    target = tmp_path / "t.gguf"
    write_timings(target, [DraftTiming("/a.gguf", 0.9, "model", "4"), DraftTiming("/b.gguf", 1.4, "hybrid", "auto")])
    assert [one.draft for one in read_timings(target)] == ["/b.gguf", "/a.gguf"]
    write_timings(target, [DraftTiming("/c.gguf", 1.1, "model", "2")])
    assert [one.draft for one in read_timings(target)] == ["/c.gguf"]
    assert read_timings(tmp_path / "other.gguf") == []


def test_a_damaged_file_of_timings_is_ignored(tmp_path: Path) -> None:
    data_folder().mkdir(parents=True)
    for text in ("[]", "{", '{"%s": [{"draft": 1}]}' % (tmp_path / "t.gguf"), '{"%s": 3}' % (tmp_path / "t.gguf")):
        (data_folder() / "timings.json").write_text(text)
        assert read_timings(tmp_path / "t.gguf") == []
