"""The built-in guide: a question goes to it with the passage that answers it; where it does not know, the docs may."""

from __future__ import annotations

from pathlib import Path

from specchat.chat.mentions import mentions
from specchat.terminal.filter import clean_line
from specchat_assets import is_guide


def with_help(question: str, target: Path) -> tuple[str, str]:
    """A question as this target gets it, and what the answer then quotes: `from the help: the draft model`, or nothing.

    Only the built-in guide gets help, and only where it has a passage for the question.
    """
    if not is_guide(target):
        return question, ""
    from specchat_assets.guide import find, quoting  # not before the first frame: it needs numpy

    passage = find(question)
    return (question, "") if passage is None else (quoting(question, passage), f"from the help: {passage.topic}")


_UNKNOWN = "I do not know "
"""How the guide begins where it does not know."""

_MOST_WORDS = 60


def docs_words(question: str, answer: str, target: Path) -> str:
    """What to search the docs for if this answer is that of the built-in guide to what it does not know.

    Empty for other answers, and if the docs have nothing about the question.
    """
    if not is_guide(target) or not answer.lstrip().startswith(_UNKNOWN):
        return ""
    from specchat.manual.search import ManualSearch, key_words
    from specchat.manual.sections import DESIGN, docs  # most chats need none of this

    for mention in reversed([*mentions(question)]):
        question = question[: mention.start] + question[mention.end :]
    words = clean_line(key_words(question))
    if len(words) > _MOST_WORDS:
        words = words[:_MOST_WORDS].rpartition(" ")[0]
    is_named = any(letter.isalpha() for letter in words)  # a sum is nothing to look up
    return words if is_named and ManualSearch(docs(), aside=DESIGN).find(words, 1) else ""
