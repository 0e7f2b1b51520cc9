"""Exports a session to a file: Markdown, SVG, JSON lines, or an HTML page that plays it back."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from markdown_it import MarkdownIt

from specchat.errors import ExportError, ExportExists
from specchat.models.labels import recorded_pair, recorded_target
from specchat.terminal.fences import fenced
from specchat.terminal.filter import clean, clean_line
from specchat.traces.exports.document import Document, SaidMessage, conversation
from specchat.traces.exports.html import html
from specchat.traces.exports.svg import svg
from specchat.traces.trace import Trace

__all__ = ["KINDS", "conversation", "export_session", "kind_of", "markdown"]


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
_NEXT = "what follows"
_NAMES = {"user": "You", "system": "System"}


def markdown(document: Document) -> str:
    """The session as Markdown. Answers are Markdown themselves; other messages are put into fences unchanged."""
    answered_by = recorded_target(document.traces[-1].start) if document.traces else ""
    parts = [f"# {_escaped(document.title)}", *_models(document)]
    for role, content, figures in document.messages:
        answer = role == "assistant"
        name = (answered_by or "Assistant") if answer else _NAMES.get(role, _capitalized(clean_line(role)))
        parts += [f"## {_escaped(name)}", _answer(content) if answer else fenced(clean(content), "text")]
        if figures:
            parts.append(f"`{clean_line(figures).replace('`', chr(39))}`")
    return "\n\n".join(parts) + "\n"


def _answer(content: str) -> str:
    """Markdown unchanged, or in a fence if something left open in it would swallow the text after it."""
    safe = clean(content).strip("\n")
    return safe if _ends_by_itself(safe) else fenced(safe, "text")


def _ends_by_itself(text: str) -> bool:
    """True if the text leaves no fence, comment or HTML block open, so that a paragraph after it is one."""
    tokens = MarkdownIt("commonmark").parse(f"{text}\n\n{_NEXT}")
    return bool(text.strip()) and [token.level for token in tokens[-3:]] == [0, 1, 0] and tokens[-2].content == _NEXT


def _capitalized(role: str) -> str:
    return role[:1].upper() + role[1:]


def _models(document: Document) -> Iterator[str]:
    """The names of all pairs that answered, each once."""
    pairs = dict.fromkeys(recorded_pair(trace.start) for trace in document.traces)
    if names := ", ".join(pair for pair in pairs if pair):
        yield _escaped(names)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean_line(text))


def jsonl(document: Document) -> str:
    """The recorded turns as a trace file, which `specchat replay` reads."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for trace in document.traces for line in trace.lines())


KINDS: Mapping[str, Callable[[Document], str]] = MappingProxyType(
    {"markdown": markdown, "svg": svg, "jsonl": jsonl, "html": html}
)
"""The formats of an export."""

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
    """Writes a session completely or not at all. `messages` are (role, content, line of figures) in order.

    `traces` are its recorded turns. Markdown needs none of them; the other formats contain nothing else. Raises
    ExportExists if the file exists and `overwrite` is False, and ExportError for an unknown kind, if there is nothing
    to write, and if it cannot be written.
    """
    if kind not in KINDS:
        raise ExportError(f"{kind} is not a kind of export: use one of {', '.join(KINDS)}")
    if kind == "markdown" and not messages:
        raise ExportError("there is nothing to export yet: the session has no messages")
    if kind != "markdown" and not traces:
        raise ExportError(f"there is no recorded turn to export as {kind}: export it as markdown")
    document = Document(clean_line(title) or "A chat in specchat", tuple(messages), tuple(traces))
    write_whole(KINDS[kind](document), path, overwrite=overwrite)


def kind_of(path: Path) -> str:
    """The kind for the ending of a path. Raises ExportError for an unknown ending."""
    if kind := _ENDINGS.get(path.suffix.lower()):
        return kind
    raise ExportError(f"{path} does not say what to write: end it in {', '.join(_ENDINGS)}")


def write_whole(text: str, path: Path, *, overwrite: bool) -> None:
    """Writes a text as UTF-8, completely or not at all. The errors are those of `export_session`."""
    if path.is_dir():
        raise ExportError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise ExportError(f"{path.parent} is not a folder: make it first, or choose another")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    unfinished = path.parent / f".{secrets.token_hex(8)}.unfinished"
    try:
        with unfinished.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _place(unfinished, path, overwrite=overwrite)
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}; choose another place") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _place(unfinished: Path, path: Path, *, overwrite: bool) -> None:
    """Without `overwrite`, a file that was created in the meantime is kept too, if the file system has hard links."""
    if not overwrite:
        try:
            path.hardlink_to(unfinished)
        except FileExistsError:
            raise _exists(path) from None
        except OSError:
            pass  # no hard links here
        else:
            return
    unfinished.replace(path)


def _exists(path: Path) -> ExportExists:
    return ExportExists(f"{path} exists: choose another name, or add --force on the command line")
