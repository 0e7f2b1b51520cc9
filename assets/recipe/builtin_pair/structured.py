"""Chats with structured answers: JSON, SQL, tables, and lists of things that everybody knows."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from builtin_pair.chats import Chat, HeldOut, Turn
from builtin_pair.material import Material
from builtin_pair.sections import read_sections, say
from builtin_pair.structured_lists import as_bullets, known_set, sequence
from builtin_pair.structured_records import json_request, table_request
from builtin_pair.structured_requests import RequestMaker, request_text
from builtin_pair.structured_sql import count, create, select

MAKERS: tuple[tuple[RequestMaker, float], ...] = (
    (json_request, 6),
    (select, 5),
    (create, 2.5),
    (count, 1.5),
    (table_request, 2.5),
    (known_set, 3),
    (sequence, 4),
)
_HELD_OUT_HARDNESS = 0.5
_HELD_OUT_ROUNDS = 4


def chats(random: Random) -> Iterator[Chat]:
    """Endless requests for structured answers, about every eighth with a second turn."""
    material = Material(random, read_sections("words.txt"))
    makers, weights = [maker for maker, _ in MAKERS], [weight for _, weight in MAKERS]
    while True:
        request = random.choices(makers, weights)[0](material)
        turns = [Turn(request_text(request.section, request.values, random), request.answer)]
        if request.follow_ups and random.random() < 0.3:
            section, values, answer = random.choice(request.follow_ups)
            turns.append(Turn(request_text(section, values, random), answer))
        yield Chat("structured", tuple(turns))


def held_out(random: Random) -> list[HeldOut]:
    """About 80 requests in hand-written wordings, with words that are not in the training lists."""
    material = Material(random, read_sections("held_out/words.txt"), _HELD_OUT_HARDNESS)
    asked = read_sections("held_out/structured.txt")
    known = (entry.split("=") for entry in asked["known"])
    found = [HeldOut("structured", prompt, as_bullets(members)) for prompt, members in known]
    for maker, _ in MAKERS:
        if maker is known_set:
            continue
        for wording in asked[maker(material).section] * _HELD_OUT_ROUNDS:
            request = maker(material)
            found.append(HeldOut("structured", say(wording, random, request.values), request.answer))
    return found
