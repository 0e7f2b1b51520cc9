"""`specchat train answers`: has the target answer prompts, for drafts and heads to learn from its own words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

from specchat.cli.messages import say
from specchat.cli.train_progress import ProgressLine
from specchat.settings.options import ChatOptions
from specchat_engine import Message, SettingError
from specchat_engine.codec import to_json
from specchat_engine.threads.processors import read_processors
from specchat_engine.training.answers import AnswerWriter
from specchat_engine.training.texts import Chat, Text

OWN = "own"
"""The name of data that are questions which the target makes up."""

MAX_TOKENS = 512
"""The default length of answers, in tokens."""

_LONGEST = 1024
"""The tokens of a question and its answer at most."""

_QUESTIONS = 128
"""How many questions the target makes up at a time."""


def answer(options: ChatOptions, texts: Sequence[Text] | None, out: Path, minutes: float) -> int:
    """Writes a line for each prompt: the messages and the answer. Goes on after the lines that are there already.

    Without `texts` the target makes up questions until the time is over. Raises SettingError if there is no prompt,
    EngineError if the target cannot be loaded or an answer fails.
    """
    given = None if texts is None else prompts(texts)
    if given == []:
        raise SettingError("there is no prompt in the data: give a prompt on each line of a text file, or chats")
    done = len(out.read_text("utf-8").splitlines()) if out.exists() else 0
    end, count = monotonic() + 60 * minutes, done
    of = f" of {len(given)}" if given else ""
    line = ProgressLine()
    writer = AnswerWriter(options.target, longest=_LONGEST, threads=read_processors().usual)
    try:
        with out.open("a", encoding="utf-8") as file:
            params, limit = options.sampled(writer.recommended), options.chosen.get("max_tokens") or MAX_TOKENS
            system = (Message("system", options.system),) if options.system else ()
            for batch in _rounds(writer, given, done):
                answers = writer.answers(([*system, *messages] for messages in batch), params, limit, count)
                for messages in batch:
                    if monotonic() > end or (text := next(answers, None)) is None:
                        break
                    conversation = [*messages, Message("assistant", text)]
                    file.write(json.dumps({"messages": to_json(conversation)}, ensure_ascii=False) + "\n")
                    file.flush()
                    count += 1
                    line.show(f"{count}{of} answers")
                if monotonic() > end:
                    break
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
    finally:
        line.clear()
        writer.close()
    print(f"{out}  {count}{of} answers")  # noqa: T201
    return 0


def _rounds(
    writer: AnswerWriter, given: Sequence[tuple[Message, ...]] | None, done: int
) -> Iterator[list[tuple[Message, ...]]]:
    """What to ask, after the first `done` of what is given; without that, ever more questions of the target's own."""
    if given is not None:
        yield [*given[done:]]
        return
    while questions := writer.questions(_QUESTIONS, done * _QUESTIONS):
        yield [(Message("user", question),) for question in questions]
        done += len(questions)


def prompts(texts: Sequence[Text]) -> list[tuple[Message, ...]]:
    """What to ask: the first question of each chat with what stands before it, and each line of a plain text."""
    conversations: list[tuple[Message, ...]] = []
    for text in texts:
        if isinstance(text, Chat):
            conversations.append(text.asked)
        else:
            conversations += [(Message("user", line.strip()),) for line in text.splitlines() if line.strip()]
    return conversations
