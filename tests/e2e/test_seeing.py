"""Speculation made visible with the real engine: step mode, race, verify and replay; and the answers of a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2

from e2e.terminal import SPECCHAT, Terminal
from specchat.settings.server import Serving
from support.sample_traces import encoded, sample_trace
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

Specchat = Callable[..., Terminal]

QUESTION = "What is speculative decoding?"


def test_an_answer_can_be_stepped_raced_and_verified(specchat: Specchat) -> None:
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
    terminal.wait_for(r"\d+ tok/s · .*τ", absent="esc Stop")
    terminal.keys("F6")
    terminal.wait_for("plain +0:.*speculative +0:")
    terminal.keys("End")
    terminal.wait_for("✓ texts equal")
    terminal.keys("Escape")
    terminal.wait_for("F1 Help")
    terminal.type("/verify ")
    terminal.wait_for(r"all \d+ tokens are equal")


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
