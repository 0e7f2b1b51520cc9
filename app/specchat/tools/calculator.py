"""Arithmetic from a text: Python's grammar parses it, but only numbers, operators and a few functions are known."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Final

from specchat.errors import ToolError

_LONGEST: Final = 500
_LARGEST_BITS: Final = 4096
"""Whole numbers beyond it are refused, so that 9**9**9 takes no time."""

Number = int | float

_BINARY: Final[Mapping[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Number], Number]]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_CONSTANTS: Final = {"pi": math.pi, "e": math.e}
_FUNCTIONS: Final[Mapping[str, Callable[..., Number]]] = {
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "floor": math.floor,
    "ceil": math.ceil,
}


def calculate(expression: str) -> str:
    """The value of an expression such as `2 * (3 + sqrt(4)) ** 2`. Raises ToolError if it has none."""
    if len(expression) > _LONGEST:
        raise ToolError(f"the expression has {len(expression)} characters: use at most {_LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # such as that of `1if`
            parsed = ast.parse(expression.strip(), mode="eval")
        return str(_value(parsed.body))
    except (SyntaxError, RecursionError, MemoryError):
        raise ToolError(f"{expression!r} is not an arithmetic expression") from None
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ToolError(f"{expression!r} has no value: {error}") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _bounded(_BINARY[type(op)](_value(left), _value(right)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, arguments)))
    known = ", ".join((*_FUNCTIONS, *_CONSTANTS))
    raise ToolError(f"{ast.unparse(node)!r} cannot be calculated: use numbers, + - * / // % **, and {known}")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > _LARGEST_BITS:
        raise OverflowError("it is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("it is not a real number")
    return _bounded(result)


def _bounded(number: Number) -> Number:
    if isinstance(number, int) and number.bit_length() > _LARGEST_BITS:
        raise OverflowError("it is too large")
    return number
