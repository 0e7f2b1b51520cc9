"""opencode: an answer, and a command that it runs for the model."""

import json
from pathlib import Path

from tries import API, DONE, answered, noted, run, tried

PROVIDER = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": API}, "models": {"any": {}}}
SETTINGS = {"provider": {"local": PROVIDER}, "autoupdate": False, "share": "disabled", "model": "local/any"}


def opencode(prompt: str) -> list[dict]:
    """The events of an answer."""
    quiet = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    said = run("opencode", "run", "--format", "json", "--auto", prompt, **quiet)
    return [json.loads(line) for line in said.splitlines()]


def text_in(events: list[dict]) -> str:
    """The last text of the model, empty if it wrote none: a real one may end after the result of a call."""
    return next((event["part"]["text"] for event in reversed(events) if event["type"] == "text"), "")


Path("opencode.json").write_text(json.dumps(SETTINGS))
events = opencode("Say hello.")
answered("answer", text_in(events))
tried("usage", events[-1]["part"]["tokens"]["output"] > 0, events[-1])
answered("result of a command", text_in(opencode("Use bash to write noon into notes.txt.")), DONE)
noted()
