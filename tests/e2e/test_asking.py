"""Asking about what is seen, with the real program: a key on the figures and on a token, and a search of the docs."""

from __future__ import annotations

from collections.abc import Callable

from e2e.terminal import Terminal

Specchat = Callable[..., Terminal]


def test_figures_and_tokens_are_explained_with_the_answers_numbers(specchat: Specchat) -> None:
    terminal = specchat("chat", "-k", "3", width=80, height=24)
    terminal.wait_for("● active")
    terminal.type("What is speculative decoding?")
    terminal.wait_for(r"\d+ tok/s · .*τ", absent="esc Stop")
    terminal.keys("F12")
    terminal.wait_for(r"What the figures mean(.|\n)*tokens in \d+ ms of decoding")
    terminal.keys("Down", "Down", "Down")
    terminal.wait_for(r"Of \d+ drafted tokens? that")
    terminal.keys("Enter")
    terminal.wait_for(r"specchat help · .* › Acceptance")
    terminal.keys("Escape")
    terminal.wait_for("What the figures mean", absent="specchat help")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help", absent="What the figures mean")
    terminal.keys("F4")
    terminal.wait_for(r"Inspector(.|\n)*drafted")
    terminal.keys("?")
    terminal.wait_for(r"Round \d+ of \d+(.|\n)*(target|drafted)")


def test_the_help_and_the_docs_are_searched_from_the_keyboard(specchat: Specchat) -> None:
    terminal = specchat("chat", width=80, height=24)
    terminal.wait_for("● active")
    terminal.keys("F1")
    terminal.wait_for("type to search")
    terminal.keys("-l", "own themes keys")
    terminal.wait_for(r"Keys and themes(.|\n)*\d+ found")
    terminal.keys("Enter")
    terminal.wait_for(r"specchat help · .* › Keys and themes(.|\n)*specchat-light")
    terminal.keys("Escape")
    terminal.wait_for(r"\d+ found")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help", absent="found")
    terminal.type("What is the capital of France?")
    terminal.wait_for("F1 searches the docs for “capital France”")
    terminal.keys("F1")
    terminal.wait_for(r"capital France(.|\n)*\d+ found")
