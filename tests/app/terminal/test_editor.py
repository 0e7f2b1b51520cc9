"""Which editor opens, and what becomes of the text."""

import asyncio
import sys
from pathlib import Path

import pytest

from specchat.errors import EditorError
from specchat.terminal.editor import edited, editor_command


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
    with pytest.raises(EditorError, match=r"close its quotes"):
        editor_command({"VISUAL": "vi 'x"})


def edited_by(code: str) -> str:
    """What an editor that runs this code, with the file as `file`, makes of "why"."""
    program = f"import sys, pathlib; file = pathlib.Path(sys.argv[1]); {code}"
    return asyncio.run(edited("why", [sys.executable, "-S", "-c", program]))


def test_the_file_is_private_and_removed() -> None:
    facts = "{file.read_text()} {file.stat().st_mode:o} {file.parent.stat().st_mode:o} {file}"
    text, file_mode, folder_mode, path = edited_by(f"file.write_text(f'{facts}')").split()
    assert (text, file_mode[-3:], folder_mode[-3:]) == ("why", "600", "700")
    assert not Path(path).parent.exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("file.write_text('half'); sys.exit(1)", "ended with exit code 1"),
        ("file.write_text(' \\n')", "left an empty file"),
        ("file.unlink()", "left no text"),
        ("file.write_bytes(b'\\xff\\xfe')", "left no text"),
        ("file.write_text('x' * 2_000_000)", "left more than 1 MiB"),
    ],
)
def test_an_editor_that_fails_says_how(code: str, why: str) -> None:
    with pytest.raises(EditorError, match=why):
        edited_by(code)


def test_an_editor_that_cannot_be_started_says_why() -> None:
    with pytest.raises(EditorError, match=r"^/no/such/editor cannot be started: No such file"):
        asyncio.run(edited("why", ["/no/such/editor"]))
