"""The contents of the built wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from specchat_assets import DRAFT_NAME, HEAD_NAMES, TARGET_NAME

ROOT = Path(__file__).parents[1]
LARGEST = 40 * 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_contains_only_the_three_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"specchat", "specchat_engine", "specchat_assets"}


def test_the_wheel_contains_the_built_in_pair_and_the_style_sheets(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    models = {TARGET_NAME, DRAFT_NAME, *HEAD_NAMES}
    assert {f"specchat_assets/models/{name}" for name in models} <= set(names)
    assert any(name.endswith(".tcss") for name in names)
    assert "specchat_assets/prompts/benchmark.toml" in names


def test_the_wheel_contains_the_page_that_plays_traces(wheel: zipfile.ZipFile) -> None:
    wanted = ("player.html", "player.css", "player.js", "page.js")
    assert {f"specchat/traces/exports/{name}" for name in wanted} <= set(wheel.namelist())


def test_the_wheel_contains_the_pages_of_the_documentation(wheel: zipfile.ZipFile) -> None:
    pages = {f"specchat_assets/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages
    assert pages <= set(wheel.namelist())


@pytest.mark.parametrize("package", ["specchat", "specchat_engine", "specchat_assets"])
def test_each_package_is_marked_as_typed(wheel: zipfile.ZipFile, package: str) -> None:
    assert f"{package}/py.typed" in wheel.namelist()


def test_the_wheel_contains_licence_and_notice(wheel: zipfile.ZipFile) -> None:
    names = {Path(name).name for name in wheel.namelist()}
    assert {"LICENSE", "NOTICE"} <= names


def test_no_tracked_file_is_too_large_for_a_git_host() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    sizes = {name: (ROOT / name).stat().st_size for name in listed.decode().split("\0") if name}
    assert all(size <= LARGEST for size in sizes.values())
    assert sum(sizes.values()) < 80_000_000
