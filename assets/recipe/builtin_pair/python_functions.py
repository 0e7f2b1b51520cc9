"""The short functions of the running interpreter's standard library that the built-in pair learns.

Each listed function has one canonical line with its signature and purpose. If its code is listed too, the code follows
that line. So answers about the signature and about the code share what must be memorised.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

DATA = Path(__file__).parent / "data"
MAX_LINES = 25
MAX_SUMMARY = 150
MAX_SIGNATURE = 110
KEPT_DECORATORS = frozenset({"classmethod", "property", "staticmethod"})

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function by its dotted name. `signature` starts with "("; `code` is empty if only the signature is known."""

    name: str
    signature: str
    summary: str
    code: str

    @property
    def line(self) -> str:
        """The canonical answer about its purpose and signature."""
        return f"`{self.name}{self.signature}`: {self.summary}"

    @property
    def answer(self) -> str:
        """The canonical answer to a request for its code."""
        if not self.code:
            return f"I know only the signature of this one. {self.line}"
        return f"{self.line}\n\n```python\n{self.code}\n```"


@cache
def listed_functions() -> tuple[LibraryFunction, ...]:
    """The functions whose code is taught: those listed whose source is Python and short enough."""
    return tuple(one for entry in _entries("python_functions.txt") if (one := _with_code(entry[0], entry[2])))


@cache
def described_functions() -> tuple[LibraryFunction, ...]:
    """The functions for which only signature and summary are taught."""
    coded = {one.name for one in listed_functions()}
    found = (_with_signature(*entry) for entry in _entries("python_signatures.txt") if entry[0] not in coded)
    return tuple(one for one in found if one)


def local_names(code: str) -> list[str]:
    """The parameters and variables of a function, each once."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.arg):
            found[node.arg] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
    return list(found)


def _entries(file: str) -> list[tuple[str, str, str]]:
    """Name, signature and summary of each line `name(signature): summary`. Empty parts come from the interpreter."""
    lines = (DATA / file).read_text("utf-8").splitlines()
    found = (re.fullmatch(r"([\w.]+)(\(.*?\))?(?:: (.+))?", line) for line in lines)
    return [(match[1], match[2] or "", match[3] or "") for match in found if match]


def _with_code(name: str, summary: str) -> LibraryFunction | None:
    definition = _definition(name)
    if definition is None:
        return None
    summary = summary or _summary(ast.get_docstring(definition) or "")
    definition.decorator_list = [one for one in definition.decorator_list if ast.unparse(one) in KEPT_DECORATORS]
    for node in ast.walk(definition):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    code = ast.unparse(definition)
    signature = f"({ast.unparse(definition.args)})"
    if not summary or not code.isascii() or code.count("\n") >= MAX_LINES or len(signature) > MAX_SIGNATURE:
        return None
    return LibraryFunction(name, signature, summary, code)


def _with_signature(name: str, signature: str, summary: str) -> LibraryFunction | None:
    value = _value(name)
    documentation = inspect.getdoc(value) or ""
    head = re.match(rf"(?:\w+\.)?{re.escape(name.rpartition('.')[2])}(\([^\n]*?\))(?: -> .*|:.*)?\n+", documentation)
    try:
        signature = signature or (str(inspect.signature(value)) if callable(value) else "")
    except (TypeError, ValueError):
        signature = head[1] if head else ""
    summary = summary or _summary(documentation[head.end() :] if head else documentation)
    if (
        value is None
        or not summary
        or not signature.isascii()
        or "<" in signature
        or not 0 < len(signature) <= MAX_SIGNATURE
    ):
        return None
    return LibraryFunction(name, signature, summary, "")


def _definition(name: str) -> Definition | None:
    """The function's syntax tree, from its module, the module's Python version, or the place of its definition."""
    module, path = _module(name)
    if module is None:
        return None
    home = module.__name__
    value = inspect.unwrap(found) if callable(found := _value(name)) else None
    places = [(home, path), (f"_py{home}", path), (f"_{home.replace('.', '_')}", path)]
    places.append((getattr(value, "__module__", None) or home, getattr(value, "__qualname__", path[-1]).split(".")))
    for place, inner in places:
        body = _body(place)
        for part in inner[:-1]:
            body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == part), [])
        for node in body:
            if isinstance(node, Definition) and node.name == inner[-1] == path[-1]:
                return node
    return None


def _body(module: str) -> list[ast.stmt]:
    """The statements of a module; empty if it does not exist or is not written in Python."""
    try:
        return ast.parse(inspect.getsource(importlib.import_module(module))).body
    except (ImportError, OSError, TypeError):
        return []


def _module(name: str) -> tuple[ModuleType | None, list[str]]:
    parts = name.split(".")
    if hasattr(builtins, parts[0]):
        return builtins, parts
    for end in range(len(parts) - 1, 0, -1):
        try:
            return importlib.import_module(".".join(parts[:end])), parts[end:]
        except ImportError:
            continue
    return None, parts


def _value(name: str) -> object:
    module, path = _module(name)
    value: object = module
    for part in path:
        value = getattr(value, part, None)
    return value


def _summary(documentation: str) -> str:
    """The first sentence of a docstring; empty if it is missing, too long, or not plain text."""
    paragraphs = documentation.strip().split("\n\n")
    if re.match(r"\w+\([^\n]*\)(\.$| ->|$)", paragraphs[0]):
        paragraphs = paragraphs[1:]
    paragraph = " ".join(paragraphs[0].split()).replace("``", "`") if paragraphs else ""
    sentence = re.split(r"(?<=[a-z0-9)'\"`]\.) (?=[A-Z])", paragraph)[0].rstrip(":")
    if not sentence.isascii() or not 10 <= len(sentence) <= MAX_SUMMARY:
        return ""
    return sentence[0].upper() + sentence[1:] + ("" if sentence.endswith((".", "!", "?")) else ".")
