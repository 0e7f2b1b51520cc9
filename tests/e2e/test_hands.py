"""Keys and mouse events as terminals send them to the real program."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT, Terminal
from e2e.test_chat import ENDLESS, ready, streaming

Specchat = Callable[..., Terminal]

SHIFT_ENTER = {"kitty": "\x1b[13;2u", "xterm": "\x1b[27;2;13~"}
NORD = "48;2;46;52;64"
"""The theme's background colour."""
WHEEL_UP, WHEEL_DOWN = "\x1b[<64;10;10M", "\x1b[<65;10;10M"


def click(terminal: Terminal, column: int, row: int) -> None:
    """Presses and releases the left button. Column and row count from 1."""
    terminal.raw(f"\x1b[<0;{column};{row}M")
    terminal.raw(f"\x1b[<0;{column};{row}m")


def test_what_is_typed_early_new_lines_a_pasted_log_and_invalid_utf_8_arrive_as_they_are_meant(
    specchat: Specchat,
) -> None:
    terminal = specchat("chat", "-n", "8", width=80, height=24)
    for letter in "nothing of this may be lost":
        terminal.keys("-l", letter)
    terminal.wait_for(r"› nothing of this may be lost\s*\n")
    ready(terminal)
    terminal.keys("C-u")
    terminal.keys("-l", "one")
    terminal.raw(SHIFT_ENTER["kitty"])
    terminal.keys("-l", "two")
    terminal.raw(SHIFT_ENTER["xterm"])
    terminal.keys("-l", "three")
    terminal.keys("C-j")
    terminal.keys("-l", "four")
    terminal.keys("M-Enter")
    terminal.keys("-l", "five\\")
    terminal.keys("Enter")
    terminal.keys("-l", "six")
    terminal.wait_for(r"› one\n +two\n +three\n +four\n +five\n +six\n")
    terminal.keys("Enter")
    terminal.wait_for(r"▌ one\n▌ two\n▌ three\n▌ four\n▌ five\n▌ six\n(.|\n)*\d tok/s ·", absent="esc Stop")

    terminal.raw("\x1b[200~one\rred \x1b[31mERROR\x1b[0m\rup\x1b[A \x1b end\r\x1b[201~")
    terminal.wait_for(r"› one\n +red ERROR\n +up", absent="▌ red")
    terminal.keys("-l", "last")
    terminal.wait_for(r"› one\n +red ERROR\n +up.*\n +last", absent="▌ red")
    terminal.keys("Enter")
    terminal.wait_for(r"▌ one\n▌ red ERROR\n▌ up.*\n▌ last\n(.|\n)*\d tok/s ·", absent="esc Stop")

    terminal.raw(b"caf\xe9")
    terminal.wait_for(r"› caf\ufffd\s*\n")
    terminal.raw(b" \x1b[200~na\xefve \xff \xc3\xa9\x1b[201~")
    terminal.wait_for(r"› caf\ufffd na\ufffdve \ufffd é\s*\n")
    terminal.keys("Enter")
    terminal.wait_for(r"▌ caf\ufffd na\ufffdve \ufffd é(.|\n)*\d tok/s ·", absent="esc Stop")
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")
    assert "Traceback" not in terminal.screen()


def test_the_wheel_scrolls_up_and_a_click_or_the_key_jumps_back_to_the_end(specchat: Specchat) -> None:
    terminal = specchat("chat", *ENDLESS, width=80, height=24)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    terminal.wait_for("▄|▃|▂|▁|█|▅|▆|▇", absent="▌ Tell me a story")
    for _ in range(12):
        terminal.raw(WHEEL_UP)
    terminal.wait_for(r"jump to end \(Ctrl\+End\) · \d+ new")
    seen: list[tuple[str, int]] = []

    def stays(now: str) -> bool:
        """Whether the text stood still while three times lines were added below."""
        seen.append((now.splitlines()[1], new_lines(now)))
        still = takewhile(lambda one: one[0] == seen[-1][0], reversed(seen))
        return len({number for _, number in still}) > 3

    later = terminal.wait_until(stays, "a text that stays where it is")
    row = next(number for number, text in enumerate(later.splitlines(), 1) if "jump to end" in text)
    click(terminal, 10, row)
    terminal.wait_for("esc Stop", absent="jump to end")
    for _ in range(3):
        terminal.raw(WHEEL_UP)
    terminal.wait_for("jump to end")
    terminal.keys("C-End")
    terminal.wait_for("esc Stop", absent="jump to end")
    terminal.raw(WHEEL_UP)
    terminal.wait_for("jump to end")

    def at_the_end(shown: str) -> bool:
        if "jump to end" in shown:
            terminal.raw(WHEEL_DOWN * 8)
        return "jump to end" not in shown

    terminal.wait_until(at_the_end, "the end, by the wheel")
    terminal.wait_for("esc Stop", absent="jump to end")


def test_a_light_terminal_gets_the_light_theme_and_early_typing_is_kept(
    environment: dict[str, str],
) -> None:
    terminal = Terminal(("sh", "-c", 'read go; exec "$@"', "sh", *SPECCHAT, "chat", *FLAGS), environment, 80, 24)
    try:
        terminal.ground("#ffffff")
        terminal.keys("Enter")
        terminal.keys("-l", "early")
        ready(terminal)
        shown = terminal.wait_for("› early")
        assert not re.search(r"\]11;|rgb:", shown)
        assert "48;2;251;251;250" in terminal.screen(colours=True)
    finally:
        terminal.close()


def test_the_chosen_theme_is_kept_after_a_restart(specchat: Specchat) -> None:
    first = specchat("chat", "--theme", "dracula", width=80, height=24)
    first.wait_for("Ask something")
    assert NORD not in first.screen(colours=True)
    first.type("/theme nord")
    first.wait_until(lambda _: NORD in first.screen(colours=True), "the theme")
    first.keys("C-q")
    first.wait_for("exit code 0")
    again = specchat("chat", width=80, height=24)
    again.wait_for("Ask something")
    assert NORD in again.screen(colours=True)


def test_a_dumb_terminal_gets_the_chat_line_by_line(environment: dict[str, str]) -> None:
    terminal = Terminal(("env", "TERM=dumb", *SPECCHAT, "chat", "-n", "8", *FLAGS), environment, 140, 30)
    try:
        terminal.wait_for(r"line by line, as with --plain\nspecchat, .*\nYou:\s*$")
        terminal.type("What is a draft model?")
        terminal.wait_for(r"Answer:\n\S.*\n\[max tokens, 8 tokens, [^]]*\.\]\nYou:\s*$")
        terminal.type("/quit")
        terminal.wait_for("exit code 0")
    finally:
        terminal.close()


def new_lines(shown: str) -> int:
    """The number of new lines that the hint shows."""
    found = re.search(r"· (\d+) new", shown)
    return int(found[1]) if found else 0
