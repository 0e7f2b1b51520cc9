"""The contents of the built wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from specchat_assets import DRAFT_NAME, HEAD_NAMES, TARGET_NAME

ROOT = Path(__file__).parents[1]
LARGEST = 40 * 2**20


PACKAGES = {"specchat", "specchat_engine", "specchat_assets"}


def test_the_wheel_contains_the_three_packages_with_their_data_and_nothing_else(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PACKAGES
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert {f"specchat_assets/models/{name}" for name in (TARGET_NAME, DRAFT_NAME, *HEAD_NAMES)} <= names
    assert any(name.endswith(".tcss") for name in names)
    assert "specchat_assets/prompts/benchmark.toml" in names
    player = ("player.html", "player.css", "player.js", "page.js")
    assert {f"specchat/traces/exports/{name}" for name in player} <= names
    pages = {f"specchat_assets/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages
    assert pages <= names
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in names}


def test_no_tracked_file_is_too_large_for_a_git_host() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    sizes = {name: (ROOT / name).stat().st_size for name in listed.decode().split("\0") if name}
    assert all(size <= LARGEST for size in sizes.values())
    assert sum(sizes.values()) < 80_000_000
