"""What `specchat` imports until the chat stands on the screen: each module makes everybody wait."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

LIBRARIES = {
    "hashlib",
    "httpx2",
    "huggingface_hub",
    "jinja2",
    "llama_cpp",
    "markdown_it",
    "numpy",
    "pydantic",
    "pydantic_settings",
    "pygments",
    "sqlite3",
    "statistics",
    "torch",
    "typer",
    "zipfile",
}
ROOMS = {
    "specchat.chat.turn",
    "specchat.chat.exporting",
    "specchat.settings.config_sources",
    "specchat.models.finding",
    "specchat.models.library",
    "specchat.plain",
    "specchat.store.store",
    "specchat.traces.reading",
    "specchat.traces.trace",
    "specchat.tui.transcript.markdown",
    "specchat.tui.panes.pane",
    "specchat.tui.play",
    "specchat.tui.tour",
    "specchat.tui.widgets.load_knobs",
    "specchat.tui.screens.playing",
    "specchat_engine.engine",
    "specchat_engine.gguf",
}
WINDOWS = ("first_run", "help", "inspector", "models", "race", "replay", "sessions", "statistics", "verify", "windows")
_PROGRAM = """
import os
import sys

from textual.drivers.linux_driver import LinuxDriver

def write(driver, data, write=LinuxDriver.write):
    write(driver, data)
    if "Ask something" in data and not os.path.exists({found!r}):
        with open({found!r}, "w") as file:
            file.write(" ".join(sys.modules))
        driver._app.exit()

LinuxDriver.write = write
from specchat.cli import main
sys.exit(main([]))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules behind the first frame of the real program, in a terminal of its own."""
    folder = tmp_path_factory.mktemp("home")
    mark = folder / ".local" / "share" / "specchat" / "welcomed"
    mark.parent.mkdir(parents=True)
    mark.touch()
    found = folder / "modules"
    leader, follower = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SPECCHAT_"))}
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(mark.parents[1])}
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(found=str(found))],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm-256color", "COLORFGBG": "15;0"},
        start_new_session=True,
    )
    os.close(follower)
    try:
        while os.read(leader, 65536):
            pass
    except OSError:
        pass  # the program has left its terminal
    finally:
        os.close(leader)
        program.wait(30)
    return set(found.read_text().split())


def test_the_first_frame_waits_for_no_library_that_it_does_not_draw_with(loaded: set[str]) -> None:
    assert "textual" in loaded
    assert not LIBRARIES & loaded


def test_the_first_frame_waits_for_nothing_that_a_key_or_a_command_opens(loaded: set[str]) -> None:
    assert "specchat.tui.screens.chat" in loaded
    assert not (ROOMS | {f"specchat.tui.screens.{window}" for window in WINDOWS}) & loaded
