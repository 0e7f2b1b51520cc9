"""Which draft a target had last."""

from __future__ import annotations

from pathlib import Path

from specchat.models.last_pairs import last_draft
from specchat.models.shelf import remember_pair


def test_the_draft_of_the_last_pair_is_taken_again_while_it_is_there(tmp_path: Path) -> None:
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
