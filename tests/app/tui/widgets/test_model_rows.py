"""Models and downloads as rows, and downloads as one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.content import Content

from specchat.models.downloads import DownloadView
from specchat.models.library import HeaderSummary, LibraryModel
from specchat.models.pull import FileProgress, PullProgress, PullState
from specchat.models.sources import Found, ModelSource
from specchat.tui.widgets.listing import row
from specchat.tui.widgets.model_rows import download_line, download_row, entry_row, finding_line
from specchat_engine.pairing import Grade, PairFinding


def entry(name: str = "some/model-GGUF:Q4_K_M", problem: str = "") -> LibraryModel:
    found = Found(name, ModelSource.HUB, (Path("/models/a.gguf"),), 2_500_000_000, "Q4_K_M", problem)
    return LibraryModel(found, HeaderSummary(parameters=4_000_000_000), ("quick",))


def download(name: str, done: int, state: PullState = PullState.RUNNING, error: str = "") -> DownloadView:
    progress = PullProgress(state, (FileProgress("a.gguf", done, 1000),), 250.0, 3.0, (), error)
    return DownloadView(1, name, progress)


@pytest.mark.parametrize("width", [20, 40, 76, 130])
def test_a_row_has_exactly_its_width(width: int) -> None:
    assert entry_row(entry(), width).cell_length == width
    assert entry_row(entry(problem="it is broken " * 20), width).cell_length == width
    assert download_row(download("名前" * 30, 300), width).cell_length == width
    assert row(width, Content("✓ "), "n" * 300, ("x" * 50, 9)).cell_length == width
    for views in ([download("n" * 90, 500)], [download("n" * 90, 1000, PullState.DONE)]):
        assert download_line(views, width).cell_length <= width


def test_columns_without_room_are_dropped() -> None:
    wide, narrow = str(entry_row(entry(), 120)), str(entry_row(entry(), 40))
    assert all(part in wide for part in ("some/model-GGUF:Q4_K_M (quick)", "2.5 GB", "Q4_K_M", "4B", "hub"))
    assert "2.5 GB" in narrow
    assert "hub" not in narrow
    assert "its part 2 is missing" in str(entry_row(entry(problem="its part 2 is missing"), 100))


def test_escape_sequences_in_names_and_findings_are_removed() -> None:
    for drawn in (
        entry_row(entry("a/\x1b[31mred\x07"), 80),
        finding_line(PairFinding(Grade.BLOCKER, "vocabulary", "differs at \x1b]0;x\x07", "use \x9b another")),
        download_line([download("\x1b[2Jname", 10)], 80),
    ):
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in str(drawn))


def test_an_incomplete_download_says_how_to_resume_it() -> None:
    interrupted = str(download_row(download("it", 430, PullState.CANCELLED), 100))
    assert "interrupted at 43 %: Enter resumes" in interrupted
    assert "failed at 43 %: Enter resumes" in str(download_row(download("it", 430, PullState.FAILED), 80))


def test_the_line_shows_the_running_download_and_counts_the_others() -> None:
    waiting = download("first", 100, PullState.PAUSED)
    line = str(download_line([waiting, download("second", 500)], 100))
    assert line.startswith("↓ second")
    assert " 50 % · 250 B/s, 0:03 left · 1 more" in line


def test_the_line_says_how_the_download_ended() -> None:
    assert "Ctrl+G loads it" in str(download_line([download("it", 1000, PullState.DONE)], 80))
    failed = str(download_line([download("it", 10, PullState.FAILED, "no space is left")], 80))
    assert "✗ it: no space is left" in failed
    assert "Ctrl+G resumes" in failed
    stopped = str(download_line([download("it", 430, PullState.CANCELLED)], 80))
    assert stopped.endswith("it · interrupted at 43 % · Ctrl+G resumes")
    both = [download("one", 10, PullState.CANCELLED), download("two", 430, PullState.CANCELLED)]
    assert str(download_line(both, 80)).endswith("two · interrupted at 43 % · Ctrl+G resumes · 1 more")
    assert str(download_line([], 80)) == ""
