"""The recorded turns as a trace file, which `specchat replay` reads."""

from __future__ import annotations

import json

from specchat.traces.exports.document import Document


def jsonl(document: Document) -> str:
    """The lines of all turns, as `run --json` printed them."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for trace in document.traces for line in trace.lines())
