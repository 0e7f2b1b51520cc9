"""The check of a finished answer against its whole schema, also against what the grammar left out."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from jsonschema import exceptions, validators
from referencing.exceptions import Unresolvable

from specchat_engine.grammar.apart import run_apart

_CHECK: Final = f"import json; from {__name__} import flaw_here; sys.stdout.write(flaw_here(*json.load(sys.stdin)))"
_LONGEST: Final = 120


def flaw(schema: Any, text: str) -> str:
    """Where the JSON in a text does not follow a schema, and why; empty if it does.

    A pattern may take for ever, so a schema with one is followed by a process of its own, which can be ended.
    """
    if '"pattern' not in json.dumps(schema):
        return flaw_here(schema, text)
    found = run_apart(_CHECK, json.dumps([schema, text]))
    return "it cannot be checked: a pattern takes too long" if found is None else found


def flaw_here(schema: Any, text: str) -> str:
    """The same, however long a pattern takes."""
    try:
        value = json.loads(text)
        error = exceptions.best_match(validators.validator_for(schema)(schema).iter_errors(value))
    except (ValueError, RecursionError) as broken:
        return f"it is not JSON: {broken}"
    except (Unresolvable, re.error, TypeError, AttributeError) as broken:
        return f"it cannot be checked: {str(broken).splitlines()[0]}"
    return f"{error.json_path}: {error.message.splitlines()[0]}"[:_LONGEST] if error else ""
