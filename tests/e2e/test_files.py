"""Images, documents, the clipboard and imported conversations in the real program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.terminal import SPECCHAT, Terminal
from e2e.test_chat import STATISTICS, ready
from specchat_engine.llama.mtmd import has_mtmd
from support.documents import write_pdf, write_picture
from support.vision_models import write_seeing_pair

pytest.importorskip("PIL", reason="needs the extra specchat[files]")

Specchat = Callable[..., Terminal]

EXPORTS = Path(__file__).parents[1] / "app" / "imports" / "samples"


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    return write_picture(tmp_path / "photo.png", (60, 40))


@pytest.fixture
def clipboard(environment: dict[str, str], photo: Path, tmp_path: Path) -> None:
    """A desktop whose clipboard has the picture."""
    program = tmp_path / "bin" / "xclip"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase "$*" in *TARGETS*) echo image/png;; *) exec cat {photo};; esac\n')
    program.chmod(0o755)
    environment["DISPLAY"] = ":99"
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"


@pytest.mark.usefixtures("clipboard")
def test_an_image_from_the_clipboard_stays_in_the_prompt_of_a_model_that_sees_none(specchat: Specchat) -> None:
    terminal = specchat("chat", width=80, height=24)
    ready(terminal)
    terminal.type("/paste ")
    terminal.wait_for(r"with the image clipboard-\w{8}\.png \(60 × 40\)(.|\n)*› @clipboard-\w{8}\.png\n")
    terminal.type("What is this?")
    terminal.wait_for(r"has no projector for images(.|\n)*› @clipboard-\w{8}\.png What is this\?\n")
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")


@pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")
def test_a_model_answers_about_an_image_and_shows_it(
    specchat: Specchat, environment: dict[str, str], photo: Path, tmp_path: Path
) -> None:
    if library := os.environ.get("MTMD_CPP_LIB"):
        environment["MTMD_CPP_LIB"] = library
    pair = write_seeing_pair(tmp_path)
    flags = ("-m", str(pair.target), "-d", str(pair.draft), "-k", "4", "--drafter", "model", "-n", "24", "-c", "1024")
    terminal = specchat("chat", *flags, width=100, height=30)
    ready(terminal)
    terminal.type(f"What is @{photo}?")
    terminal.wait_for(rf"photo\.png \(60 × 40\)(.|\n)*▀(.|\n)*{STATISTICS}")
    terminal.type("/verify ")
    terminal.wait_for(r"all \d+ tokens are equal")


def test_the_text_of_a_document_goes_with_the_message_and_is_answered(specchat: Specchat, tmp_path: Path) -> None:
    report, exported = write_pdf(tmp_path / "report.pdf", "The heron stands in the reeds."), tmp_path / "chat.jsonl"
    terminal = specchat("chat", "--drafter", "lookup", width=200, height=24)
    ready(terminal)
    terminal.type(f"Repeat the text of this file: @{report}")
    terminal.wait_for(rf"report\.pdf(.|\n)*specchat-guide(.|\n)*{STATISTICS}")
    terminal.type(f"/export jsonl {exported} ")
    terminal.wait_for("exported to")
    assert "The heron stands in the reeds." in exported.read_text("utf-8")


def test_imported_conversations_are_found_by_their_tag(specchat: Specchat, environment: dict[str, str]) -> None:
    export = EXPORTS / "conversations.json"
    command = (*SPECCHAT, "sessions", "import", str(export))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert "imported" in done.stdout + done.stderr
    terminal = specchat("chat", width=80, height=24)
    ready(terminal)
    terminal.keys("C-o")
    terminal.wait_for("type to search")
    terminal.keys("-l", "#chatgpt rounds")
    terminal.wait_for(r"Rounds and drafts +#chatgpt(.|\n)*1 found")
    terminal.keys("Enter")
    terminal.wait_for("One draft and one pass.")
