"""The engine's process: what starts it, what ends it, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.engine_process.conftest import ENDLESS, HELLO, OPTIONS, answer, last_of, process_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.process import EngineProcess
from specchat.engine_process.protocol import Ended, Event, Generate, Load, Recall, TaskFailed
from specchat.pipes import encode
from specchat_engine import LoadOptions
from support.tiny_models import TinyModels


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_library_for_matrices_keeps_cores_busy_while_the_engine_starts(fresh: LocalClient, tmp_path: Path) -> None:
    assert last_of(TaskFailed, fresh.load(tmp_path / "no-model.gguf", None, OPTIONS))
    # One thread works, and one reads commands.
    assert len(list(Path(f"/proc/{process_of(fresh).pid}/task").iterdir())) == 2


def test_a_crash_in_native_code_is_reported_with_the_last_line_of_its_log(fresh: LocalClient, tmp_path: Path) -> None:
    # An interpreter hook stands in for llama.cpp: it writes an assertion to descriptor 1 and aborts.
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'specchat.engine_process' in sys.orig_argv:\n"
        "    os.write(2, b'/build/a.cpp:1: GGML_ASSERT(x) failed\\n')\n"
        "    os.abort()\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(hook), os.environ.get("PYTHONPATH", "")]))
        last = last_of(TaskFailed, fresh.load(tmp_path / "any.gguf", None, OPTIONS))
    assert last.died
    assert "SIGABRT" in last.message
    assert last.message.endswith(f"a.cpp:1: GGML_ASSERT(x) failed; it was loading {tmp_path / 'any.gguf'}")


def test_closing_ends_a_running_answer_and_leaves_no_process(own: LocalClient) -> None:
    process = process_of(own)
    events: list[Event] = []
    running = threading.Event()

    def listen() -> None:
        for event in answer(own, ENDLESS):
            events.append(event)
            running.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert running.wait(600)
    own.close()
    thread.join(600)
    assert not thread.is_alive()
    assert process.returncode is not None
    assert isinstance(events[-1], Ended | TaskFailed)
    assert list(answer(own))[-1] == TaskFailed(
        "the engine's process cannot be started: the engine was closed", died=True
    )


def test_a_process_that_stopped_obeying_is_ended_by_force(own: LocalClient) -> None:
    process = process_of(own)
    process.send_signal(signal.SIGSTOP)
    own.close()
    assert process.returncode == -signal.SIGKILL


def test_a_process_that_reads_nothing_any_more_is_ended_although_somebody_writes_to_it(tmp_path: Path) -> None:
    process = EngineProcess(tmp_path / "log", patience_s=0.5)
    process.child.send_signal(signal.SIGSTOP)
    writer = threading.Thread(target=process.write, args=(Recall("more than a pipe holds" * 10_000),))
    writer.start()
    writer.join(0.2)
    process.end()
    writer.join(600)
    assert not writer.is_alive()
    process.death()
    assert process.child.returncode == -signal.SIGKILL


def test_ctrl_c_on_the_terminal_does_not_end_the_process(loaded: LocalClient) -> None:
    process_of(loaded).send_signal(signal.SIGINT)
    assert last_of(Ended, answer(loaded))


def test_the_process_ends_by_itself_when_the_application_is_gone(tiny_models: TinyModels) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "specchat.engine_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    load = Load(str(tiny_models.target), None, LoadOptions(threads=1))
    ask = Generate(HELLO, seed=1, settings=ENDLESS)
    assert process.stdin is not None
    process.stdin.write(encode(load, 1) + encode(ask, 2))
    process.communicate(timeout=600)
    assert process.returncode == 0


def test_the_client_keeps_the_engine_out_of_its_own_process(tmp_path: Path, tiny_models: TinyModels) -> None:
    code = (
        "import sys; from pathlib import Path; from specchat.engine_process.local_client import LocalClient;"
        "from specchat_engine import LoadOptions, Settings; client = LocalClient(Path(sys.argv[1]));"
        "events = list(client.load(Path(sys.argv[2]), None, LoadOptions(threads=1))); client.close();"
        "print(type(events[-1]).__name__, *{'numpy', 'llama_cpp', 'jinja2'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log"), str(tiny_models.target)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == ["Loaded"]
