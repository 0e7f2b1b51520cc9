"""What the tests of the chat do and look at, in a user's words."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Static

from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.chat.archive import session_to_resume
from specchat.settings.paths import sessions_db
from specchat.tui.app import SpecchatApp
from specchat.tui.appearance import Appearance
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.entries import TranscriptNotice, UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.header import Header
from specchat.tui.widgets.note_bar import NoteBar
from specchat.tui.widgets.prompt import PromptInput

Chat = Pilot[None]


@asynccontextmanager
async def chat(
    client: ScriptedClient,
    size: tuple[int, int] = (140, 40),
    *,
    target: str = "guide.gguf",
    appearance: Appearance | None = None,
    resumes: bool = False,
) -> AsyncIterator[Chat]:
    """The chat with this engine once that is idle; if it `resumes`, with the session that was left last."""
    session = session_to_resume("last", sessions_db()) if resumes else None
    app = SpecchatApp(chat_options(target=Path(target)), client, appearance, session)
    async with app.run_test(size=size) as pilot:
        await quiet(pilot)
        yield pilot


async def quiet(pilot: Chat) -> None:
    """Waits until the engine has nothing to say for now and everything that it said is drawn.

    Raises TimeoutError after ten minutes.
    """
    calm = 0
    async with asyncio.timeout(600):
        while calm < 3:
            await asyncio.sleep(0.05)
            calm = calm + 1 if _idle(pilot.app) else 0
            if calm == 3:  # what was drawn last may have begun something
                await pilot.pause()
                await pilot.pause()
                calm = 3 if _idle(pilot.app) else 0


def _idle(app: object) -> bool:
    if not isinstance(app, SpecchatApp):
        return True
    client, screen = app.client, app.screen
    reads = any(worker.group == "engine" and not worker.is_finished for worker in app.workers)
    if reads and not getattr(client, "busy", True):
        return False  # it is about to begin, or has just ended
    return getattr(client, "idle", True) and (not isinstance(screen, ChatScreen) or screen.link.idle)


async def press(pilot: Chat, *keys: str) -> None:
    await pilot.press(*keys)
    await quiet(pilot)


async def at_rest(pilot: Chat, pause: float = 0.2) -> None:
    """Waits until all that was begun has ended, also what begins after a pause of at most `pause` seconds.

    Raises TimeoutError after ten minutes.
    """
    await pilot.pause(pause)
    async with asyncio.timeout(600):
        await pilot.pause()
        while not (_idle(pilot.app) and all(each.is_finished or each.group == "engine" for each in pilot.app.workers)):
            await pilot.pause()
    await pilot.pause()


async def wait_until(happened: Callable[[], bool]) -> None:
    """Waits for a condition, at most ten minutes: then it raises TimeoutError."""
    async with asyncio.timeout(600):
        while not happened():
            await asyncio.sleep(0.01)


async def ask(pilot: Chat, *texts: str) -> None:
    """Sends messages, one after the other; "Hi" if none is given."""
    for text in texts or ("Hi",):
        await paste(pilot, text)
        await press(pilot, "enter")


async def paste(pilot: Chat, text: str) -> None:
    """Pastes a text into what has the focus: typing waits after each key until the app is idle."""
    pilot.app.post_message(Paste(text))
    await pilot.pause()


def header(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one(Header).render())


def note(pilot: Chat) -> str:
    """The rows of the note, one after the other; empty if there is none."""
    bar = pilot.app.screen.query_one(NoteBar)
    rows = [bar.render_line(y).text.strip() for y in range(bar.size.height)] if bar.display else []
    return " ".join(rows)


def notices(pilot: Chat) -> list[str]:
    return [entry.text for entry in transcript(pilot).entries if isinstance(entry, TranscriptNotice)]


def answer(pilot: Chat) -> TranscriptAnswer:
    return answers(pilot)[-1]


def answers(pilot: Chat) -> list[TranscriptAnswer]:
    return [entry for entry in transcript(pilot).entries if isinstance(entry, TranscriptAnswer)]


def questions(pilot: Chat) -> list[UserMessage]:
    return [entry for entry in transcript(pilot).entries if isinstance(entry, UserMessage)]


def transcript(pilot: Chat) -> Transcript:
    return pilot.app.screen.query_one(Transcript)


def seen(pilot: Chat) -> list[str]:
    """The rows of the transcript that can be seen."""
    found = transcript(pilot)
    return [found.render_line(y).text.rstrip() for y in range(found.size.height)]


def figures(pilot: Chat) -> str:
    return answer(pilot).figures


def prompt(pilot: Chat) -> PromptInput:
    return pilot.app.screen.query_one(PromptInput)


def text_at(pilot: Chat, name: str) -> str:
    """What the widget with this id shows."""
    return str(pilot.app.screen.query_one(f"#{name}", Static).render())


def shown(pilot: Chat) -> list[str]:
    """What the transcript shows, messages and answers."""
    entries = transcript(pilot).entries
    return [entry.raw for entry in entries if isinstance(entry, UserMessage | TranscriptAnswer)]


async def command(pilot: Chat, text: str) -> None:
    """Writes a command and sends it; a space at its end closes what is offered."""
    prompt(pilot).load_text(text)
    prompt(pilot).move_cursor(prompt(pilot).document.end)
    await pilot.pause()
    await press(pilot, "escape", "enter")


def screen(pilot: Chat) -> ChatScreen:
    assert isinstance(pilot.app.screen, ChatScreen)
    return pilot.app.screen
