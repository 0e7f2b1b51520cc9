"""What constraints cost in CPU time: building them for a vocabulary and for a schema, and a mask.

`python -m benchmarks.constraints [MODEL …]` prints a row of a table for each model, or for the built-in target.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from specchat_assets import builtin_pair
from specchat_engine.grammar.constraint import GrammarState
from specchat_engine.llama.model import LlamaModel

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "born": {"type": "string", "format": "date"},
        "likes": {"type": "array", "items": {"enum": ["tea", "coffee", "water"]}, "maxItems": 3},
        "note": {"type": "string"},
    },
    "required": ["name", "age", "likes", "note"],
}
ANSWER = json.dumps({"name": "Ann Lee", "age": 31, "likes": ["tea", "water"], "note": "She likes to walk by the sea."})


def took_ms(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return (process_time() - began) * 1000


def row(path: Path) -> str:
    """The name, the tokens, and the milliseconds for the vocabulary, a schema, and a mask (median and longest)."""
    model = LlamaModel(path)
    vocabulary, schema = model.vocabulary, json.dumps(PERSON)
    for token in range(vocabulary.size):
        vocabulary.piece(token)
    first = took_ms(lambda: vocabulary.compile_grammar(schema))
    again = median(took_ms(lambda: vocabulary.compile_grammar(schema)) for _ in range(9))
    state: GrammarState | None = vocabulary.compile_grammar(schema)
    every, masks = np.arange(vocabulary.size), []
    for token in vocabulary.tokenize(ANSWER, special=False):
        assert state is not None
        masks.append(took_ms(lambda at=state: at.allows(every[:64])))
        state = state.after(token)
    model.close()
    cells = (f"{first:.0f}", f"{again:.2f}", f"{median(masks):.3f}", f"{max(masks):.2f}")
    return f"| {path.stem} | {vocabulary.size} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or [str(builtin_pair()[0])]):
        print(row(path))
