"""Takes the pictures of the documents: the real program with the real built-in pair, as SVG files beside this script.

`record.py NAME...` takes some of them alone.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.cli.verify import verify
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


def options() -> ChatOptions:
    """The built-in pair as it is without any configuration, with a fixed seed."""
    target, draft = builtin_pair()
    return ChatOptions(target, draft, LoadOptions(), seed=7)


async def record_chat(name: str, size: tuple[int, int]) -> None:
    """One picture of a chat whose last answer shows every drafted token, of all fates, since k is fixed."""
    app = SpecchatApp(replace(options(), k=4, drafter="model"), WorkerClient(worker_log()))
    async with app.run_test(size=size) as pilot:
        for question in QUESTIONS:
            await answered(pilot, question)
        await pilot.press("f3")
        await pilot.pause(0.5)
        save(name, app.export_screenshot(title="specchat"))


def record_verify(name: str, prompts: int) -> None:
    """One picture of a run of `specchat verify`. Raises RuntimeError where it finds what must not be in a picture."""
    shown = StringIO()
    with redirect_stdout(shown):
        failed = verify(replace(options(), seed=None), (), prompts, as_json=False)
    if failed:
        raise RuntimeError(f"specchat verify ended with {failed}:\n{shown.getvalue()}")
    console = Console(record=True, width=100, file=StringIO())
    console.print(Text.assemble(("$ ", "dim"), (f"specchat verify --prompts {prompts}", "bold"), "\n"))
    console.print(Text(shown.getvalue().rstrip()))
    save(name, console.export_svg(title="specchat verify", clear=False))


def save(name: str, picture: str) -> None:
    """Writes a picture, without the fonts that a viewer would load from elsewhere."""
    (HERE / f"{name}.svg").write_text(FONT_FACES.sub("", picture), encoding="utf-8")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["chat", "narrow", "verify"]
    if "chat" in wanted:
        asyncio.run(record_chat("chat", (132, 38)))
    if "narrow" in wanted:
        asyncio.run(record_chat("narrow", (80, 24)))
    if "verify" in wanted:
        record_verify("verify", prompts=1)
