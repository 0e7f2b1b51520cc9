"""Checks a grammar before llama.cpp parses it, since some grammars hang or crash llama.cpp.

It does not check the syntax: llama.cpp does that and reports the place. It looks for grammars that parse and then hang,
fill the memory or end the process: left recursion after something that may be empty, repetitions with bounds in the
wrong order, rules nested too deep, and tokens by name, which two parts of llama.cpp interpret differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from specchat_engine.errors import SettingError

MAX_LENGTH = 200_000
MAX_DEPTH = 100
MAX_REPETITIONS = 2000
"""llama.cpp rejects more, or silently reads more as no limit at all."""

_SYMBOLS = re.compile(
    r"""
    (?P<literal> "(?:\\.|[^"\\])*" ) | (?P<chars> \[(?:\\.|[^\]\\])*\] | \. ) | (?P<comment> \#[^\r\n]* ) |
    (?P<rule> [A-Za-z0-9-]+[ \t]*::= ) | (?P<name> [A-Za-z0-9-]+ ) |
    (?P<repeat> \{\s*\d+\s*(?:,\s*\d*\s*)?\} ) | (?P<brace> \{ ) |
    (?P<mark> [()|?*+] ) | (?P<token> !?< )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Rule:
    """The alternatives of a rule or a group. An item is the name of another rule, or None for a character."""

    alternatives: list[list[_Item]] = field(default_factory=lambda: [[]])


@dataclass(slots=True)
class _Item:
    name: str | None
    optional: bool = False


def check_grammar(text: str) -> None:
    """Raises SettingError for a GBNF text that would hang or crash llama.cpp."""
    if len(text) > MAX_LENGTH:
        raise SettingError(f"the grammar has {len(text)} characters: {MAX_LENGTH} are the most")
    if "\0" in text:
        raise SettingError("the grammar holds a NUL character: take it out")
    rules = _rules(text)
    empty = _possibly_empty(rules)
    leads = {name: set(_leading(rule, empty)) & rules.keys() for name, rule in rules.items()}
    for name in rules:
        if not name.startswith("(") and _reaches(name, leads):
            raise SettingError(
                f"the grammar's rule {name} begins with itself: llama.cpp cannot follow left recursion; write it as a "
                "repetition, with * or +"
            )


def _rules(text: str) -> dict[str, _Rule]:
    """The rules by name; a group is also a rule, named by a parenthesis and its position."""
    rules: dict[str, _Rule] = {}
    open_rules = [_Rule()]
    for match in _SYMBOLS.finditer(text):
        kind, symbol = match.lastgroup, match.group()
        items = open_rules[-1].alternatives[-1]
        if kind == "rule":
            open_rules = [rules.setdefault(symbol.removesuffix("::=").strip(), _Rule())]
            open_rules[0].alternatives = [[]]
        elif kind == "token":
            raise SettingError(f"the grammar names a token near {text[match.start() :][:20]!r}: only text is supported")
        elif kind == "brace":
            raise SettingError(f"the grammar repeats {text[match.start() :][:20]!r}: use {{2}}, {{2,}} or {{2,5}}")
        elif kind == "repeat":
            if items:
                items[-1].optional |= not _bounds(symbol)
        elif kind in ("literal", "chars", "name"):
            items.append(_Item(symbol if kind == "name" else None, optional=symbol == '""'))
        elif symbol == "(":
            if len(open_rules) > MAX_DEPTH:
                raise SettingError(f"the grammar nests more than {MAX_DEPTH} parentheses: give the inner ones a rule")
            group = f"({match.start()}"
            items.append(_Item(group))
            open_rules.append(rules.setdefault(group, _Rule()))
        elif symbol == ")" and len(open_rules) > 1:
            open_rules.pop()
        elif symbol == "|":
            open_rules[-1].alternatives.append([])
        elif symbol in ("?", "*") and items:
            items[-1].optional = True
    return rules


def _bounds(repeat: str) -> int:
    """The lower bound of a repetition. Raises SettingError for bounds that llama.cpp does not check."""
    bounds = [int(bound) for bound in re.findall(r"\d+", repeat)]
    if bounds != sorted(bounds) or bounds[-1] > MAX_REPETITIONS:
        raise SettingError(
            f"the grammar repeats {repeat}: use bounds in order, {MAX_REPETITIONS} at most, or no upper one"
        )
    return bounds[0]


def _possibly_empty(rules: dict[str, _Rule]) -> set[str]:
    """The rules that match an empty text."""
    empty: set[str] = set()
    while True:
        more = {
            name
            for name, rule in rules.items()
            if any(all(item.optional or item.name in empty for item in items) for items in rule.alternatives)
        }
        if more == empty:
            return empty
        empty = more


def _leading(rule: _Rule, empty: set[str]) -> Iterator[str]:
    """The names of the rules that a text of this rule may begin with."""
    for items in rule.alternatives:
        for item in items:
            if item.name is not None:
                yield item.name
            if not item.optional and item.name not in empty:
                break


def _reaches(start: str, leads: dict[str, set[str]]) -> bool:
    """Whether a text of this rule may begin with a text of the same rule."""
    seen: set[str] = set()
    waiting = [*leads[start]]
    while waiting:
        name = waiting.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            waiting += leads.get(name, ())
    return False
