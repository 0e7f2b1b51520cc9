"""A picture on the whole terminal: in a real pseudo-terminal that answers as Kitty, xterm or a simpler one does."""

from __future__ import annotations

import base64
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.attachments.show import is_key
from specchat.pipes import command_of
from support.documents import write_picture

pytest.importorskip("textual_image", reason="needs the extra specchat[files]")

_PATIENCE = 600.0
_HINT = "Any key goes back to the chat."
_KITTY = re.compile(r"\x1b_G([^;]*);(.*?)\x1b\\", re.DOTALL)
_LEAVES = "\x1b[?1049l"


_PATIENT_PROGRAM = f"""
import sys
import textual_image._terminal as terminal
from specchat.attachments.show import main

read = terminal.read
terminal.read = lambda file, length, _: read(file, length, {_PATIENCE})
sys.exit(main(sys.argv[1:]))
"""
"""The library waits a tenth of a second for each answer. On a busy machine the tests need more to give it."""


class Window:
    """A terminal of 80 columns and 24 rows, with cells of 10 × 20 pixels, that shows a picture."""

    def __init__(
        self,
        picture: Path,
        size: tuple[int, int] = (80, 24),
        *,
        kitty: bool = False,
        sixel: bool = False,
        **more: str,
    ) -> None:
        self._answers = {"\x1b[c": f"\x1b[?62;{4 if sixel else 22}c", "a=q": "\x1b_Gi=1;OK\x1b\\" if kitty else ""}
        self._master, slave = pty.openpty()
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.resize(*size)
        self.written = ""
        patient = (sys.executable, "-P", "-c", _PATIENT_PROGRAM)
        self.shown = subprocess.Popen(
            (*(patient if kitty or sixel else command_of("specchat.attachments.show")), str(picture)),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | more,
            start_new_session=True,
        )
        os.close(slave)

    def resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 10 * columns, 20 * rows)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def wait_for(self, text: str) -> str:
        """Answers the program's questions until it has written this; returns what came up to it."""
        while text not in self.written:
            if not select.select([self._master], [], [], _PATIENCE)[0]:
                raise TimeoutError(self.written)
            self.written += self._decoder.decode(os.read(self._master, 65536))
            for question in [each for each in self._answers if each in self.written]:
                self.type(self._answers.pop(question))
        before, _, self.written = self.written.partition(text)
        return before

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> None:
        self.shown.kill()
        self.shown.wait()
        os.close(self._master)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return write_picture(tmp_path / "a.png", (400, 200))


@pytest.fixture
def windows() -> Iterator[list[Window]]:
    opened: list[Window] = []
    yield opened
    for window in opened:
        window.close()


def drawn(written: str) -> tuple[str, bytes]:
    """The instruction of a drawing for Kitty, and the file that it sends."""
    parts = [(head, data) for head, data in _KITTY.findall(written) if "a=q" not in head]
    assert all("m=1" in head for head, _ in parts[:-1])
    assert "m=0" in parts[-1][0]
    return parts[0][0], base64.b64decode("".join(data for _, data in parts))


def test_kitty_gets_the_file_itself_in_cells_of_its_shape_and_again_in_another_size(
    picture: Path, windows: list[Window]
) -> None:
    windows.append(window := Window(picture, kitty=True))
    head, data = drawn(window.wait_for(_HINT))
    assert "c=80,r=20," in head
    assert data == picture.read_bytes()
    window.resize(40, 24)
    assert "c=40,r=10," in drawn(window.wait_for(_HINT))[0]


@pytest.mark.parametrize("key", ["q", "\x03", "\x1a"])
def test_a_key_removes_the_picture_and_leaves_the_screen_as_it_was(
    picture: Path, windows: list[Window], key: str
) -> None:
    windows.append(window := Window(picture, kitty=True))
    assert "\x1b[?1049h" in window.wait_for(_HINT)
    window.type(key)
    assert "\x1b_Ga=d,d=A,q=2\x1b\\" in window.wait_for(_LEAVES)
    assert window.shown.wait(_PATIENCE) == 0


def test_being_ended_leaves_the_screen_as_it_was_too(picture: Path, windows: list[Window]) -> None:
    windows.append(window := Window(picture, kitty=True))
    window.wait_for(_HINT)
    window.shown.send_signal(signal.SIGTERM)
    window.wait_for(_LEAVES)
    assert window.shown.wait(_PATIENCE) == 128 + signal.SIGTERM


def test_sixels_define_their_colours_first_and_have_a_size_that_xterm_draws(
    tmp_path: Path, windows: list[Window]
) -> None:
    from PIL import Image

    path = tmp_path / "a.png"
    Image.linear_gradient("L").convert("RGB").save(path)
    windows.append(window := Window(path, (300, 100), sixel=True))
    (shown,) = re.findall(r"\x1bP[^\"]*\"1;1;(\d+);(\d+)(.*?)\x1b\\", window.wait_for(_HINT), re.DOTALL)
    width, height, sixels = shown
    assert (width, height) == ("1000", "1000")
    assert re.fullmatch(r"(#\d+;2;\d+;\d+;\d+)+[^;]*", sixels)


def test_other_terminals_get_half_blocks(picture: Path, windows: list[Window]) -> None:
    windows.append(window := Window(picture))
    assert "▀" * 40 in re.sub(r"\x1b\[[0-9;]*m", "", window.wait_for(_HINT))


def test_tmux_keeps_the_title_of_its_pane(picture: Path, windows: list[Window]) -> None:
    windows.append(window := Window(picture, TMUX="/tmp/tmux,1,0"))
    written = window.wait_for(_HINT)
    assert written.index("\x1b[22;2t") < written.index("a=q") < written.index("\x1b[23;2t")


@pytest.mark.parametrize("answer", ["\x1b[?62;4c", "\x1b[6;20;10t", "\x1b_Gi=1;OK\x1b\\\x1b[?62c"])
def test_a_late_answer_of_the_terminal_is_no_key(answer: str) -> None:
    assert not is_key(answer.encode())
    assert is_key(answer.encode() + b"q")


def test_the_end_of_the_input_counts_as_a_key() -> None:
    assert is_key(b"")
    assert is_key(b"\x1b")
