"""Rules for any text up to and including a certain literal, whose end is found as Knuth, Morris and Pratt do."""

from __future__ import annotations

from collections.abc import Sequence


def until(mark: str, name: str) -> Sequence[str]:
    """Rules of which the one with this name matches the shortest text that ends with `mark`, an ASCII text.

    There is a rule for each number of the mark's characters that the text so far ends with. Raises ValueError for a
    mark that is empty or not ASCII.
    """
    if not (mark and mark.isascii()):
        raise ValueError(f"{mark!r} is no mark")
    characters = sorted(set(mark))
    others = f"[^{''.join(map(_escaped, characters))}] {name}"
    lines = []
    for matched in range(len(mark)):
        ways = [others]
        for character in characters:
            longest = _matched(mark, mark[:matched] + character)
            following = "" if longest == len(mark) else f" {_rule(name, longest)}"
            ways.append(f'"{_escaped(character)}"{following}')
        lines.append(f"{_rule(name, matched)} ::= {' | '.join(ways)}")
    return lines


def _matched(mark: str, text: str) -> int:
    """The length of the longest beginning of the mark that the text ends with."""
    return next(length for length in range(len(text), -1, -1) if text.endswith(mark[:length]))


def _rule(name: str, matched: int) -> str:
    return f"{name}-{matched}" if matched else name


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02X}"
