"""Measures the CPU time of a frame of a streaming answer, by the number of messages before it.

Prints a line for each view and number of messages: milliseconds of CPU time per frame, drawing included, in a
headless terminal of 140 × 40. `PYTHONPATH=tests python -m benchmarks.transcript_cost`.
"""

from __future__ import annotations

import argparse
import asyncio
import time

from textual.app import App, ComposeResult

from app.tui.scripted_client import script
from specchat.tui.appearance import DARK, DARK_NAME
from specchat.tui.transcript.answer import Answer, View
from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat_engine.decoding.rounds import Round

ROUND = " one two~ three~/ four/> five"
FRAMES_A_SECOND = 60
TOKENS_A_ROUND = 3


class Stage(App[None]):
    """An app with nothing but a transcript."""

    def __init__(self) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = DARK_NAME

    def compose(self) -> ComposeResult:
        """The transcript."""
        yield Transcript()


def frame(number: int, tokens: int) -> list[Round]:
    """The rounds of this many tokens, with a paragraph break now and then."""
    rounds = script("|".join([ROUND] * (tokens // TOKENS_A_ROUND)))
    return rounds + script(">.\n\n") if number % 10 == 9 else rounds


async def measure(view: View, earlier: int, frames: int, tokens: int) -> float:
    """Milliseconds of the app's thread per frame."""
    app = Stage()
    async with app.run_test(size=(140, 40)) as pilot:
        transcript = app.query_one(Transcript)
        for number in range(earlier // 2):
            transcript.add(UserMessage(f"Question {number}"))
            answer = Answer("guide")
            transcript.add(answer)
            answer.append(script(ROUND))
            answer.finish("10 tok/s")
        answer = Answer("guide", view)
        transcript.add(answer, follow=True)
        await pilot.pause()
        spent = 0.0
        for number in range(frames):
            rounds = frame(number, tokens)
            begun = time.thread_time()
            answer.append(rounds)
            await asyncio.sleep(1 / FRAMES_A_SECOND)
            spent += time.thread_time() - begun
        return spent * 1000 / frames


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--earlier", type=int, nargs="+", default=[1, 100, 1000], help="messages before the answer")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=17, help="tokens per frame; 17 are 1,000 per second")
    arguments = parser.parse_args()
    for view in View:
        for earlier in arguments.earlier:
            cost = asyncio.run(measure(view, earlier, arguments.frames, arguments.tokens))
            print(f"{view.value:9} {earlier:5} messages  {cost:6.2f} ms per frame", flush=True)


if __name__ == "__main__":
    main()
