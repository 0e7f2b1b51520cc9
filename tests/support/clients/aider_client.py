"""aider: edits a file."""

from pathlib import Path

from tries import API, SCRIPTED, run, tried

QUIET = ("--no-git", "--yes-always", "--no-check-update", "--no-show-release-notes", "--analytics-disable")

greeting = Path("greeting.txt")
for streams in ("--no-stream", "--stream"):
    greeting.write_text("Good morning\n")
    prompt = "In greeting.txt, replace the word morning."
    server = ("--model", "openai/any", "--openai-api-base", API, "--openai-api-key", "none", "--no-show-model-warnings")
    said = run("aider", *server, *QUIET, streams, "--message", prompt, "greeting.txt")
    what = "edit" if streams == "--no-stream" else "edit by a stream"
    tried(what, greeting.read_text() == "Good noon\n" if SCRIPTED else "Tokens:" in said, said[-300:])
tried("usage", "Tokens:" in said, said)
