"""Requests for structured answers, and for records as JSON or tables, each with one canonical answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from builtin_pair.copying_prompts import fence
from builtin_pair.material import Material
from builtin_pair.sections import Sections, capitalised, read_sections, say

WORDINGS = "structured_wordings.txt"


@dataclass(frozen=True, slots=True)
class Request:
    """A request, as the section of its wordings and the values of their slots, and the only right answer.

    Each of `follow_ups` is a section of wordings for a second turn, the values of its slots, and its answer.
    """

    section: str
    values: Mapping[str, str]
    answer: str
    follow_ups: tuple[tuple[str, Mapping[str, str], str], ...] = ()


RequestMaker = Callable[[Material], Request]


def wordings() -> Sections:
    """The wordings of all requests, and their word lists."""
    return read_sections(WORDINGS)


def request_text(section: str, values: Mapping[str, str], random: Random) -> str:
    """A request in one of the section's wordings, with or without initial capital and punctuation."""
    text = say(random.choice(wordings()[section]), random, values)
    if text.lower().startswith(("what", "how", "can ", "could ")):
        end = random.choice("???.") if random.random() < 0.9 else ""
    else:
        end = "" if text.endswith((".", "?", "!")) else random.choice(("", ".", "."))
    return (capitalised(text) if random.random() < 0.8 else text) + end


def enumeration(pieces: list[str], random: Random) -> str:
    """The pieces as `a, b and c` or `a, b, c`."""
    if len(pieces) > 1 and random.random() < 0.6:
        return f"{', '.join(pieces[:-1])} and {pieces[-1]}"
    return ", ".join(pieces)


def assignments(pairs: Mapping[str, str], random: Random) -> str:
    """Keys with their values as people list them: `name Anna, age 3`, `name = Anna, age = 3`, `name: Anna, age: 3`."""
    sign = random.choice((" ", " ", " = ", ": ", "="))
    return enumeration([f"{key}{sign}{value}" for key, value in pairs.items()], random)


def fenced_sql(lines: list[str]) -> str:
    """The lines of a statement in a fence, with a semicolon at the end."""
    return fence("\n".join(lines) + ";", "sql")


Value = str | int | float | bool


def value_makers(material: Material) -> dict[str, Callable[[], Value]]:
    """Functions that make the value of a field, by the name of its type in the data file."""
    pick = material.random.randint
    word = wordings()
    return {
        "name": material.full_name,
        "first": lambda: material.pick("first"),
        "city": lambda: material.pick("city"),
        "email": material.email,
        "noun": lambda: material.pick("noun"),
        "stem": lambda: material.stem().replace("_", ""),
        "pseudo": lambda: material.pseudo_word().capitalize(),
        "domain": lambda: material.pick("domain"),
        "title": lambda: f"The {material.pick('adjective').capitalize()} {material.pick('noun').capitalize()}",
        "code": lambda: material.code().replace("#", "N"),
        "date": material.date,
        "version": material.version,
        "age": lambda: pick(1, 99),
        "year": lambda: pick(1900, 2035),
        "number": lambda: pick(1, 999),
        "small": lambda: pick(1, 50),
        "port": lambda: pick(1000, 9999),
        "seconds": lambda: pick(90, 600),
        "price": lambda: pick(1, 99) + pick(1, 99) / 100,
        "rating": lambda: pick(1, 9) + pick(1, 9) / 10,
        "degrees": lambda: pick(-20, 45),
        "decimal": lambda: pick(0, 99) + pick(1, 9) / 10,
        "flag": lambda: material.chance(0.5),
        "unit": lambda: material.random.choice(word["unit"]),
        "status": lambda: material.random.choice(word["status"]),
        "priority": lambda: material.random.choice(word["priority"]),
        "pet": lambda: material.random.choice(word["pet"]),
        "colour": lambda: material.random.choice(word["colour"]),
    }


def written(value: Value) -> str:
    """The value as written in a request: as in JSON, but strings without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def random_record(material: Material) -> tuple[str, dict[str, Value]]:
    """The name of a record, and its fields with their values."""
    kind, _, fields = material.random.choice(wordings()["record"]).partition(": ")
    makers = value_makers(material)
    made = [field.split("=") for field in fields.split(", ")]
    if len(made) > 2 and material.chance(0.2):
        made.pop(material.random.randrange(len(made)))
    return kind, {field: makers[type_name]() for field, type_name in made}


def as_json(record: dict[str, Value]) -> str:
    """The record as pretty-printed JSON in a fence."""
    return fence(json.dumps(record, indent=2), "json")


def json_request(material: Material) -> Request:
    """Asks for a record described in words as JSON. A second turn changes or adds a field."""
    kind, record = random_record(material)
    values = {
        "record": kind,
        "a_record": f"{'an' if kind[0] in 'aeio' else 'a'} {kind}",
        "values": assignments({key: written(value) for key, value in record.items()}, material.random),
    }
    key = material.random.choice(list(record))
    changed: Value = material.random.randint(1, 99)
    if isinstance(record[key], str):
        changed = material.pseudo_word().capitalize() if material.chance(0.5) else material.pick("city")
    elif isinstance(record[key], bool):
        changed = not record[key]
    added = material.random.choice([name for name in ("note", "owner", "group", "label") if name not in record])
    word = material.pick("noun")
    return Request(
        "json",
        values,
        as_json(record),
        (
            ("then_change", {"key": key, "value": written(changed)}, as_json({**record, key: changed})),
            ("then_add", {"key": added, "value": word}, as_json({**record, added: word})),
        ),
    )


def table_request(material: Material) -> Request:
    """Asks for rows, written in one of several ways, as a Markdown table."""
    fields = [field.split("=") for field in material.random.choice(wordings()["record"]).partition(": ")[2].split(", ")]
    makers = value_makers(material)
    header = [field for field, _ in fields]
    rows = [[written(makers[type_name]()) for _, type_name in fields] for _ in range(material.random.randint(1, 5))]
    form = material.random.choice(("({})", "[{}]", "{}"))
    given = ("; " if form == "{}" else ", ").join(form.format(", ".join(cells)) for cells in rows)
    values = {"columns": enumeration(header, material.random), "rows": given}
    return Request("table", values, markdown_table(header, rows))


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, with one space around each cell."""
    ruled = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)
