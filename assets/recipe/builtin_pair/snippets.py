"""Random pieces of code, data files, logs and tables, each under about 450 characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from builtin_pair.library_texts import code_pieces
from builtin_pair.material import Material
from builtin_pair.python_functions import listed_functions, local_names

Language = Literal["python", "javascript", "c", "sql", "json", "ini", "bash"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code in a language, and the names in it that can be renamed."""

    language: Language
    text: str
    names: tuple[str, ...] = ()


def python(material: Material) -> Snippet:
    """A function, a method or loose statements in Python."""
    names = material.distinct(material.variable, 4)
    function = material.function_name()
    a, b, c, d = names
    size = material.count(1, 6)
    statements = [_python_statement(material, names) for _ in range(size)]
    body = "\n".join(statements)
    form = material.random.random()
    if form < 0.25:
        return Snippet("python", body, _used(names, body))
    head = f"def {function}({', '.join(material.random.sample((a, b, c), material.random.randint(1, 3)))}):"
    if form < 0.45:
        head = f"def {function}({a}: int, {b}: str = {material.random.choice(names[2:])!r}) -> int:"
    elif form < 0.6:
        head, body = f"class {material.class_name()}:", f"def {function}(self, {a}, {b}):\n{_indent(body)}"
    text = f"{head}\n{_indent(body)}"
    if form > 0.6:
        result = material.random.choice((a, b, f"{a} + {b}", f"{c}['{d}']", f"{a} * {material.integer()}"))
        text += f"\n    return {result}"
    return Snippet("python", text, _used([*names, function], text))


def _python_statement(material: Material, names: list[str]) -> str:
    a, b, c, d = material.random.sample(names, 4)
    number, function, word = material.integer(), material.function_name(), material.word()
    return material.random.choice((
        f"{a} = {b} {material.random.choice('+-*/%')} {number}",
        f"{a} = {function}({b}, {c})",
        f"{a}.append({b})",
        f"if {a} > {number}:\n    {b} = {c}",
        f"if {a} is None:\n    raise ValueError(\"{material.phrase(2, 4)}\")",
        f"for {a} in {b}:\n    print({a}, {c})",
        f"for {a} in range({number}):\n    {b} += {a}",
        f"{a} = [{b} * {number} for {b} in {c} if {b} != {d}]",
        f"{a} = {{\"{word}\": {b}, \"{material.token()}\": {number}}}",
        f"with open(\"{material.file_name()}\") as {a}:\n    {b} = {a}.read()",
        f"{a}, {b} = {b}, {a}",
        f"print(f\"{word}: {{{a}}}\")",
        f"{a} = \"{material.phrase(1, 4)}\"",
        f"while {a} < {number}:\n    {a} += {material.random.randint(1, 9)}",
        f"{a} = sorted({b} + {c})",
        f"{a} = {number}",
    ))  # fmt: skip


def c_like(material: Material) -> Snippet:
    """A function in JavaScript or C."""
    names = material.distinct(material.variable, 4)
    language: Language = material.random.choice(("javascript", "c"))
    kind, declare = ("function", "const") if language == "javascript" else ("int", "int")
    lines: list[str] = []
    for _ in range(material.count(1, 6)):
        a, b, c, d = material.random.sample(names, 4)
        number = material.integer()
        lines.append(material.random.choice((
            f"{declare} {a} = {b} + {number};",
            f"{a} += {b} * {number};",
            f"if ({a} > {number}) {{\n    return {b};\n}}",
            f"{material.camel_case()}({a}, {b}, {c});",
            f"{a} = {b} > {c} ? {d} : {number};",
        )))  # fmt: skip
    function = material.camel_case()
    parameters = ", ".join(f"int {name}" if language == "c" else name for name in names[:2])
    text = f"{kind} {function}({parameters}) {{\n{_indent(chr(10).join(lines))}\n    return {names[0]};\n}}"
    return Snippet(language, text, _used([*names, function], text))


def sql(material: Material) -> Snippet:
    """An SQL statement, on one or several lines."""
    table, *columns = material.distinct(material.variable, 4)
    a, b, c = columns
    number = material.integer()
    text = material.random.choice((
        f"SELECT {a}, {b}\nFROM {table}\nWHERE {c} > {number}\nORDER BY {a};",
        f"SELECT {a}, COUNT(*) FROM {table} GROUP BY {a};",
        f"UPDATE {table}\nSET {a} = {number}, {b} = '{material.word()}'\nWHERE {c} = {material.integer()};",
        f"INSERT INTO {table} ({a}, {b}, {c})\nVALUES ('{material.token()}', {number}, '{material.date()}');",
        f"DELETE FROM {table} WHERE {a} = '{material.token()}' AND {b} < {number};",
        f"CREATE TABLE {table} (\n    {a} INTEGER PRIMARY KEY,\n    {b} TEXT NOT NULL,\n    {c} REAL\n);",
    ))  # fmt: skip
    return Snippet("sql", text, _used([table, *columns], text))


def json_object(material: Material) -> Snippet:
    """An object in JSON with random keys and values, indented by two blanks or on one line."""
    pairs = {key: _json_value(material) for key in material.distinct(lambda: _key(material), material.count(1, 8))}
    if material.chance(0.25):
        pairs[material.pick("field")] = [material.token() for _ in range(material.count(1, 4))]
    return Snippet("json", json.dumps(pairs, indent=None if material.chance(0.2) else 2))


def _json_value(material: Material) -> object:
    form = material.random.random()
    if form < 0.3:
        return int(material.integer())
    return material.chance(0.5) if form < 0.4 else material.phrase(1, 3)


def settings(material: Material) -> Snippet:
    """Lines `key = value`, sometimes under a section's name."""
    lines = [f"{key} = {value}" for key, value in pairs(material, 1, 9)]
    section = [f"[{material.stem()}]"] if material.chance(0.4) else []
    return Snippet("ini", "\n".join(section + lines))


def shell(material: Material) -> Snippet:
    """A few commands of a shell with random file names."""
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"cp {material.file_name()} {material.file_name()}",
        lambda: f"mkdir -p {material.stem()}/{material.variable()}",
        lambda: f'grep -n "{material.token()}" {material.file_name()}',
        lambda: f"export {material.constant()}={material.identifier()}",
        lambda: f"python {material.variable()}.py --{material.stem()} {material.integer()}",
        lambda: f"curl -s https://{material.pick('domain')}/{material.stem()}/{material.integer()}",
    )
    return Snippet("bash", "\n".join(material.random.choice(makers)() for _ in range(material.count(1, 6))))


def library(material: Material) -> Snippet:
    """A piece of the standard library, often with one of its names changed, so that it cannot be memorised."""
    known = material.chance(0.2)
    code = material.random.choice(listed_functions()).code if known else material.random.choice(code_pieces())
    names = _used(local_names(code), code)
    if names and material.chance(0.6):
        old, new = material.random.choice(names), material.variable()
        if new not in code:
            code = re.sub(rf"\b{old}\b", new, code)
            names = tuple(new if name == old else name for name in names)
    return Snippet("python", code, names)


def any_code(material: Material) -> Snippet:
    """A snippet in any of the languages, Python most often."""
    if material.makes_sense():
        return library(material)
    makers = (python, python, python, c_like, sql, json_object, json_object, settings, shell)
    return material.random.choice(makers)(material)


def renamable_code(material: Material) -> Snippet:
    """A snippet that has at least one name to rename."""
    while True:
        makers = (library,) if material.makes_sense() else (python, python, python, c_like, sql)
        snippet = material.random.choice(makers)(material)
        if snippet.names:
            return snippet


def pairs(material: Material, low: int, high: int) -> list[tuple[str, str]]:
    """`low` to `high` different keys, each with a value."""
    keys = material.distinct(lambda: _key(material), material.count(low, high))
    return [(key, material.token() if material.chance(0.8) else material.phrase(2, 3)) for key in keys]


def log_lines(material: Material) -> list[str]:
    """Lines of a log file, each with time, level and message."""
    day = material.date()
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"{material.function_name()} took {material.integer()} ms",
        lambda: f"user {material.email()} logged in from {material.ip_address()}",
        lambda: f"cannot open {material.file_name()}",
        lambda: f"request {material.hexadecimal()} done",
        lambda: f"{material.variable()}={material.integer()} {material.variable()}={material.integer()}",
    )
    levels = ("INFO", "INFO", "WARN", "ERROR", "DEBUG")
    lines = [
        f"{material.clock()} {material.random.choice(levels)} {material.random.choice(makers)()}"
        for _ in range(material.count(1, 6))
    ]
    return [f"{day} {line}" for line in lines] if material.chance(0.4) else lines


def table(material: Material) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table of two to four columns."""
    makers: tuple[Callable[[], str], ...] = (
        material.full_name, material.email, material.integer, material.word, material.code, material.date,
        lambda: material.pick("city"), material.decimal, lambda: material.pick("first"),
    )  # fmt: skip
    header = material.distinct(lambda: material.pick("field"), 1 + material.count(1, 3))
    chosen = material.random.sample(makers, len(header))
    return header, [[make() for make in chosen] for _ in range(material.count(2, 6))]


def _key(material: Material) -> str:
    return material.pick("field") if material.chance(0.6) else material.variable()


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _used(names: list[str], text: str) -> tuple[str, ...]:
    return tuple(name for name in names if name in text)
