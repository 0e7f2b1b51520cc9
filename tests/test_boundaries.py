"""Only the public API of other libraries is used, and no class name stands in two modules.

No underscore modules are used, no private attributes, no patched modules.

`specchat_engine.llama` is the exception: llama-cpp-python gives no public access to the library that it loads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [
    path
    for folder in ("app", "engine", "assets")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.is_relative_to(ROOT / "engine/specchat_engine/llama")
]
OURS = ("specchat", "specchat_engine", "specchat_assets", "builtin_pair")
NAMING = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Name, ast.Attribute, ast.Subscript),
)
DOCUMENTED = frozenset({"_exit", "_replace", "_asdict", "_fields"})
"""Public despite their names: `os._exit` and the methods of named tuples."""


def naming(source: str) -> list[ast.AST]:
    """The nodes of a module that may define or use a name."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, NAMING)]


def violations(nodes: Sequence[ast.AST], inherited: Set[str] = frozenset()) -> Iterator[str]:
    """Each use of a private name of another library, with its line number.

    A module may use the private names that it defines itself, and on `self` the `inherited` ones.
    """
    own = private_names(nodes) | DOCUMENTED
    for node in nodes:
        yield from (f"{node.lineno}: {name}" for name in _uses(node, own, inherited))  # type: ignore[attr-defined]


def private_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that a module defines: functions, classes, variables, and attributes of `self`."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            names.add(node.attr)
    return names


def _uses(node: ast.AST, own: Set[str], inherited: Set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if _is_private_module(alias.name)]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name for name in names if _is_private_module(name)]
    if isinstance(node, ast.Attribute) and _is_private(node.attr):
        allowed = own | inherited if _is_self(node.value) else own
        return [] if node.attr in allowed else [ast.unparse(node)]
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Call):
        called, arguments = ast.unparse(node.value.func), [ast.unparse(argument) for argument in node.value.args]
        return [ast.unparse(node)] if called == "vars" and not own.issuperset(arguments) else []
    return []


def _is_self(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and not node.args:
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _is_private_module(name: str) -> bool:
    first, *parts = name.split(".")
    return first not in OURS and any(_is_private(part) for part in [first, *parts])


@pytest.mark.parametrize(
    "source",
    [
        "from textual._compositor import CompositorUpdate",
        "import textual._xterm_parser",
        "from textual import _ansi_sequences",
        "class A:\n    def f(self):\n        self.screen._compositor.update()",
        "class A:\n    def f(self):\n        self._styles_cache.clear()",
        "def f(app):\n    app._display()",
        "vars(linux_driver)['XTermParser'] = None",
    ],
)
def test_uses_of_private_names_of_libraries_are_found(source: str) -> None:
    assert [*violations(naming(source))]


@pytest.mark.parametrize(
    "source",
    [
        "from __future__ import annotations",
        "from specchat.tui import _helper",
        "class A:\n    def __init__(self):\n        self._a = 1\n    def f(self, other):\n        return other._a",
        "found = vars(module)['x']",
        "import os\nos._exit(1)",
    ],
)
def test_a_modules_own_private_names_are_allowed(source: str) -> None:
    assert [*violations(naming(source))] == []


def test_only_public_names_of_libraries_are_used() -> None:
    modules = {path: naming(path.read_text()) for path in SOURCES}
    inherited = set[str]().union(*map(private_names, modules.values()))
    found = [
        f"{path.relative_to(ROOT)}:{use}" for path, nodes in modules.items() for use in violations(nodes, inherited)
    ]
    assert found == []


def test_no_two_modules_have_a_class_of_the_same_name() -> None:
    """A word finds a thing. Private classes, and classes in classes, belong to their module."""
    modules: dict[str, list[str]] = {}
    for folder in ("app/specchat", "engine/specchat_engine", "assets/specchat_assets"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not _is_private(node.name):
                    modules.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}
