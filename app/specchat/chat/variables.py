"""Variables in stored prompts, written `{{language}}`."""

from __future__ import annotations

import re

_VARIABLE = re.compile(r"\{\{\s*([^\W\d][\w-]*)\s*\}\}")
_WORD = re.compile(r'"([^"]*)"|(\S+)')


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables, each once, in order."""
    return tuple(dict.fromkeys(match[1] for match in _VARIABLE.finditer(text)))


def variable_after(text: str, start: int) -> tuple[int, int] | None:
    """The span of the first variable that begins at `start` or later, else of the first one; None if there is none."""
    match = _VARIABLE.search(text, start) or _VARIABLE.search(text)
    return match.span() if match else None


def filled(text: str, words: str) -> str:
    """The text with a word for each variable, in their order; the last one gets all words that are left.

    Quotes hold words together. Variables without a word stay. In a text without variables, the words follow it.
    """
    names, rest = variables(text), words.strip()
    if not names:
        return f"{text}\n\n{rest}" if rest else text
    values: dict[str, str] = {}
    for name in names[:-1]:
        if match := _WORD.match(rest):
            values[name] = match[2] or match[1]
            rest = rest[match.end() :].lstrip()
    if rest:
        whole = _WORD.fullmatch(rest)
        values[names[-1]] = (whole[2] or whole[1]) if whole else rest
    return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)
