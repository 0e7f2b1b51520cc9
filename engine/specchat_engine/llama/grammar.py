"""llama.cpp's grammars: a GBNF text, and the places in a text that follows it.

A grammar is checked before llama.cpp parses it, since some hang or crash llama.cpp. It reports wrong syntax itself. The
check looks for grammars that parse and then hang, fill the memory or end the process: left recursion after something
that may be empty, repetitions with bounds in the wrong order, rules nested too deep, and tokens by name, which two
parts of llama.cpp interpret differently.
"""

from __future__ import annotations

import ctypes
import os
import re
from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError, SettingError
from specchat_engine.llama.library import api
from specchat_engine.llama.logs import native_log

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


if TYPE_CHECKING:
    from specchat_engine.llama.vocabulary import Vocabulary

_CELL = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data`."""

_NO_RULES = "failed to parse grammar"
"""What llama.cpp logs after another error, or alone if there is nothing to parse."""

_STDERR = 2
_EXCERPT = 30


class LlamaGrammarState:
    """A place in a text that follows a grammar, held by llama.cpp's grammar sampler.

    llama.cpp ends the process if a sampler accepts a token that it excludes, so `after` asks first. Control tokens
    that print nothing are never allowed, whatever their names look like. The ids that end an answer are allowed only
    if the grammar is complete, and never inside a character. Bytes that are not UTF-8 are never allowed.
    """

    __slots__ = ("_native", "_partial", "_silent", "_tail", "_tokens")

    def __init__(self, tokens: Vocabulary, native: Any, silent: NDArray[np.bool_], tail: bytes = b"") -> None:
        """Takes over a sampler. `silent` tokens [V] are never allowed, and `tail` has the bytes of a character that is
        not complete."""
        self._tokens = tokens
        self._silent = silent
        self._partial = tokens.partial
        self._native = native
        self._tail = tail

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these token ids [n] may come here; never an id that the vocabulary does not have.

        Raises DecodeError if this place or the model was closed.
        """
        sampler, silent = self._sampler, self._silent
        known = ids < len(silent)
        cells = np.zeros(len(ids), _CELL)
        cells["id"] = np.where(known, ids, 0)
        array = api.llama_token_data_array(
            data=ctypes.cast(cells.ctypes.data, api.llama_token_data_p), size=len(cells), selected=-1, sorted=False
        )
        api.llama_sampler_apply(sampler, ctypes.byref(array))
        allowed: NDArray[np.bool_] = known & (cells["logit"] == 0) & ~silent[cells["id"]]
        for index in np.flatnonzero(allowed & self._partial[cells["id"]]).tolist():
            allowed[index] = self._tail_after(int(ids[index])) is not None
        return allowed

    def after(self, token: int) -> LlamaGrammarState | None:
        """The place after one more token, which has to be closed too; None if the token may not come here."""
        if not self.allows(np.array([token]))[0]:
            return None
        copy = api.llama_sampler_clone(self._sampler)
        api.llama_sampler_accept(copy, token)
        return LlamaGrammarState(self._tokens, copy, self._silent, self._tail_after(token) or b"")

    def close(self) -> None:
        """Frees the sampler; calling it again does nothing."""
        if self._native:
            api.llama_sampler_free(self._native)
            self._native = None

    def _tail_after(self, token: int) -> bytes | None:
        """The bytes of an incomplete character after this token; None if the bytes are not UTF-8.

        llama.cpp only counts continuation bytes and accepts bytes that cannot begin a character.
        """
        decoder = getincrementaldecoder("utf-8")()
        try:
            decoder.decode(self._tail + self._tokens.piece(token))
        except UnicodeDecodeError:
            return None
        tail = decoder.getstate()[0]
        return None if tail[:1] == b"\xed" and tail[1:] >= b"\xa0" else tail  # half a surrogate, refused only later on

    @property
    def _sampler(self) -> Any:
        self._tokens.check_open()
        if not self._native:
            raise DecodeError("this place of the grammar was closed: begin again")
        return self._native


def compile_grammar(text: str, tokens: Vocabulary, vocabulary: Any, shown: Collection[int] = ()) -> LlamaGrammarState:
    """The beginning of a text that follows a grammar, which starts with the rule called root.

    The control tokens that are `shown` may come where the grammar has their texts.

    Raises SettingError, in one line that names the place, for a grammar that llama.cpp cannot use.
    """
    check_grammar(text)
    source = text.encode("utf-8", "surrogatepass")
    if source != text.encode("utf-8", "replace"):
        raise SettingError("the grammar is not valid UTF-8: save it as UTF-8")
    native_log.clear()
    with _captured_stderr() as printed:
        native = api.llama_sampler_init_grammar(vocabulary, source, b"root") if text.strip() else None
    if not native:
        raise SettingError(f"the grammar cannot be used: {_reason(''.join(printed), text)}")
    silent = tokens.silent.copy()
    silent[[*shown]] = False
    return LlamaGrammarState(tokens, native, silent)


def _reason(printed: str, text: str) -> str:
    """Why llama.cpp rejected a grammar, from what it printed: what it expected, and where."""
    _, marker, complaint = printed.partition("error parsing grammar: ")
    if not marker:
        error = native_log.last_error()
        return "it has no rules" if error in ("", _NO_RULES) else error.replace("symbol", "rule")
    what, at, rest = complaint.removesuffix(f"\n\n{text}\n").partition(" at ")
    if not at or not text.endswith(rest):
        return complaint.splitlines()[0]
    line = text.count("\n", 0, len(text) - len(rest)) + 1
    here = rest.split("\n", 1)[0].strip()
    return f"line {line}: {what} before {here[:_EXCERPT]!r}" if here else f"line {line}: {what} at its end"


@contextmanager
def _captured_stderr() -> Iterator[list[str]]:
    """Collects what native code prints to standard error inside the block; the list is filled at the end of it.

    llama.cpp's grammar parser prints its errors there and not to the log.
    """
    printed: list[str] = []
    try:
        before = os.dup(_STDERR)
    except OSError:  # there is no standard error at all
        yield printed
        return
    with TemporaryFile() as file:
        os.dup2(file.fileno(), _STDERR)
        try:
            yield printed
        finally:
            os.dup2(before, _STDERR)
            os.close(before)
            file.seek(0)
            printed.append(file.read().decode("utf-8", "replace"))
