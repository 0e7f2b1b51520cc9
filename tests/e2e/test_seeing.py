"""Speculation made visible with the real engine: step mode, race, verify, explanations, the inspector and replay; and
the answers of a server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2

from e2e.terminal import SPECCHAT, Terminal
from e2e.test_chat import STATISTICS
from specchat.settings.server import Serving
from support.sample_traces import encoded, sample_trace
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

Specchat = Callable[..., Terminal]

QUESTION = "What is speculative decoding?"


def test_in_a_small_terminal_an_answer_is_stepped_raced_verified_and_explained(specchat: Specchat) -> None:
    terminal = specchat("chat", "-k", "3", width=80, height=24)
    terminal.wait_for("● active")
    terminal.keys("F5")
    terminal.wait_for("the next answer waits")
    terminal.type(QUESTION)
    terminal.wait_for("frozen after round 0")
    terminal.keys("F5")
    terminal.wait_for("frozen after round 1")
    terminal.keys("Space")
    terminal.wait_for("frozen after round 2")
    terminal.keys("Enter")
    below = r"(.|\n)*tok/s .*×\?? plain +acc (.|\n)*Ask something(.|\n)*[Ff]2"
    rows = terminal.wait_for(STATISTICS + below, absent="esc Stop").splitlines()
    assert rows[0].lstrip().startswith("specchat-guide 18M")
    assert max(len(row) for row in rows) <= 80
    assert len(rows) <= 24
    terminal.keys("F6")
    terminal.wait_for("plain +0:.*speculative +0:")
    terminal.keys("End")
    terminal.wait_for("✓ texts equal")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help")
    terminal.type("/verify ")
    terminal.wait_for(r"all \d+ tokens are equal")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help", absent="tokens are equal")
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
    terminal.keys("Escape")
    terminal.wait_for("Inspector", absent=r"Round \d+ of \d+(.|\n)*(target|drafted)")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help", absent="Inspector")
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


def test_a_trace_is_replayed_without_a_model(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "cat.jsonl"
    file.write_text("".join(encoded(sample_trace(question="Which cat?"))))
    terminal = Terminal((*SPECCHAT, "replay", str(file), "--tui"), environment, 80, 24)
    try:
        terminal.wait_for(r"replay .*cat.jsonl(.|\n)*▌ Which cat\?")
        terminal.keys("End")
        terminal.wait_for(r"The cat sat on the red(.|\n)*round 4 of 4")
        terminal.keys("q")
        terminal.wait_for("exit code 0")
    finally:
        terminal.close()


def test_the_answers_of_a_server_are_watched(environment: dict[str, str]) -> None:
    with on_loopback(scripted_app(ScriptedEngine(), Serving(watch="on"))) as url:
        terminal = Terminal((*SPECCHAT, "chat", "--attach", url), environment, 80, 24)
        try:
            terminal.wait_for(r"watching 127\.0\.0\.1:\d+ +target ⇠ draft(.|\n)*nothing runs now")
            asked = {"messages": [{"role": "user", "content": "Who is there?"}]}
            httpx2.post(f"{url}/v1/chat/completions", json=asked, trust_env=False).raise_for_status()
            terminal.wait_for(r"▌ Who is there\?(.|\n)*Hello world(.|\n)*accepted 50 %")
            terminal.keys("C-q")
            terminal.wait_for("exit code 0")
        finally:
            terminal.close()
