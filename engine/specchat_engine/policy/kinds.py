"""What kind of text is asked for, told roughly from the request: pairs accept alike within a kind."""

from __future__ import annotations

import re

_LONG = 280
_CODE = re.compile(
    r"```|\b(code|function|class|method|script|python|javascript|rust|sql|query|json|yaml|html|regex|bash|def|import)\b",
    re.IGNORECASE,
)
_FREE = re.compile(r"\b(story|stories|tale|poem|song|rhyme|joke|essay|letter|dialogue|imagine|invent)\b", re.IGNORECASE)

PASTED = "pasted"


def kind_of(request: str) -> str:
    """ "pasted" for a request with a text to work on, "code" for one about code, "free" for something to be made up,
    else "prose"."""
    first, _, rest = request.strip().partition("\n")
    if rest.strip() or len(first) > _LONG:
        return PASTED
    if _CODE.search(request):
        return "code"
    return "free" if _FREE.search(request) else "prose"
