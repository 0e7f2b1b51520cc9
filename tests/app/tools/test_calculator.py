"""Arithmetic from a text that a model wrote."""

import pytest

from specchat.errors import ToolError
from specchat.tools.calculator import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 * (3 + 4) ** 2", "98"),
        (" 7 // 2 - -1 ", "4"),
        ("7 % 4 / 2", "1.5"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("sqrt(16) + max(1, 2, 3)", "7.0"),
        ("round(2 * pi, 2)", "6.28"),
    ],
)
def test_arithmetic_has_its_value(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "2 ** -99999999999999999999",
        "1 / 0",
        "(-8) ** 0.5",
        "exp(10000)",
        "max()",
        "sqrt(-1)",
        "__import__('os')",
        "().__class__",
        "'a' * 9",
        "[1]",
        "True + 1",
        "1j",
        "x",
        "lambda: 1",
        "1if 2else 3",
        "",
        "(" * 300,
        "-" * 500 + "1",
        "1" * 501,
        "1\0",
    ],
)
def test_everything_else_is_refused_at_once(expression: str) -> None:
    with pytest.raises(ToolError) as refused:
        calculate(expression)
    assert "\n" not in str(refused.value)
