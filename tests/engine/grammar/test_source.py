"""The syntax of a grammar is recognised, and what cannot be used is one line that says where."""

from __future__ import annotations

import json

import pytest

from specchat_engine import SettingError
from specchat_engine.grammar.source import MAX_LENGTH, check_grammar, syntax_of
from specchat_engine.llama.vocabulary import Vocabulary
from support.grammar_walks import allows

GRAMMARS = {
    "json": '{"enum": ["yes", "no"]}',
    "gbnf": 'root ::= ["] ("yes" | "no") "\\""',
    "lark": 'start: "\\"" WORD "\\""\nWORD: "yes" | "no"',
    "regex": '/"(yes|no)"/',
}


@pytest.mark.parametrize("syntax", GRAMMARS)
def test_a_grammar_may_have_any_syntax(vocabulary: Vocabulary, syntax: str) -> None:
    assert syntax_of(GRAMMARS[syntax]) == syntax
    assert syntax_of(f"\n {GRAMMARS[syntax]}\n") == syntax
    assert allows(vocabulary, GRAMMARS[syntax], '"yes"')
    assert not allows(vocabulary, GRAMMARS[syntax], '"maybe"')


@pytest.mark.parametrize(
    ("grammar", "text", "allowed"),
    [
        ('root ::= [a-z]+ "end"', "trendend", True),
        ('root ::= [a-z]+ "end"', "ensue", False),
        ('root ::= "(" tail\ntail ::= ", a" | "," root? ")"', "(,(, a)", True),
        ('root ::= word | "[" root "ex]"\nword ::= [a-z]*', "[eeex]", True),
        ("root ::= .", "\n", True),
        (r'root ::= [\u00e9\x41-\x43]{2} "\x44"', "éBD", True),
        (r'root ::= "\"" [\]<{] "\\"', '"]\\', True),
        ('root ::= root "x" | "y"', "yxx", True),
        ('root ::= ("a" | )*', "aa", True),
        ('root ::= a b # the root\na ::= "x"*\nb ::= ( "y" root\n  | "z" )', "xxyz", True),
        ('start ::= "b"\nroot ::= "a" start', "ab", True),
        ('root ::= [^"#<{(] | "<{5,2}"', "<{5,2}", True),
        ('root ::= "x"{2} "y"{0,2000} ("z"){3,}', "xxyzzz", True),
    ],
)
def test_gbnf_means_what_it_means_to_llama_cpp(vocabulary: Vocabulary, grammar: str, text: str, allowed: bool) -> None:
    assert allows(vocabulary, grammar, text) is allowed


@pytest.mark.parametrize(
    ("grammar", "named"),
    [
        (" \n", "root"),
        ('rot ::= "a"', "Rule 'root' not found"),
        ("root ::= thing", "Rule 'thing' not found"),
        ('root := "a"', "line 1: Expected ::= before"),
        ('root ::= "a"\n\nb ::= )', "line 3: Expected name before"),
        ('root ::= "a', "Unexpected end of input"),
        (r'root ::= "\q"', "Invalid escape sequence"),
        ('root ::= "x"{5,2}', "range end must be >= start"),
        ('root ::= "x" <[7]>', "line 1: Expected name"),
        ("root ::= \ud800", "not valid UTF-8"),
        ('root ::= "\0"', "NUL"),
        ("#" * (MAX_LENGTH + 1), f"{MAX_LENGTH + 1} characters"),
        ("root ::= " + "(" * 9000, "nested too deep"),
        ("start: missing", "missing"),
        ("/(?=x)/", "look-around"),
        ("{", "is not JSON: Expecting property name"),
        ('{"const": NaN}', "is not JSON: it holds NaN"),
    ],
)
def test_a_grammar_that_cannot_be_used_is_one_line_that_says_where(
    vocabulary: Vocabulary, capfd: pytest.CaptureFixture[str], grammar: str, named: str
) -> None:
    for use in (check_grammar, vocabulary.compile_grammar):
        with pytest.raises(SettingError) as caught:
            use(grammar)  # type: ignore[operator]
        assert named in str(caught.value)
        assert len(str(caught.value)) < 250
        assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("grammar", "named"),
    [
        (json.dumps({"enum": [f"value number {number}" for number in range(60_000)]}), "characters: 1000000"),
        (json.dumps({"enum": [f"v{number}" for number in range(100_000)]}, separators=(",", ":")), "too big"),
        (json.dumps({"allOf": [{"pattern": f".*{chr(97 + number)}.*"} for number in range(26)]}), "too long to build"),
    ],
    ids=["long", "many values", "patterns"],
)
def test_a_grammar_that_would_take_for_ever_is_refused(grammar: str, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_grammar(grammar)
    assert named in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
