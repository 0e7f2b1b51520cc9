"""The recorded turns as one HTML page that plays them back without network access."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from specchat.models.labels import recorded_pair
from specchat.stats.line import ending, rule_in
from specchat.store.images import StoredImage
from specchat.terminal.filter import clean
from specchat.terminal.palette import word_of
from specchat.terminal.pieces import Ink, Inker
from specchat.traces.exports.document import Document, figures_of, shapes, values, when_dark
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Round

_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""Characters that could end a script element, begin a comment, or confuse an old parser."""

_MOST_EMBEDDED: Final = 16 * 2**20
"""Bytes of images that a page holds; further ones are named."""

_INKS = "\n".join(f".{ink.value} {{ color: var(--{ink.value}) }}" for ink in Ink)

_PLACE = re.compile(r"@@(\w+)@@")


def html(document: Document, *, room: int = _MOST_EMBEDDED) -> str:
    """The page with its style, script and data, and a content policy that allows nothing else.

    It has `room` bytes for images.
    """
    style = "\n".join(
        (_properties(dark=False), when_dark(_properties(dark=True)), _INKS, shapes(), _file("player.css"))
    )
    script = f"{_file('player.js')}\n{_file('page.js')}"
    parts = {
        "policy": _policy(style, script),
        "title": escape(document.title),
        "style": style,
        "script": script,
        "data": _embedded({"turns": [*map(turn_data, document.traces)], "images": _images(document.traces, room)}),
        "answers": "".join(f"<pre>{escape(clean(trace.text))}</pre>" for trace in document.traces),
    }
    return _PLACE.sub(lambda match: parts[match[1]], _file("player.html"))


def turn_data(trace: Trace) -> dict[str, Any]:
    """The data of a turn for the page. Texts are filtered as for a terminal; paths are left out."""
    inker = Inker()
    start = trace.start
    return {
        "question": clean(trace.asked),
        "images": trace.images,
        "pair": recorded_pair(start),
        "rule": rule_in(start),
        "figures": figures_of(trace),
        "ending": ending(trace.reason),
        "error": None if trace.error is None else clean(trace.error),
        "given": _pieces(trace.opening, inker) if trace.opening else [],
        "rounds": [_round_data(event, inker) for event in trace.rounds],
    }


def _images(traces: Sequence[Trace], room: int) -> dict[str, str]:
    """The images of questions as data: URLs, by their hashes, as far as they are kept and the page has room."""
    embedded: dict[str, str] = {}
    for name in dict.fromkeys(name for trace in traces for name in trace.images):
        try:
            data = StoredImage("", name).path.read_bytes()
        except OSError:
            continue
        if len(data) <= room:
            room -= len(data)
            embedded[name] = f"data:image/png;base64,{b64encode(data).decode()}"
    return embedded


def _round_data(event: Round, inker: Inker) -> dict[str, Any]:
    ms = event.ms
    return {
        "t": event.t_ms / 1000,
        "source": clean(event.source),
        "k": event.k,
        "reason": clean(event.reason),
        "word": word_of(event),
        "pieces": _pieces(event, inker),
        "drafted": len(event.drafted),
        "accepted": event.num_accepted,
        "rejected": event.num_rejected,
        "emitted": event.num_emitted,
        "ms": [round(time, 3) for time in (ms.draft, ms.verify, ms.rollback, ms.other)],
    }


def _pieces(event: Round, inker: Inker) -> list[list[str]]:
    return [[str(piece.ink), piece.text] for piece in inker.pieces(event) if piece.text]


def _properties(*, dark: bool) -> str:
    return f":root {{ {' '.join(f'--{name}: {value};' for name, value in values(dark=dark).items())} }}"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _embedded(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: _ESCAPES[match[0]], text)


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
