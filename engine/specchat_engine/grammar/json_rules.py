"""The rules of JSON, in GBNF, that the grammars of all schemas share."""

from __future__ import annotations

from typing import Final

SHARED_RULES: Final = {
    "space": r'(" " | "\n" [ \t]{0,20})?',
    "char": r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex | [dD] [0-7]) hex hex)',
    "hex": "[0-9a-fA-F]",
    "whole": '"0" | [1-9] [0-9]{0,15}',
    "string": r'"\"" char* "\""',
    "integer": '"-"? whole',
    "number": '"-"? whole ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "value": "object | array | string | number | boolean | null",
    "member": 'string ":" space value',
    "object": '"{" space (member ("," space member)* space)? "}"',
    "array": '"[" space (value ("," space value)* space)? "]"',
    "date": r'"\"" day "\""',
    "time": r'"\"" hour "\""',
    "date-time": r'"\"" day "T" hour "\""',
    "uuid": r'"\"" hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} "\""',
    "day": '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])',
    "hour": '("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? '
    '("Z" | [-+] ("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9])',
}
"""By name. No month has more than 28 days, so that every day exists. A character beyond the basic plane, which takes
two escapes, is never escaped, so that each escape counts once for a string's length."""
