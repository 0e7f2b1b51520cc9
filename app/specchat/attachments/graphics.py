"""One picture on the whole terminal: with Kitty's graphics, Sixel or half blocks, whichever the terminal can.

Importing this module asks the terminal what it can.
"""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from struct import pack, unpack
from termios import TIOCGWINSZ
from typing import Final

from PIL import Image as Pillow
from rich.console import Console
from textual_image.renderable import Image, SixelImage, TGPImage

_CHUNK: Final = 4096
"""Characters of one piece, at most, in Kitty's protocol."""

_LARGEST_SIXEL: Final = 1000
"""Pixels of a side. xterm draws nothing larger unless it was configured to."""

_CELL: Final = (10, 20)
"""The pixels of a cell in a terminal that does not report them."""

_DELETE: Final = "\x1b_Ga=d,d=A,q=2\x1b\\"
"""Removes what was drawn with Kitty's graphics, and frees its memory."""

_COLOUR: Final = re.compile(r"(#\d+)(;2;\d+;\d+;\d+)")


class Drawing:
    """The picture in a PNG file, as large as the window allows, with a line below it."""

    def __init__(self, path: Path, below: str) -> None:
        self._path = path
        self._below = below

    @contextmanager
    def screen(self) -> Iterator[None]:
        """The terminal's other screen, so that what was on this one comes back."""
        with Console().screen():
            try:
                yield
            finally:
                if Image is TGPImage:
                    _write(_DELETE)

    def draw(self, window: os.terminal_size) -> None:
        """Draws the picture on an empty screen of this size."""
        columns, rows = window.columns, max(1, window.lines - 2)
        console = Console(width=columns, height=window.lines)
        if console.is_terminal:
            console.clear()
        if Image is TGPImage:
            # The library needs placeholders in Unicode, which Kitty has only since 0.28, and others do not have.
            _write(kitty_sequence(self._path, columns, rows, cell_size()))
        elif Image is SixelImage:
            width, height = (max(1, _LARGEST_SIXEL // side) for side in cell_size())
            narrow = Console(width=min(columns, width), height=window.lines)
            with narrow.capture() as captured:
                narrow.print(Image(self._path, width="auto", height=min(rows, height)))
            _write(colours_first(captured.get()))
        else:
            console.print(Image(self._path, width="auto", height=rows))
        console.print(self._below, style="dim", end="")


def kitty_sequence(path: Path, columns: int, rows: int, cell: tuple[int, int]) -> str:
    """Draws a PNG file in at most this many cells of this size, and moves below it: Kitty's graphics protocol."""
    with Pillow.open(path) as picture:
        width, height = fitting(picture.size, columns, rows, cell)
    data = base64.b64encode(path.read_bytes()).decode()
    pieces = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    head = f"a=T,f=100,q=2,C=1,c={width},r={height},"
    sent = (
        f"\x1b_G{'' if number else head}m={int(number < len(pieces) - 1)};{piece}\x1b\\"
        for number, piece in enumerate(pieces)
    )
    return f"{_DELETE}{''.join(sent)}\x1b[{height + 1};1H"


def colours_first(sixels: str) -> str:
    """Sixels with all colours defined before the first pixel: xterm draws in wrong colours before a definition."""
    defined: list[str] = []

    def move(colour: re.Match[str]) -> str:
        defined.append(colour[0])
        return colour[1]

    rest = _COLOUR.sub(move, sixels)
    start = rest.find("#")
    return f"{rest[:start]}{''.join(defined)}{rest[start:]}" if defined else sixels


def fitting(size: tuple[int, int], columns: int, rows: int, cell: tuple[int, int]) -> tuple[int, int]:
    """The columns and rows of a picture of this size in pixels, as large as they allow in its own shape."""
    scale = min(columns * cell[0] / size[0], rows * cell[1] / size[1])
    width, height = (max(1, round(side * scale / each)) for side, each in zip(size, cell, strict=True))
    return min(width, columns), min(height, rows)


def cell_size() -> tuple[int, int]:
    """The width and height of a cell in pixels, which most terminals report."""
    try:
        rows, columns, width, height = unpack("HHHH", ioctl(sys.stdout, TIOCGWINSZ, pack("HHHH", 0, 0, 0, 0)))
    except (OSError, ValueError):
        return _CELL
    return (width // columns, height // rows) if all((rows, columns, width, height)) else _CELL


def _write(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()
