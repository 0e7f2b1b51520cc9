"""The terminal app in a real terminal, with the real engine and the built-in pair."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest

from e2e.terminal import Terminal

Specchat = Callable[..., Terminal]

QUESTION = "What is speculative decoding?"
ENDLESS = ("-c", "16384", "-n", "0", "--repeat-penalty", "100", "--presence-penalty", "10", "--repeat-last-n", "-1")
"""No token comes twice, and the token that ends an answer is in the prompt: answers go on for thousands of tokens."""

DRAFTING = ("-k", "4", "--drafter", "model")
"""Every round drafts, however busy the machine is. With an automatic k an answer may be decoded plainly."""

STATISTICS = r"[\d.]+ tok/s · (.*×\?? plain · )?accepted .* · α \d\.\d\d · τ \d+\.\d"


def ready(terminal: Terminal) -> str:
    """The chat, once the pair is loaded."""
    return terminal.wait_for("● active")


def tokens(shown: str) -> int:
    """How many tokens the dashboard has counted in this turn."""
    found = re.search(r"so far +(\d+) tokens", shown)
    return int(found[1]) if found else 0


def context(shown: str) -> int:
    """How many tokens the header counts in the context."""
    found = re.search(r"ctx (\d+)/", shown)
    return int(found[1]) if found else 0


def streaming(terminal: Terminal, message: str = "Tell me a story") -> str:
    """The screen in the middle of the answer to this message, once it has begun to show or fills the screen."""
    asked = rf"▌ {message}"
    begun = re.compile(rf"{asked}.*\n.*\n.*F3 view.*\n +\w\S* \S+ \S+(.|\n)*esc Stop")

    def shows(shown: str) -> bool:
        return bool(begun.search(shown)) or ("esc Stop" in shown and not re.search(asked, shown))

    return terminal.wait_until(shows, f"an answer to {message!r}")


def first_row_of_the_answer(terminal: Terminal) -> str:
    """The first row of the answer, at the top of the conversation, once the next row has begun."""
    terminal.keys("C-Home")
    rows = terminal.wait_for(r"coloured · F3 view.*\n +\w.*\n +\w").splitlines()
    head = next(index for index, row in enumerate(rows) if "F3 view" in row)
    return rows[head + 1][:80].strip()


def assert_restored(terminal: Terminal, *, exit_code: int) -> None:
    """Fails unless the program ends with this code, without a word, and leaves the terminal as it was."""
    shown = terminal.wait_for(r"exit code \d+(.|\n)*\nafter")
    before, _, rest = shown.partition(f"before\nexit code {exit_code}\n")
    after, _, _ = rest.partition("\nafter")
    assert before.strip() == after.strip(), "stty -a"
    states = ("alternate_on", "mouse_any_flag", "cursor_flag", "keypad_cursor_flag")
    assert [terminal.state(name) for name in states] == ["0", "0", "1", "0"]


def test_a_question_is_answered_its_statistics_appear_and_a_signal_ends_the_program(specchat: Specchat) -> None:
    terminal = specchat("chat", *DRAFTING)
    ready(terminal)
    terminal.wait_for(r"^.*specchat-guide 18M ⇠ specchat-draft 2M.*ctx 0/")
    terminal.type(QUESTION)
    terminal.wait_for(rf"▌ {re.escape(QUESTION)}(.|\n)*(\d\.\d\d ×|×\?) plain · accepted")
    terminal.wait_for(STATISTICS)
    terminal.wait_until(lambda shown: context(shown) > tokens(shown) > 10, "the context with prompt and answer")
    terminal.type("And why does it help?")
    terminal.wait_until(lambda shown: len(re.findall(STATISTICS, shown)) == 2, "a second answer")
    os.kill(terminal.app(), signal.SIGINT)
    assert_restored(terminal, exit_code=128 + signal.SIGINT)


def test_k_changes_while_an_answer_streams_escape_stops_it_and_the_next_message_works(specchat: Specchat) -> None:
    terminal = specchat("chat", *DRAFTING, *ENDLESS, "-n", "4096")
    ready(terminal)
    terminal.type("Tell me a story")
    before = tokens(streaming(terminal))
    terminal.wait_until(lambda shown: tokens(shown) > before, "more tokens")
    terminal.keys("M-Up", "M-Up")
    terminal.wait_for(r"active · model · k 6")
    assert "esc Stop" in terminal.wait_for(r"\n.*│ k +6 ")
    terminal.keys("Escape")
    terminal.wait_for(r"stopped · [\d.]+ tok/s")
    terminal.keys("F2")
    terminal.wait_for("k +‹ 6")
    terminal.keys(*["Down"] * 7)
    terminal.wait_for("max tokens +‹ 4096")
    terminal.type("60")
    terminal.wait_for("max tokens +‹ 60")
    terminal.keys("Escape")
    terminal.wait_for("F2 Knobs", absent="esc")
    terminal.type(QUESTION)
    terminal.wait_for(rf"max tokens · {STATISTICS}")
    os.kill(terminal.app(), signal.SIGHUP)
    assert_restored(terminal, exit_code=128 + signal.SIGHUP)


def test_killing_the_engine_loses_the_rest_of_one_answer_and_control_c_twice_quits(
    specchat: Specchat,
) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    terminal.keys("F3")
    said = first_row_of_the_answer(terminal)
    os.kill(terminal.engine(), signal.SIGKILL)
    terminal.keys("C-End")
    for words in ("SIGKILL", "the answer broke off", "next message starts the engine again"):
        terminal.wait_for(words)
    terminal.wait_for("! the engine stopped")
    assert first_row_of_the_answer(terminal) == said
    terminal.type("Go on")
    streaming(terminal, "Go on")
    ready(terminal)
    assert terminal.state("alternate_on") == "1"
    engine = terminal.engine()
    terminal.keys("C-c")
    terminal.wait_for("Ctrl\\+C again quits")
    terminal.keys("C-c")
    assert_restored(terminal, exit_code=0)
    with pytest.raises(ProcessLookupError):
        os.kill(engine, 0)
