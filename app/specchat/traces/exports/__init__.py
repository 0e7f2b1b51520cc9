"""A session as a file: Markdown to read, SVG to show, JSON lines to keep, an HTML page that plays it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from specchat.errors import ExportError
from specchat.terminal.filter import clean_line
from specchat.traces.exports.document import Document, SaidMessage, conversation
from specchat.traces.exports.html import html
from specchat.traces.exports.jsonl import jsonl
from specchat.traces.exports.markdown import markdown
from specchat.traces.exports.svg import svg
from specchat.traces.exports.writing import write_whole
from specchat.traces.trace import Trace

__all__ = ["KINDS", "conversation", "export_session", "kind_of"]

KINDS: Mapping[str, Callable[[Document], str]] = MappingProxyType(
    {"markdown": markdown, "svg": svg, "jsonl": jsonl, "html": html}
)
"""What a session can be written as."""

_ENDINGS = MappingProxyType({".md": "markdown", ".svg": "svg", ".jsonl": "jsonl", ".html": "html", ".htm": "html"})


def export_session(
    kind: str,
    title: str,
    messages: Sequence[SaidMessage],
    traces: Sequence[Trace],
    path: Path,
    *,
    overwrite: bool = False,
) -> None:
    """Writes a session, whole or not at all. `messages` are (role, content, line of figures) in order.

    `traces` are its recorded turns: Markdown needs none of them, the others tell nothing else. Raises ExportError
    for an unknown kind, for nothing to write, and for a file that exists unless `overwrite` is set; OSError where the
    file cannot be written.
    """
    if kind not in KINDS:
        raise ExportError(f"{kind} is no kind of export: use one of {', '.join(KINDS)}")
    if kind == "markdown" and not messages:
        raise ExportError("there is nothing to export yet: the session has no messages")
    if kind != "markdown" and not traces:
        raise ExportError(f"there is no recorded turn to export as {kind}: export it as markdown")
    document = Document(clean_line(title) or "A chat in specchat", tuple(messages), tuple(traces))
    write_whole(KINDS[kind](document), path, overwrite=overwrite)


def kind_of(path: Path) -> str:
    """The kind that a path's ending names. Raises ExportError for another ending."""
    if kind := _ENDINGS.get(path.suffix.lower()):
        return kind
    raise ExportError(f"{path} does not say what to write: end it in {', '.join(_ENDINGS)}")
