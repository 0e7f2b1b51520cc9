"""Takes the screenshots for the documentation: the real program on the built-in pair, as SVG files beside this script.

`record.py NAME...` takes only the named ones. The home folder is an empty temporary folder, so that no personal data
gets into a picture.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.cli.verify import verify
from specchat.engine_process.local_client import LocalClient
from specchat.settings.options import ChatOptions
from specchat.settings.paths import worker_log
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.tool_consent import ToolConsent
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.entries import TranscriptNotice
from specchat.tui.transcript.tool_entry import ToolEntry
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.listing import Listing
from specchat_assets import builtin_pair
from specchat_engine import LoadOptions
from specchat_engine.gguf.reader import read_file
from specchat_engine.llama.mtmd import has_mtmd

HERE = Path(__file__).parent
QUESTIONS = ("What is prompt lookup?", "Write a Python function that counts vowels.")
FONT_FACES = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
WIDE = (132, 38)
NARROW = (100, 30)
CALL = r'"<tool_call>{\"name\": \"time_get_current_time\", \"arguments\": {\"timezone\": \"%s\"}}</tool_call>"'
CALLS = f"root ::= {CALL % 'Asia/Tokyo'} {CALL % 'America/New_York'}"

THINKS = r"""root ::= "<think>\n" [A-Za-z ,.'"]{150,400} ". \n</think>\n\n" answer
answer ::= [^<]+"""

FORMULAS = r"""Repeat this text:

The expected number of tokens is $E = \frac{1-\alpha^{k+1}}{1-\alpha}$, and with the cost of a draft step $c$

$$S = \frac{E}{C(k+1)/C(1) + k \cdot c}$$

is the speed-up. At $\alpha \to 1$ it is $E \to k+1$."""

EXPORTED = {
    "Names for a grey cat": (
        "How shall I call a grey cat?",
        "Ash, Slate, or Smoke.",
        "Something less dark?",
        "Then Pebble: it is light, and easy to call through a garden.",
    ),
    "A regex for dates": ("Which regular expression finds ISO dates?", r"`\d{4}-\d{2}-\d{2}` finds them."),
    "Bread without yeast": ("Can bread rise without yeast?", "Yes: with baking soda and something sour."),
    "Git: undo a commit": (
        "How do I undo my last commit but keep the changes?",
        "`git reset --soft HEAD~1` moves the branch back and keeps your changes staged.",
    ),
    "Trains to Trieste": (
        "How do I get from Vienna to Trieste by train?",
        "Through Villach and Udine, or through Graz and Ljubljana.",
        "Which one has the better view?",
        "The one through Ljubljana, over the Semmering pass.",
    ),
}

Steps = Callable[[Pilot[None]], Awaitable[None]]


async def answered(pilot: Pilot[None], question: str) -> None:
    """Types a question and waits until its answer ends. Raises TimeoutError after two minutes."""
    transcript = pilot.app.screen.query_one(Transcript)

    def ended() -> int:
        return sum(isinstance(entry, TranscriptAnswer) and not entry.live for entry in transcript.entries)

    before = ended()
    await pilot.press(*question, "enter")
    for _ in range(480):
        await asyncio.sleep(0.25)
        if ended() > before:
            await pilot.pause(1)
            return
    raise TimeoutError(f"no answer to {question!r} within two minutes")


async def conversation(pilot: Pilot[None]) -> None:
    """A chat whose last answer shows every drafted token with its outcome."""
    for question in QUESTIONS:
        await answered(pilot, question)
    await pilot.press("f3")


async def inspector(pilot: Pilot[None]) -> None:
    """A rejected token and its alternatives."""
    await conversation(pilot)
    await pilot.press("f4")
    await pilot.pause(1)
    await pilot.press("down")
    others = pilot.app.screen.query_one("#others", Static)
    for _ in range(120):
        await pilot.pause(0.25)
        if "rank" in str(others.render()):
            return
    raise TimeoutError("the inspector showed no alternatives within half a minute")


async def explain(pilot: Pilot[None]) -> None:
    """The explanation of a rejected token."""
    await inspector(pilot)
    await pilot.press("down")
    await pilot.pause(3)
    await pilot.press("question_mark")
    await pilot.pause(0.5)
    names = pilot.app.screen.query_one("#names", Listing)
    tokens = [token.name for token in names.items]
    names.highlighted = next(place for place, name in enumerate(tokens) if name.startswith("○"))
    await pilot.pause(0.5)


async def sessions(pilot: Pilot[None]) -> None:
    """The list of sessions, with a search."""
    for question in (*QUESTIONS, "What is a draft model?"):
        await answered(pilot, question)
        await pilot.press("ctrl+n")
        await pilot.pause(0.5)
    await pilot.press("ctrl+o")
    await pilot.pause(1)
    await pilot.press(*"draft")
    await pilot.pause(1)


async def sampled(pilot: Pilot[None], grammar: str) -> ChatScreen:
    """Waits for the models and makes answers follow a grammar: the built-in target has learned no thoughts or calls."""
    screen = pilot.app.screen
    assert isinstance(screen, ChatScreen)
    while screen.state.settings is None:
        await pilot.pause(0.25)
    sampling = replace(screen.state.settings.sampling, grammar=grammar)
    screen.turns.apply(replace(screen.state.settings, sampling=sampling))
    return screen


async def thinking(pilot: Pilot[None]) -> None:
    """An answer whose thought has folded, above one whose thought is open."""
    await sampled(pilot, THINKS)
    for question in QUESTIONS:
        await answered(pilot, question)
    await pilot.press("tab", "o")


async def writing(pilot: Pilot[None]) -> None:
    """A message that waits for the end of an answer, and another one in vi's normal mode."""
    await pilot.press(*"/vi", "enter", "f5", *QUESTIONS[1], "enter")
    await pilot.pause(2)
    for _ in range(8):
        await pilot.press("f5")
        await pilot.pause(0.2)
    await pilot.press(*"What is a draft model?", "enter", *"And what is a bonus token?", "escape", "b", "b")


def draw_lighthouse(path: Path) -> None:
    """Draws a lighthouse at night, so that no photograph has to be asked for."""
    from PIL import Image, ImageDraw

    width, height = 320, 200
    picture = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(picture)
    for row in range(height):
        draw.line((0, row, width, row), (10 + row // 3, 20 + row // 2, 70 + row // 2))
    draw.rectangle((0, 150, width, height), (8, 40, 66))
    draw.polygon(((118, 48), (320, 5), (320, 80)), (240, 220, 140))
    draw.polygon(((60, 160), (180, 160), (150, 138), (90, 138)), (60, 50, 45))
    draw.polygon(((104, 140), (136, 140), (130, 60), (110, 60)), (235, 235, 230))
    for top in (72, 100, 128):
        draw.rectangle((106, top, 134, top + 9), (200, 60, 50))
    draw.rectangle((108, 42, 132, 60), (255, 240, 170))
    draw.polygon(((104, 42), (136, 42), (120, 28)), (150, 40, 40))
    picture.save(path)


async def images(pilot: Pilot[None]) -> None:
    """A picture in a message. The projector has random weights: the built-in target has never learned to see."""
    os.chdir(os.environ["HOME"])
    draw_lighthouse(Path("lighthouse.png"))
    await sampled(pilot, "")
    await answered(pilot, "What do you see? @lighthouse.png")


async def formulas(pilot: Pilot[None]) -> None:
    """A message with formulas in LaTeX, and the answer that repeats them, with the formulas in Unicode."""
    await sampled(pilot, "")
    await pilot.press(*"/set drafter lookup", "enter")
    for line in FORMULAS.splitlines():
        await pilot.press(*line, "ctrl+j")
    await pilot.press("backspace")
    await answered(pilot, "")


def write_export(path: Path) -> None:
    """Writes conversations as ChatGPT exports them: each is a tree of messages, here without branches."""
    chats = []
    for number, (title, said) in enumerate(EXPORTED.items()):
        nodes = {
            str(place): {
                "parent": str(place - 1) if place else None,
                "message": {
                    "author": {"role": "assistant" if place % 2 else "user"},
                    "content": {"content_type": "text", "parts": [text]},
                },
            }
            for place, text in enumerate(said)
        }
        when = 1_790_000_000 - 200_000 * number
        chats.append({"id": title, "title": title, "create_time": when, "update_time": when, "mapping": nodes})
    path.write_text(json.dumps(chats))


async def imports(pilot: Pilot[None]) -> None:
    """The sessions that were imported from another program."""
    os.chdir(os.environ["HOME"])
    write_export(Path("conversations.json"))
    screen = await sampled(pilot, "")
    await pilot.press(*"/import conversations.json", "enter")
    transcript = screen.query_one(Transcript)
    while not any(isinstance(entry, TranscriptNotice) and "Ctrl+O" in entry.text for entry in transcript.entries):
        await pilot.pause(0.25)
    await pilot.press("ctrl+o")
    await pilot.pause(1)
    await pilot.press(*"#chatgpt")
    await pilot.pause(1)


async def tools(pilot: Pilot[None]) -> None:
    """A call that was made, and the question before the next one.

    The built-in target has learned no tools: a grammar makes it call one.
    """
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "specchat"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        '[tools.time]\ncommand = ["mcp-server-time", "--local-timezone", "Europe/Rome"]\n'
    )
    screen = await sampled(pilot, CALLS)
    screen.tools.use("time", on=True)
    while screen.tools.running:
        await pilot.pause(0.1)
    await pilot.press(*"What time is it in Tokyo and in New York?", "enter")
    for verdict in ("y", ""):
        while not (isinstance(pilot.app.screen, ToolConsent) and pilot.app.screen.accepts):
            await pilot.pause(0.25)
        await pilot.pause(0.5)
        await pilot.press(*filter(None, [verdict]))
        await pilot.pause(0.5)
    next(entry for entry in screen.view.transcript.entries if isinstance(entry, ToolEntry)).toggle()


async def beside(pilot: Pilot[None]) -> None:
    """Two conversations side by side; the left one is active."""
    await answered(pilot, QUESTIONS[1])
    await pilot.press("ctrl+n")
    await answered(pilot, QUESTIONS[0])
    await pilot.press(*"/beside", "enter")
    await pilot.pause(1)
    await pilot.press("f3")


def pressing(key: str, seconds: float) -> Steps:
    """Steps that press a key in a conversation and wait for this many seconds."""

    async def steps(pilot: Pilot[None]) -> None:
        await conversation(pilot)
        await pilot.press(key)
        await pilot.pause(seconds)

    return steps


def options() -> ChatOptions:
    """The built-in pair without any configuration, with a fixed seed."""
    target, draft = builtin_pair()
    return ChatOptions(target, draft, LoadOptions(), seed=15)


async def record(name: str, size: tuple[int, int], steps: Steps) -> None:
    """Saves a picture of the app after these steps."""
    chosen = options()
    if name == "images":
        from support.vision_models import write_projector  # run it with PYTHONPATH=tests

        projector = write_projector(Path(os.environ["HOME"]) / "mmproj.gguf", width=read_file(chosen.target).width)
        chosen = replace(chosen, options=LoadOptions(mmproj=str(projector)))
    app = SpecchatApp(chosen, LocalClient(worker_log()))
    async with app.run_test(size=size) as pilot:
        await steps(pilot)
        await pilot.pause(0.5)
        save(name, app.export_screenshot(title="specchat"))


def record_verify(name: str, prompts: int) -> None:
    """Saves a picture of a run of `specchat verify`. Raises RuntimeError if the run fails."""
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
    """Writes a picture without references to web fonts."""
    (HERE / f"{name}.svg").write_text(FONT_FACES.sub("", picture), encoding="utf-8")


SCREENS: dict[str, tuple[tuple[int, int], Steps]] = {
    "chat": (WIDE, conversation),
    "inspector": (WIDE, inspector),
    "explain": (WIDE, explain),
    "sessions": (WIDE, sessions),
    "beside": (WIDE, beside),
    "statistics": (WIDE, pressing("f7", 2)),
    "thinking": (NARROW, thinking),
    "tools": (NARROW, tools),
    "images": (NARROW, images),
    "formulas": (NARROW, formulas),
    "imports": ((100, 24), imports),
    "writing": (NARROW, writing),
    "race": (WIDE, pressing("f6", 12)),
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[variable] = home
        drawn = [name for name in SCREENS if name != "images" or has_mtmd()]
        wanted = sys.argv[1:] or [*drawn, "verify"]
        for screen in [name for name in wanted if name in SCREENS]:
            asyncio.run(record(screen, *SCREENS[screen]))
        if "verify" in wanted:
            record_verify("verify", prompts=1)
