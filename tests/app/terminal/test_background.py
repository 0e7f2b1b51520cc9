"""The question about the terminal's background, asked of a terminal that the test plays."""

import os
import pty
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from specchat.terminal import background as module
from specchat.terminal.background import (
    Background,
    BackgroundQuestion,
    ask_background,
    background_from_environment,
    read_answers,
)

WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
BLACK = "\x1b]11;rgb:1414/1717/1c1c\x07"
THE_LAST = "\x1b[?62;22c"


@dataclass
class Played:
    """A terminal: what the program writes is read from `screen`, and what is written there is its input."""

    screen: int
    program: int

    def heard(self) -> bytes:
        return os.read(self.screen, 4096)

    def says(self, text: str) -> None:
        os.write(self.screen, text.encode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    screen, program = pty.openpty()
    with os.fdopen(os.dup(program), "w") as output:
        monkeypatch.setattr(module.sys, "__stdout__", output)
        yield Played(screen, program)
    os.close(screen)
    os.close(program)


def test_a_light_terminal_says_so_and_what_was_typed_is_kept(terminal: Played) -> None:
    before = termios.tcgetattr(terminal.program)
    question = BackgroundQuestion(terminal.program)
    assert terminal.heard() == b"\x1b]11;?\x1b\\\x1b[c"
    terminal.says(f"Hé{WHITE}l{THE_LAST}lo")
    assert question.answer(30.0) == Background(light=True, typed="Héllo")
    assert termios.tcgetattr(terminal.program) == before


def test_enter_that_is_pressed_meanwhile_is_no_new_line(terminal: Played) -> None:
    question = BackgroundQuestion(terminal.program)
    terminal.says(f"Hello?\r{WHITE}{THE_LAST}")
    assert question.answer(30.0).typed == "Hello?\r"


def test_nothing_is_echoed_while_the_answer_is_awaited(terminal: Played) -> None:
    question = BackgroundQuestion(terminal.program)
    terminal.heard()
    terminal.says(f"typed{WHITE}{THE_LAST}")
    question.answer(30.0)
    os.set_blocking(terminal.screen, False)
    with pytest.raises(BlockingIOError):
        terminal.heard()


def test_a_question_that_cannot_be_asked_leaves_the_terminal_as_it_was(
    terminal: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = termios.tcgetattr(terminal.program)
    with Path(os.devnull).open() as unwritable:
        monkeypatch.setattr(module.sys, "__stdout__", unwritable)
        with pytest.raises(OSError, match="Bad file descriptor"):
            BackgroundQuestion(terminal.program)
    assert termios.tcgetattr(terminal.program) == before


def test_a_terminal_that_knows_no_such_question_is_dark(terminal: Played) -> None:
    question = BackgroundQuestion(terminal.program)
    terminal.says(THE_LAST)
    assert question.answer(30.0) == Background()


def test_a_terminal_that_is_silent_is_not_waited_for_and_may_still_answer(terminal: Played) -> None:
    question = BackgroundQuestion(terminal.program)
    terminal.says("typed")
    assert question.answer(0.0) in (Background(late=True), Background(typed="typed", late=True))


@pytest.mark.parametrize(
    ("colour", "light"),
    [
        ("rgb:ffff/ffff/ffff", True),
        ("rgb:fd/f6/e3", True),
        ("rgba:ffff/ffff/ffff/0000", True),
        ("rgb:0/0/0", False),
        ("rgb:2828/2c2c/3434", False),
        ("rgb:0000/0000/ffff", False),
        ("rgb:ffff/ffff", False),
        ("#ffffff", False),
        ("", False),
    ],
)
def test_a_background_is_light_where_the_eye_says_so(colour: str, light: bool) -> None:
    assert read_answers(f"\x1b]11;{colour}\x07{THE_LAST}") == Background(light)


def test_an_answer_that_ends_in_an_escape_only_is_understood() -> None:
    assert read_answers(f"\x1b]11;rgb:ff/ff/ff\x1b{THE_LAST}x") == Background(light=True, typed="x")


@pytest.mark.parametrize(("colours", "light"), [("0;15", True), ("15;0", False), ("0;default;15", True)])
def test_a_terminal_that_says_how_light_it_is_is_believed_and_not_asked(
    colours: str, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", colours)
    assert ask_background() is None
    assert background_from_environment().light == light


def test_without_a_terminal_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    assert ask_background() is None
