"""A grammar given as one text, and what llguidance reads of it.

The text is a JSON schema if it begins with a brace or is `true`, a regular expression between slashes, Lark if it has
a rule `start:`, else GBNF, llama.cpp's notation. llguidance is imported for the first grammar: most engines have none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from specchat_engine.errors import SettingError
from specchat_engine.grammar.apart import try_apart
from specchat_engine.grammar.schema import may_explode, parsed, prepared, refusal

if TYPE_CHECKING:
    from llguidance import LLParserLimits

MAX_LENGTH: Final = 200_000
"""The longest grammar in characters."""

MAX_SCHEMA: Final = 1_000_000
"""The longest JSON schema in characters."""

_LARK: Final = re.compile(r"(?m)^\s*(%llguidance\b|start\s*(\[[^\]\n]*\])?\s*:(?!:=))")
_SYMBOL: Final = re.compile(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\r\n]*|[A-Za-z0-9_-]+|\.', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|.)", re.DOTALL)
_PLACE: Final = re.compile(r"(.*) at (line \d+), .* \^ (.*?)(\\n.*)?['\"]$")
_ANY: Final = f"[\\x00-{chr(0x10FFFF)}]"
_ROOT: Final = "specchat-root"
_NOTHING: Final = "specchat-nothing"
_LONGEST_ERROR: Final = 160


Syntax = Literal["json", "regex", "lark", "gbnf"]


def syntax_of(text: str) -> Syntax:
    """The syntax of a grammar."""
    stripped = text.strip()
    if stripped[:1] == "{" or stripped in ("true", "false"):
        return "json"
    if stripped[:1] == "/" and stripped[:2] != "//" and stripped[-1:] == "/" and len(stripped) > 1:
        return "regex"
    return "lark" if _LARK.search(text) else "gbnf"


def source_of(text: str) -> str:
    """The text as llguidance reads it. Raises SettingError, in one line, for a text that cannot be converted."""
    from llguidance import LLMatcher

    syntax = syntax_of(text)
    most = MAX_SCHEMA if syntax == "json" else MAX_LENGTH
    if len(text) > most:
        raise SettingError(f"the grammar has {len(text)} characters: {most} are the most")
    if "\0" in text or re.search("[\ud800-\udfff]", text):
        raise SettingError("the grammar is not valid UTF-8 without NUL: save it as UTF-8")
    match syntax:
        case "json":
            return _schema_source(text)
        case "regex":
            return LLMatcher.grammar_from_regex(text.strip()[1:-1])
        case "gbnf":
            return LLMatcher.grammar_from_lark(_lark_of_gbnf(text))
        case "lark":
            return LLMatcher.grammar_from_lark(text)


def limits() -> LLParserLimits:
    """llguidance's own limits, with errors that do not repeat the grammar."""
    from llguidance import LLParserLimits

    return LLParserLimits(verbose_errors=False)


def literal(text: str) -> str:
    """A text as literals of Lark, line ends at its start apart: llguidance reads the longest literal and never less."""
    rest = text.lstrip("\n")
    return " ".join(json.dumps(part, ensure_ascii=False) for part in (*text[: len(text) - len(rest)], rest) if part)


def check_grammar(text: str) -> None:
    """Raises SettingError, in one line, for a grammar that no model can follow."""
    from llguidance import LLMatcher

    is_error, messages = LLMatcher.validate_grammar_with_warnings(source_of(text), limits=limits())
    if is_error:
        raise SettingError(explained(text, messages[0]))


def explained(text: str, error: str) -> str:
    """Why a grammar cannot be used, from llguidance's error."""
    if syntax_of(text) == "json":
        return refusal(parsed(text), error)
    return f"the grammar cannot be used: {in_one_line(error)}"


def named(text: str, name: str) -> Mapping[str, Any]:
    """The grammar of a text under a name, by which Lark can refer to it. Raises what `source_of` raises."""
    source = source_of(text)
    grammar: dict[str, Any] = json.loads(source)["grammars"][0] if source[:1] == "{" else {"lark_grammar": source}
    return {**grammar, "name": name}


def in_one_line(error: str) -> str:
    """What llguidance says, without the excerpts that it shows below."""
    lines = [line.strip() for line in error.splitlines()]
    reasons = [line for line in lines[1:] if line.startswith("error: ")]
    text = " ".join([lines[0], *reasons]) if lines else "it is empty"
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def _schema_source(text: str) -> str:
    from llguidance import LLMatcher

    schema = parsed(text)
    if isinstance(schema, dict) and "grammars" in schema:
        return text
    try:
        source = LLMatcher.grammar_from_json_schema(prepared(schema))
    except RecursionError:
        raise SettingError(refusal(schema, "recursion limit")) from None
    if may_explode(schema):
        try_apart(source)
    return source


def _lark_of_gbnf(text: str) -> str:
    """GBNF as Lark: one lexeme if the whole grammar is regular, else lexemes of one character each.

    llguidance's lexer never goes back behind a lexeme that it has begun, so longer ones would exclude texts.
    """
    from llguidance.gbnf_to_lark import gbnf_to_lark

    plain = _SYMBOL.sub(lambda symbol: _plain(symbol[0]), text)
    try:
        whole = str(gbnf_to_lark(f"{plain}\nroot ::= {_ROOT}\n"))
        if _ROOT.upper().replace("-", "_") in whole:
            return whole
        letters = _SYMBOL.sub(lambda symbol: _letters(symbol[0]), plain)
        return str(gbnf_to_lark(f'{letters}\nroot ::= {_ROOT}\n{_NOTHING} ::= {_NOTHING} | ""\n'))
    except RecursionError:
        raise SettingError("the grammar is nested too deep: give the inner parts rules of their own") from None
    except Exception as error:  # noqa: BLE001 - the converter has no error of its own for half of its complaints
        reason = _PLACE.sub(r"\2: \1 before \3'", str(error).replace("specchat-", ""))
        raise SettingError(f"the grammar cannot be used: {in_one_line(reason)}") from None


def _plain(symbol: str) -> str:
    """A symbol of GBNF without what the converter gets wrong: characters by their numbers, and the dot."""
    if symbol in ("root", "start"):  # Lark begins with the rule called start
        return f"specchat-{symbol}"
    if symbol == ".":
        return _ANY
    return _ESCAPE.sub(_unescaped, symbol) if symbol[0] in '"[' else symbol


def _letters(symbol: str) -> str:
    """The characters of a symbol, each a lexeme: the converter joins rules into one only if they refer to none."""
    if symbol[0] == "[":
        return f"({symbol} {_NOTHING})"
    if symbol[0] != '"':
        return symbol
    characters = re.findall(r"\\x..|\\.|.", symbol[1:-1], re.DOTALL)
    return " ".join(("(", *(f'"{character}"' for character in characters), _NOTHING, ")"))


def _unescaped(escape: re.Match[str]) -> str:
    number = escape[1] or escape[2] or escape[3]
    if not number:
        return escape[0]
    code = int(number, 16)
    character = chr(code) if code <= 0x10FFFF else "\ufffd"
    return character if character.isalnum() or code > 0x9F else f"\\x{code:02x}"
