"""Which models on this machine could draft."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specchat.models.candidates import DraftCandidate, judge_drafts, ranked
from specchat.models.library import loadable_models
from specchat.models.preferences import Preferences, write_preferences
from specchat_assets.catalog import catalog
from specchat_engine.errors import ModelFileError
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.pairing import Grade
from support.tiny_models import write_tiny_model

ROOMY = Machine((DeviceMemory("CPU", "cpu", 8 * 10**9, 8 * 10**9),))
CRAMPED = Machine((DeviceMemory("CPU", "cpu", 10**6, 10**6),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A target, drafts of two sizes, a model that is larger than the target, and a broken file."""
    folder = tmp_path / "models"
    folder.mkdir()
    write_tiny_model(folder / "target.gguf", layers=4, width=256)
    write_tiny_model(folder / "tenth.gguf", layers=2, width=96)
    write_tiny_model(folder / "half.gguf", layers=2, width=256)
    write_tiny_model(folder / "larger.gguf", layers=6, width=320)
    (folder / "broken.gguf").write_bytes(b"GGUF and nothing else")
    write_preferences(Preferences(folders=(str(folder),)))
    return folder


def judged(folder: Path, machine: Machine = ROOMY) -> list[DraftCandidate]:
    found = judge_drafts(folder / "target.gguf", loadable_models(), LoadOptions(), machine)
    return [one for one in found if one.entry.path.parent == folder]


def test_the_small_draft_comes_first_and_an_unusable_file_last_with_its_reason(folder: Path) -> None:
    found = ranked(judged(folder))
    assert [one.entry.name for one in found] == ["tenth", "half", "larger", "broken"]
    assert [one.grade for one in found] == [Grade.OK, Grade.WARNING, Grade.WARNING, Grade.BLOCKER]
    assert "rarely pays" in found[1].reason
    assert "costs more than it saves" in found[2].reason
    assert not found[3].fits
    assert "broken.gguf" in found[3].reason
    assert found[0].reason == ""
    assert found[0].memory > found[0].entry.size


def test_a_timed_draft_ranks_above_all_others_that_fit(folder: Path) -> None:
    found = ranked(judged(folder), [folder / "half.gguf", folder / "broken.gguf"])
    assert [one.entry.name for one in found] == ["half", "tenth", "larger", "broken"]


def test_the_target_is_not_a_draft_for_itself_even_through_a_link(folder: Path) -> None:
    link = folder / "again.gguf"
    link.symlink_to(folder / "target.gguf")
    assert {"target", "again"}.isdisjoint(one.entry.name for one in judged(folder))


def test_a_draft_with_two_names_is_judged_once(folder: Path) -> None:
    (folder / "twin.gguf").symlink_to(folder / "tenth.gguf")
    assert [one.entry.name for one in ranked(judged(folder))] == ["tenth", "half", "larger", "broken"]


def test_a_pair_that_does_not_fit_into_memory_is_blocked(folder: Path) -> None:
    assert all(not one.fits for one in judged(folder, CRAMPED))
    assert "1 MB" in judged(folder, CRAMPED)[0].reason


def test_a_target_that_cannot_be_read_is_an_error(folder: Path) -> None:
    with pytest.raises(ModelFileError, match=r"broken\.gguf"):
        [*judge_drafts(folder / "broken.gguf", loadable_models(), LoadOptions(), ROOMY)]


def test_the_built_in_pair_and_named_files_are_listed_once(folder: Path, tmp_path: Path) -> None:
    outside = write_tiny_model(tmp_path / "outside.gguf")
    names = [entry.name for entry in loadable_models([outside, folder / "half.gguf", tmp_path / "gone.gguf"])]
    assert names[0] == "outside"
    assert len(names) == len({*names})
    assert {"specchat-guide-18m", "specchat-draft-2m", "half"} <= {*names}
    assert names[-1] == "broken"


def test_a_gain_known_from_the_catalog_ranks_above_a_good_size(folder: Path) -> None:
    known = next(pair for pair in catalog().pairs if pair.alpha and pair.target.repository and pair.draft.repository)
    names = {"target": f"{known.target.repository}:Q4_K_M", "half": f"{known.draft.repository}:Q8_0"}
    entries = [
        replace(entry, found=replace(entry.found, name=names.get(entry.name, entry.name)))
        for entry in loadable_models()
        if entry.path.parent == folder
    ]
    found = ranked(judge_drafts(folder / "target.gguf", entries, LoadOptions(), ROOMY))
    shown = {one.entry.path.stem: one.verdict.speedup for one in found if one.verdict}
    assert shown["half"] is not None
    assert shown["tenth"] is None
    same_grade = [one.entry.path.stem for one in found if one.grade is Grade.WARNING]
    assert same_grade == ["half", "larger"]
    promising = [replace_speedup(one, speedup) for one, speedup in zip(found[:2], (1.2, 1.5), strict=True)]
    assert [one.verdict.speedup for one in ranked(promising) if one.verdict] == [1.5, 1.2]


def replace_speedup(one: DraftCandidate, speedup: float) -> DraftCandidate:
    """The same candidate without warnings and with this expected speed-up."""
    assert one.verdict is not None
    return replace(one, verdict=replace(one.verdict, lines=(), speedup=speedup))
