"""`specchat train answers`: has the target answer prompts, for drafts and heads to learn from its own words."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from specchat.cli.reporting import say, show_progress
from specchat.settings.options import ChatOptions
from specchat_engine import Engine, Message, SettingError
from specchat_engine.codec import to_json
from specchat_engine.training.texts import Chat, Text

MAX_TOKENS = 512
"""The default length of answers, in tokens."""


def answer(options: ChatOptions, texts: Sequence[Text], out: Path, minutes: float) -> int:
    """Writes a line for each prompt: the messages and the answer. Goes on after the lines that are there already.

    Raises SettingError if there is no prompt, EngineError if the target cannot be loaded or an answer fails.
    """
    asked = prompts(texts)
    if not asked:
        raise SettingError("there is no prompt in the data: give a prompt on each line of a text file, or chats")
    done = len(out.read_text("utf-8").splitlines()) if out.exists() else 0
    end = monotonic() + 60 * minutes
    tokens, count, began = 0, done, monotonic()
    with Engine.load(options.target, options.draft, options.options) as engine, out.open("a", encoding="utf-8") as file:
        settings = replace(options, max_tokens=options.max_tokens or MAX_TOKENS).settings(
            engine.recommended, engine.drafters
        )
        try:
            for number, messages in enumerate(asked[done:], done):
                if monotonic() > end:
                    break
                session = engine.session(options.system, settings, number if options.seed is None else options.seed)
                for _ in session.answer(messages, turn=0):
                    pass
                tokens += session.stats.num_tokens
                said = [*messages, Message("assistant", session.text)]
                file.write(json.dumps({"messages": to_json(said)}, ensure_ascii=False) + "\n")
                file.flush()
                count = number + 1
                speed = tokens / (monotonic() - began)
                show_progress(sys.stderr, f"{count} of {len(asked)} answers  {speed:.0f} tokens/s")
        except KeyboardInterrupt:
            say("stopped; the same command goes on from here")
        finally:
            show_progress(sys.stderr, "")
    print(f"{out}  {count} of {len(asked)} answers")  # noqa: T201
    return 0


def prompts(texts: Sequence[Text]) -> list[tuple[Message, ...]]:
    """What to ask: the first question of each chat with what stands before it, and each line of a plain text."""
    found: list[tuple[Message, ...]] = []
    for text in texts:
        if isinstance(text, Chat):
            found.append(text.asked)
        else:
            found += [(Message("user", line.strip()),) for line in text.splitlines() if line.strip()]
    return found
