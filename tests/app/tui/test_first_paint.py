"""What the chat does not import before its first frame: each heavy library would make everybody wait."""

import subprocess
import sys

HEAVY = {"httpx2", "huggingface_hub", "jinja2", "llama_cpp", "numpy", "pydantic", "starlette", "torch", "uvicorn"}
UNUSED = {"specchat.tui.widgets.vi"}
"""What only those who turn it on pay for."""


def test_the_first_frame_waits_for_no_heavy_library() -> None:
    modules = "specchat.cli.chat, specchat.cli.remote, specchat.tui.app"
    code = f"import {modules}, sys; print(*sorted({HEAVY | UNUSED!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
