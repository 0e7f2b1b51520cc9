"""Qwen Code: an answer, and a command that it runs for the model."""

import json
import os
from pathlib import Path

from tries import API, DONE, answered, noted, run, tried


def qwen(prompt: str) -> dict:
    """The last event of an answer."""
    server = ("--auth-type", "openai", "--openai-base-url", API, "--openai-api-key", "none", "-m", "any")
    return json.loads(run("qwen", *server, "--yolo", "-o", "json", prompt))[-1]


# Reading its instructions of 15,000 tokens may take a CPU longer than it waits by default, and a small model may repeat
# itself until its context is full.
os.environ |= {"QWEN_STREAM_IDLE_TIMEOUT_MS": "0", "QWEN_CODE_API_TIMEOUT_MS": "0"}
os.environ["QWEN_CODE_MAX_OUTPUT_TOKENS"] = "500"
settings = Path.home() / ".qwen" / "settings.json"
settings.parent.mkdir()
settings.write_text(json.dumps({"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}))
hello = qwen("Say hello.")
answered("answer", hello["result"])
tried("usage", hello["usage"]["output_tokens"] > 0, hello["usage"])
answered("result of a command", qwen("Use run_shell_command to write noon into notes.txt.")["result"], DONE)
noted()
