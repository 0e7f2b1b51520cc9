"""Grammars that llama.cpp would read and not survive are refused in one line; all others are left to it."""

from __future__ import annotations

import pytest

from specchat_engine import SettingError
from specchat_engine.llama.grammar import MAX_DEPTH, MAX_LENGTH, check_grammar


@pytest.mark.parametrize(
    "grammar",
    [
        r'root ::= "a" | [^"#<{(] | "<{5,2}" # root ::= root {9,1} <',
        'root ::= a b\na ::= "x"*\nb ::= "y" root | "z"',
        'root ::= "(" root ")" | "x"\n',
        'root ::= [ ]* "x"{2} "y"{0,2000} ("z"){3,}',
        'root ::= ( "a"\n  | b )+\nb\t ::= [0-9]',
        'root ::= "" tail\ntail ::= "x" tail | ""',
        r'root ::= "\"" [\]<{] "\\"',
        "root ::= " + "(" * MAX_DEPTH + '"a"' + ")" * MAX_DEPTH,
        "this is { no grammar ::= ( at | all"[:8],
        "",
    ],
)
def test_what_is_harmless_passes(grammar: str) -> None:
    check_grammar(grammar)


@pytest.mark.parametrize(
    ("grammar", "named"),
    [
        ('root ::= root "x" | "y"', "rule root begins with itself"),
        ('root ::= a\na ::= ( b "x" )?\nb ::= a | "y"', "rule a begins with itself"),
        ('root ::= ws root "y" | "x"\nws ::= [ ]*', "rule root begins with itself"),
        ('root ::= ws ws2 root\nws ::= " "{0,3}\nws2 ::= ("" | "x"?)', "rule root begins with itself"),
        ('root ::= "x"{5,2}', "repeats {5,2}"),
        ('root ::= ("x"){ 2 , 1 }', "repeats { 2 , 1 }"),
        ('root ::= "x"{2001}', "repeats {2001}"),
        ('root ::= "x"{0,3000}', "repeats {0,3000}"),
        ('root ::= ("x"{5 # note\n,2})', "repeats '{5 # note"),
        ('root ::= "x" <[7]>', "names a token near '<[7]>'"),
        ("root ::= !<think>", "names a token near '!<think>'"),
        ("root ::= " + "(" * (MAX_DEPTH + 1), f"nests more than {MAX_DEPTH} parentheses"),
        ('root ::= "\0"', "NUL"),
        ("#" * (MAX_LENGTH + 1), f"{MAX_LENGTH + 1} characters"),
    ],
)
def test_what_would_hang_or_end_the_process_is_rejected_by_name(grammar: str, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_grammar(grammar)
    assert named in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
