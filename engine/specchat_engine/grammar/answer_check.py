"""The check of a finished answer against its whole schema, also against what the grammar left out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, Final

from jsonschema import exceptions, validators
from referencing.exceptions import Unresolvable

_PATIENCE_S: Final = 2.0
_LONGEST: Final = 120


def flaw(schema: Any, text: str) -> str:
    """Where the JSON in a text does not follow a schema, and why; empty if it does.

    A pattern may take for ever, so a schema with one is followed by a process of its own, which can be ended.
    """
    if '"pattern' not in json.dumps(schema):
        return _flaw(schema, text)
    try:
        checked = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps([schema, text]),
            text=True,
            timeout=_PATIENCE_S,
            capture_output=True,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return "it cannot be checked: a pattern takes too long"
    except subprocess.CalledProcessError:
        return "it cannot be checked"
    return checked.stdout


def _flaw(schema: Any, text: str) -> str:
    try:
        value = json.loads(text)
        error = exceptions.best_match(validators.validator_for(schema)(schema).iter_errors(value))
    except (ValueError, RecursionError) as broken:
        return f"it is not JSON: {broken}"
    except (Unresolvable, re.error, TypeError, AttributeError) as broken:
        return f"it cannot be checked: {str(broken).splitlines()[0]}"
    return f"{error.json_path}: {error.message.splitlines()[0]}"[:_LONGEST] if error else ""


if __name__ == "__main__":
    sys.stdout.write(_flaw(*json.load(sys.stdin)))
