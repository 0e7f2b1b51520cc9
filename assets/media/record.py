"""Takes the README's pictures: the real app with the real built-in pair, as SVG files beside this script."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Static

from specchat.options import ChatOptions
from specchat.paths import worker_log
from specchat.tui.app import SpecchatApp
from specchat.tui.widgets.answer import Answer
from specchat.worker.client import WorkerClient
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions

HERE = Path(__file__).parent
QUESTIONS = ("What is prompt lookup?", "Tell me a short story about a fox who finds a lamp.")
FONT_FACES = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


async def answered(pilot: Pilot[None], question: str) -> None:
    """Types a question and waits for the line of figures behind its answer. Raises TimeoutError after a minute."""
    before = len(pilot.app.screen.query(Answer))
    await pilot.press(*question, "enter")
    for _ in range(240):
        await asyncio.sleep(0.25)
        answers = pilot.app.screen.query(Answer)
        if len(answers) > before and any(
            str(line.render()) for line in answers.last().query(".figures").results(Static)
        ):
            return
    raise TimeoutError(f"no answer to {question!r} within a minute")


async def record(name: str, size: tuple[int, int], *, trace: bool) -> None:
    """One picture of a chat; with `trace` the last answer shows every drafted token."""
    target, draft = builtin_pair()
    app = SpecchatApp(ChatOptions(target, draft, LoadOptions(), seed=7), WorkerClient(worker_log()))
    async with app.run_test(size=size) as pilot:
        for question in QUESTIONS:
            await answered(pilot, question)
        if trace:
            await pilot.press("f3")
        await pilot.pause(0.5)
        picture = FONT_FACES.sub("", app.export_screenshot(title="specchat"))
    (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(record("chat", (132, 38), trace=True))
    asyncio.run(record("narrow", (80, 24), trace=True))
