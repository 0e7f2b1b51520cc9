"""Which editor opens."""

from pathlib import Path

import pytest

from specchat.errors import EditorError
from specchat.terminal.editor import editor_command


def installed(folder: Path, *names: str) -> dict[str, str]:
    """An environment whose PATH has these programs only."""
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def test_the_editor_that_is_set_opens_with_its_arguments(tmp_path: Path) -> None:
    path = installed(tmp_path, "vi")
    assert editor_command({**path, "EDITOR": "code --wait"}) == ["code", "--wait"]
    assert editor_command({**path, "EDITOR": "code --wait", "VISUAL": "'my editor' -x"}) == ["my editor", "-x"]


@pytest.mark.parametrize(
    ("there", "opens"), [(("nano", "vi", "emacs"), "vi"), (("emacs", "nano"), "nano"), (("micro", "less"), "micro")]
)
def test_without_one_an_installed_editor_opens(tmp_path: Path, there: tuple[str, ...], opens: str) -> None:
    assert editor_command(installed(tmp_path, *there)) == [str(tmp_path / opens)]


def test_without_any_the_reason_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(EditorError, match=r"set \$VISUAL or \$EDITOR"):
        editor_command(installed(tmp_path, "less"))
