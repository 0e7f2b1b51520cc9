"""A session as Markdown: the messages with their roles, and the figures of each answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from specchat.models.formatting import recorded_pair, recorded_target
from specchat.terminal.filter import clean, clean_line
from specchat.traces.exports.document import Document

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
_NEXT = "what follows"
_NAMES = {"user": "You", "system": "System"}


def markdown(document: Document) -> str:
    """The session as Markdown. Answers are Markdown themselves; other messages are put into fences unchanged."""
    answered_by = recorded_target(document.traces[-1].start) if document.traces else ""
    parts = [f"# {_escaped(document.title)}", *_models(document)]
    for role, content, figures in document.messages:
        answer = role == "assistant"
        name = (answered_by or "Assistant") if answer else _NAMES.get(role, clean_line(role).capitalize())
        parts += [f"## {_escaped(name)}", _answer(content) if answer else fenced(content)]
        if figures:
            parts.append(f"`{clean_line(figures).replace('`', chr(39))}`")
    return "\n\n".join(parts) + "\n"


def fenced(text: str) -> str:
    """A text in a fence that no line of the text closes."""
    safe = clean(text).removesuffix("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", safe)), default=0))
    return f"{fence}text\n{safe}\n{fence}"


def _answer(content: str) -> str:
    """Markdown unchanged, or in a fence if something left open in it would swallow the text after it."""
    safe = clean(content).strip("\n")
    return safe if _ends_by_itself(safe) else fenced(safe)


def _ends_by_itself(text: str) -> bool:
    """True if the text leaves no fence, comment or HTML block open, so that a paragraph after it is one."""
    tokens = MarkdownIt("commonmark").parse(f"{text}\n\n{_NEXT}")
    return bool(text.strip()) and [token.level for token in tokens[-3:]] == [0, 1, 0] and tokens[-2].content == _NEXT


def _models(document: Document) -> Iterator[str]:
    """The names of all pairs that answered, each once."""
    pairs = dict.fromkeys(recorded_pair(trace.start) for trace in document.traces)
    if names := ", ".join(pair for pair in pairs if pair):
        yield _escaped(names)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean_line(text))
