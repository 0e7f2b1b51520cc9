"""What runs beside a chat ends with it, whatever ends the chat."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.processes import is_gone, wait_until

_CHAT = """
import sys
from specchat import background
background.PROGRAM = "import sys, time; open(sys.argv[1], 'w').close(); time.sleep(600)"
for name in sys.argv[1:]:
    print(background.start_quietly([name]).pid, flush=True)
sys.stdin.read()
"""


def test_commands_that_are_running_do_not_outlive_a_chat_that_was_killed(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    chat = subprocess.Popen(
        [sys.executable, "-c", _CHAT, *files],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with chat:
        assert chat.stdout
        commands = [int(chat.stdout.readline()) for _ in files]
        wait_until(lambda: all(file.exists() for file in files))
        assert not any(map(is_gone, commands))
        chat.send_signal(signal.SIGKILL)
        chat.wait()
    wait_until(lambda: all(map(is_gone, commands)))
