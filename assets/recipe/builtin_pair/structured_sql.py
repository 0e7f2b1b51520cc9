"""Requests for SQL statements, each with one canonical answer."""

from __future__ import annotations

from builtin_pair.material import Material
from builtin_pair.sections import say
from builtin_pair.structured_records import Request, enumeration, fenced_sql, value_makers, wordings, written

TEXT_TYPES = ("name", "city", "email", "noun", "date", "code")
NUMBER_TYPES = ("age", "year", "number", "price", "small")
COLUMN_TYPES = {"integer": "INTEGER", "text": "TEXT", "real": "REAL", "date": "DATE"}


def select(material: Material) -> Request:
    """A query with or without condition and order. Second turns add what is missing."""
    table, columns = _table(material), _columns(material, 1, 4)
    everything = material.chance(0.15)
    asked = (
        material.random.choice(("all columns", "everything", "*"))
        if everything
        else enumeration(columns, material.random)
    )
    where, conditions = _where(material) if material.chance(0.65) else ("", [])
    order, ordered = _order(material, columns) if material.chance(0.5) else ("", [])
    lines = [f"SELECT {'*' if everything else ', '.join(columns)}", f"FROM {table}", *conditions]
    limit, column = str(material.random.randint(1, 50)), material.random.choice(columns)
    follow_ups = [("then_limit", {"number": limit}, fenced_sql([*lines, *ordered, f"LIMIT {limit}"]))]
    if not ordered:
        follow_ups.append(("then_order", {"column": column}, fenced_sql([*lines, f"ORDER BY {column}"])))
    values = {"columns": asked, "table": table, "where": where, "order": order}
    return Request("select", values, fenced_sql([*lines, *ordered]), tuple(follow_ups))


def create(material: Material) -> Request:
    """A request to create a table with typed columns."""
    table, columns = _table(material), _columns(material, 2, 6)
    types = [material.random.choice(list(COLUMN_TYPES)) for _ in columns]
    form = material.random.choice(("{0} {1}", "{0} ({1})", "{0} as {1}", "{0}: {1}", "{1} {0}"))
    asked = [form.format(column, name) for column, name in zip(columns, types, strict=True)]
    rows = [f"    {column} {COLUMN_TYPES[name]}" for column, name in zip(columns, types, strict=True)]
    answer = fenced_sql([f"CREATE TABLE {table} (\n" + ",\n".join(rows) + "\n)"])
    return Request("create", {"table": table, "columns": enumeration(asked, material.random)}, answer)


def count(material: Material) -> Request:
    """A request to count rows by group."""
    table, column = _table(material), _columns(material, 1, 1)[0]
    answer = fenced_sql([f"SELECT {column}, COUNT(*)", f"FROM {table}", f"GROUP BY {column}"])
    return Request("count", {"table": table, "column": column}, answer)


def _table(material: Material) -> str:
    return _name(material, "table_name")


def _columns(material: Material, low: int, high: int) -> list[str]:
    return material.distinct(lambda: _name(material, "column_name"), material.random.randint(low, high))


def _name(material: Material, section: str) -> str:
    """A name from that section or an invented one, never a reserved word of SQL."""
    if material.chance(0.75):
        return material.random.choice(wordings()[section])
    while (name := material.variable()) in wordings()["reserved"]:
        pass
    return name


def _literal(material: Material) -> tuple[str, str]:
    """A value as people write it, and in SQL."""
    makers = value_makers(material)
    if material.chance(0.5):
        plain = written(makers[material.random.choice(NUMBER_TYPES)]())
        return plain, plain
    plain = written(makers[material.random.choice(TEXT_TYPES)]())
    return plain, f"'{plain}'"


def _where(material: Material) -> tuple[str, list[str]]:
    """A condition in words, with a space before it, and its lines in SQL."""
    wording, operator = material.random.choice(wordings()["where"]).split("=>", 1)
    column = _columns(material, 1, 1)[0]
    plain, literal = _literal(material)
    if operator not in ("=", "<>"):
        plain = literal = str(material.random.randint(1, 2000))
    asked = say(wording, material.random, {"column": column, "number": plain})
    return f" {asked}", [f"WHERE {column} {operator} {literal}"]


def _order(material: Material, columns: list[str]) -> tuple[str, list[str]]:
    """A sort order in words, and its line in SQL."""
    wording, _, direction = material.random.choice(wordings()["order"]).partition("=>")
    column = material.random.choice(columns)
    asked = say(wording, material.random, {"column": column})
    return asked if asked.startswith(",") else f" {asked}", [f"ORDER BY {column}{f' {direction}' if direction else ''}"]
