"""What kind of text is asked for, told roughly from the request: pairs accept alike within a kind."""

from __future__ import annotations

import re

_LONG = 280
_CODE = re.compile(
    r"```|\b(code|function|class|method|script|python|javascript|rust|sql|query|json|yaml|html|regex|bash|def|import)\b",
    re.IGNORECASE,
)


def kind_of(request: str) -> str:
    """ "pasted" for a request with a text to work on, "code" for one about code, else "prose"."""
    first, _, rest = request.strip().partition("\n")
    if rest.strip() or len(first) > _LONG:
        return "pasted"
    return "code" if _CODE.search(request) else "prose"
