"""Codex: an answer, and a command that it runs for the model, through OpenAI's responses."""

import json

from tries import API, DONE, answered, noted, run, tried

PROVIDER = f'{{name="local", base_url="{API}", wire_api="responses", env_key="OPENAI_API_KEY"}}'
SETTINGS = {
    "model_provider": '"local"',
    "model_providers.local": PROVIDER,
    "check_for_update_on_startup": "false",
    "analytics.enabled": "false",
}
WORDS = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]


def codex(prompt: str) -> list[dict]:
    """The events of an answer."""
    how = ("--skip-git-repo-check", "--json", "-s", "danger-full-access", "-m", "any")
    return [json.loads(line) for line in run("codex", "exec", *how, *WORDS, prompt).splitlines()]


def text_in(events: list[dict]) -> str:
    """The last message of the model."""
    return [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"][-1]


events = codex("Say hello.")
answered("answer", text_in(events))
tried("usage", events[-1]["usage"]["output_tokens"] > 0, events[-1])
answered("result of a command", text_in(codex("Use exec_command to write noon into notes.txt.")), DONE)
noted()
