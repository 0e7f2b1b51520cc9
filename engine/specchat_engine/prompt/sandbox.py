"""What a chat template may do: Jinja's sandbox, in which every value that is made is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import wraps
from inspect import unwrap
from typing import Any, Final, NoReturn

from jinja2 import nodes, pass_context
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from specchat_engine.errors import TemplateError
from specchat_engine.prompt.allowance import ELEMENT, FILTERS, METHODS, Allowance, printf

_WITHOUT: Final = frozenset(("encode", "translate", "maketrans", "to_bytes", "from_bytes", "fromkeys"))
"""Methods that no chat template needs and whose results are hard to measure."""

_ITERATING: Final = frozenset(
    ("batch", "groupby", "join", "list", "map", "max", "min", "reject", "select", "slice", "sort", "unique")
)
"""Filters that would make a list of a string's characters."""

_BITS: Final = 256

_NESTED: Final = 64
"""How deep calls may be nested: templates call themselves for each level of a schema. Python's own limit
lies deeper, where a process without any further word ended once."""

_CHARACTERS, _TOKENS = 2**18, 25_000
"""The most that a template may have, so that it compiles in a second. Real ones have up to 12,000 tokens."""


class _Generation(Extension):
    """The tag with which templates mark what the model says, for those who train it: its contents count alone."""

    tags = {"generation"}  # noqa: RUF012 (the type that Jinja declares)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """What is inside the tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with an allowance, and with the functions that chat templates expect."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.loopcontrols", _Generation],
            optimized=False,
            finalize=self._as_text,
        )
        self.allowance = Allowance()
        self._nested = 0
        self.filters["tojson"] = _to_json
        del self.filters["urlize"], self.filters["wordwrap"], self.globals["lipsum"]
        self.filters = {name: self._measured(name, function) for name, function in self.filters.items()}
        self.filters["measured"] = lambda value: self.allowance.made(value)
        self.globals["namespace"] = self._namespace
        self.globals["raise_exception"] = _refuse
        self.globals["strftime_now"] = _now

    def parsed(self, source: str) -> nodes.Template:
        """A template whose values all go through the methods below. Raises TemplateError if it is too long."""
        if len(source) > _CHARACTERS or sum(1 for _ in self.lex(source)) > _TOKENS:
            raise TemplateError(f"the model's chat template is longer than any real one ({len(source)} characters)")
        tree = self.parse(source)
        _Measuring().visit(tree)
        tree.set_environment(self)
        return tree

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read an attribute."""
        return attr not in _WITHOUT and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, called: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls a method, a macro or a function."""
        method = unwrap(called)
        text, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if isinstance(text, str) and name in METHODS:
            if name == "join":
                args = tuple(self.allowance.made(list(values)) for values in args)
            named = {name: value for name, value in kwargs.items() if not name.startswith("_")}
            self.allowance.allow(METHODS[name](self.allowance.size, text, *args, **named))
        self.allowance.spend(ELEMENT * (len(args) + len(kwargs)))
        if self._nested == _NESTED:
            raise TemplateError(f"the model's chat template calls itself more than {_NESTED} times; try another file")
        self._nested += 1
        try:
            result = super().call(context, called, *args, **kwargs)
        finally:
            self._nested -= 1
        self.allowance.spend(self.allowance.size(result))
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Computes an arithmetic operation."""
        if operator == "**" or any(isinstance(side, int) and side.bit_length() > _BITS for side in (left, right)):
            raise TemplateError(f"the chat template uses {operator} on {type(left).__name__}: refused as unsafe")
        for times, value in ((left, right), (right, left)):
            if operator == "*" and isinstance(times, int) and isinstance(value, str | list | tuple):
                self.allowance.allow(times * self.allowance.size(value))
        if operator == "%" and isinstance(left, str):
            self.allowance.allow(printf(self.allowance.size, left, right))
        return self.allowance.made(super().call_binop(context, operator, left, right))

    def concat(self, parts: Iterable[str]) -> str:
        """Joins the output of a block or a macro."""
        parts = list(parts)
        self.allowance.spend(sum(map(self.allowance.size, parts)))
        return "".join(parts)

    @pass_context
    def _as_text(self, _context: Context, value: object) -> str:
        """The text of a value that is printed. Jinja wants a context if nothing is to be printed while it compiles."""
        return value if isinstance(value, str) else self.allowance.made(str(value))

    def _measured(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that computes the size of what it would make, and counts what it has made."""
        leading = 1 if hasattr(function, "jinja_pass_arg") else 0

        @wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            given, (value, *rest) = args[:leading], args[leading:]
            if isinstance(value, str) and name in _ITERATING:
                self.allowance.spend(ELEMENT * len(value))
            if name == "join":
                value = self.allowance.made(list(value))
            if name in FILTERS:
                self.allowance.allow(FILTERS[name](self.allowance.size, value, *rest, **kwargs))
            return self.allowance.made(function(*given, value, *rest, **kwargs))

        return measured

    def _namespace(self, *args: Any, **kwargs: Any) -> Namespace:
        return _Namespace(self.allowance.made(dict(*args, **kwargs)))


class _Namespace(Namespace):
    """A namespace whose text is short: namespaces can hold each other, and one text would hold all of them."""

    def __repr__(self) -> str:
        return "<namespace>"


class _Measuring(NodeTransformer):
    """Turns what Jinja computes without asking its environment into filters."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        """A node with its inner nodes, as a filter if Jinja makes a value there."""
        self.generic_visit(node, *args, **kwargs)
        if isinstance(node, nodes.Concat):
            return _filter(nodes.List(node.nodes, lineno=node.lineno), "join")
        if isinstance(node, nodes.List | nodes.Dict | nodes.Compare | nodes.Test):
            return _filter(node, "measured")
        if isinstance(node, nodes.Tuple):
            return _filter(node, "measured") if node.ctx == "load" else node
        if isinstance(node, nodes.Getitem):
            return _filter(node, "measured") if isinstance(node.arg, nodes.Slice) else node
        return node


def _filter(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    if indent not in (None, *range(9)) or len("".join(separators or ())) > 8:
        raise TemplateError("the model's chat template wants JSON with too wide a layout: refused; try another file")
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _now(form: str) -> str:
    if len(form) > 256:
        raise TemplateError("the model's chat template wants a date in a format that is too long; try another file")
    return datetime.now().astimezone().strftime(form)


def _refuse(message: object) -> NoReturn:
    raise TemplateError(f"the model's chat template refuses the conversation: {str(message)[:400]}")
