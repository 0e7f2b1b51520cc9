"""What the formats of an export share: the contents, the lines of figures, and the colours.

The colours are the palette as a style sheet for light and dark pages, with a shape for each ink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specchat.stats.line import statistics_line, with_ending
from specchat.store.images import hashes_in
from specchat.terminal.fences import fenced
from specchat.terminal.filter import clean
from specchat.terminal.palette import LOOKS, ON_LIGHT, Look
from specchat.terminal.pieces import Ink
from specchat.traces.trace import Trace
from specchat_assets.quoted import question_in
from specchat_engine.decoding.rounds import Outcome, TokenKind
from specchat_engine.errors import SettingError
from specchat_engine.prompt.messages import Message

SaidMessage = tuple[str, str, str]
"""Role, content and a line of figures, which may be empty."""


@dataclass(frozen=True, slots=True)
class Document:
    """A session with a title on one line."""

    title: str
    messages: tuple[SaidMessage, ...]
    traces: tuple[Trace, ...]


def figures_of(trace: Trace) -> str:
    """The statistics of the turn in one line, after how it ended if it did not end by itself."""
    return with_ending(trace.reason, statistics_line(trace.stats, trace.start))


def conversation(traces: Sequence[Trace]) -> list[SaidMessage]:
    """The messages of recorded turns, each answer with its figures. Repeated messages appear once."""
    transcript: list[SaidMessage] = []
    for trace in traces:
        messages = trace.start["messages"]
        sent = [_role_and_content(message) for message in messages]
        goes_on = len(transcript) <= len(sent) and all(
            message.get("tool_calls") or known[:2] == turn
            for known, turn, message in zip(transcript, sent, messages, strict=False)
        )
        begin = len(transcript) if goes_on else 0
        for index, turn in enumerate(sent[:begin]):
            transcript[index] = (*turn, transcript[index][2])  # an answer that is sent again has its calls apart
        transcript += [(*turn, "") for turn in sent[begin:]]
        transcript.append(("assistant", trace.text, figures_of(trace)))
    return transcript


def _role_and_content(message: Mapping[str, Any]) -> tuple[str, str]:
    """Role and content of a message in a trace, which may come from anyone."""
    try:
        role, content = with_calls(Message.of(message))
    except SettingError:
        role, content = message["role"], message["content"]
    content = question_in(content) if role == "user" else content
    return role, with_images(content, map(short_name, hashes_in(message)))


def with_images(content: str, names: Iterable[str]) -> str:
    """The text of a message after a line that names each of its images."""
    return "\n".join([*(f"[image {name}]" for name in names), content])


def short_name(sha256: str) -> str:
    """What stands for an image whose name is not known: the beginning of its hash."""
    return sha256[:12]


def with_calls(message: Message) -> tuple[str, str]:
    """Who says something, or what it is the result of; and the text with the calls of an answer, as Markdown."""
    if message.role == "tool":
        return f"result of {message.name or 'a call'}", message.content
    calls = (f"Calls `{call.name}` with:\n\n{fenced(clean(call.arguments), 'json')}" for call in message.tool_calls)
    return message.role, "\n\n".join(part for part in (message.content, *calls) if part)


FOLDED = "⋯"
FOLD = "fold"
"""The class of a sign for several tokens, which is not struck through, to keep it visible."""

_DARK = {
    "page": "#14171c",
    "panel": "#1d2229",
    "line": "#343b46",
    "text": "#d7dae0",
    "strong": "#ffffff",
    "quiet": "#98a1ae",
}
_LIGHT = {
    "page": "#fbfbfa",
    "panel": "#f0f1f3",
    "line": "#c9ced6",
    "text": "#1f2328",
    "strong": "#000000",
    "quiet": "#59616b",
}
_OUTCOMES = {outcome.value for outcome in Outcome}
_SHAPES = {
    "bold": "font-weight: 700",
    "underline": "text-decoration: underline",
    "strike": "text-decoration: line-through",
}


def values(*, dark: bool) -> dict[str, str]:
    """The colours of the parts of the page and of each ink, by name."""
    page = _DARK if dark else _LIGHT
    colours = dict(page)
    for ink in Ink:
        look = look_of(ink)
        if look.colour:
            colours[ink.value] = look.colour if dark else ON_LIGHT[look.colour]
        else:
            colours[ink.value] = page["strong" if "bold" in look.attributes else "text"]
    return colours


def when_dark(rules: str) -> str:
    """Rules that apply if the viewer prefers dark pages."""
    return f"@media (prefers-color-scheme: dark) {{\n{rules}\n}}"


def shapes() -> str:
    """A rule with the shape of each ink that differs by more than colour. The class is the name of the ink."""
    shapes_by_ink = {ink: [_SHAPES[name] for name in look_of(ink).attributes if name in _SHAPES] for ink in Ink}
    rules = [f".{ink.value} {{ {'; '.join(ways)} }}" for ink, ways in shapes_by_ink.items() if ways]
    return "\n".join([*rules, f".{FOLD} {{ text-decoration: none }}"])


def look_of(ink: Ink) -> Look:
    """The palette's entry for an ink."""
    return LOOKS[Outcome(ink.value)] if ink.value in _OUTCOMES else LOOKS[TokenKind(ink.value)]
