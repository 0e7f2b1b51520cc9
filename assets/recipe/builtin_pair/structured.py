"""Chats with structured answers: JSON, SQL, tables, and lists of things that everybody knows."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from string import ascii_lowercase, ascii_uppercase

from builtin_pair.chats import Chat, HeldOut, Turn
from builtin_pair.material import Material
from builtin_pair.sections import choose_words, read_sections, say
from builtin_pair.structured_records import Request, RequestMaker, json_request, request_text, table_request, wordings
from builtin_pair.structured_sql import count, create, select

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
FIBONACCI = (0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)


def known_set(material: Material) -> Request:
    """The members of a small set, as bullets."""
    name, members = material.random.choice(wordings()["known"]).split("=")
    return Request("set", {"set": choose_words(name, material.random)}, as_bullets(members))


def as_bullets(members: str) -> str:
    """Comma-separated members as a list with a dash before each."""
    return "\n".join(f"- {member}" for member in members.split(", "))


def sequence(material: Material) -> Request:
    """A sequence of numbers or letters on one line. A multiplication table has a line for each product."""
    pick = material.random.randint
    size, end, start, factor = pick(3, 12), pick(4, 30), pick(2, 20), pick(2, 12)
    letter = pick(3, 20)
    sequences: tuple[tuple[str, list[int] | list[str]], ...] = (
        (
            f"(the|all|the whole) numbers (from 1 to {end}|from 1 up to {end}|from one to {end}|1 to {end})",
            list(range(1, end + 1)),
        ),
        (f"(numbers 1 to {end}|1 to {end}|every number from 1 to {end})", list(range(1, end + 1))),
        (
            f"(the numbers|all numbers|the numbers in order) (from {start} to|between {start} and) {start + size}",
            list(range(start, start + size + 1)),
        ),
        (
            f"(the numbers {start} to {start + size}|{start} up to {start + size}|numbers starting at {start}"
            f" and ending at {start + size})",
            list(range(start, start + size + 1)),
        ),
        (f"(the|all|the positive) even numbers (up to|from 1 to|until|not above) {end}", list(range(2, end + 1, 2))),
        (f"(every even number|even numbers) (up to|from 1 to) {end}", list(range(2, end + 1, 2))),
        (f"(the|all|the positive) odd numbers (up to|from 1 to|until|not above) {end}", list(range(1, end + 1, 2))),
        (f"(every odd number|odd numbers) (up to|from 1 to) {end}", list(range(1, end + 1, 2))),
        (f"(the first {size}|the {size} smallest|{size}) (positive |)even numbers", list(range(2, 2 * size + 1, 2))),
        (f"(the first {size}|the {size} smallest|{size}) (positive |)odd numbers", list(range(1, 2 * size, 2))),
        (f"(the first {size}|{size}) powers of (two|2)(| starting with 1)", [2**power for power in range(size)]),
        (
            f"(the first {size}|the {size} smallest|{size}) (square numbers|squares|perfect squares)",
            [number**2 for number in range(1, size + 1)],
        ),
        (f"(the first {size}|the {size} smallest|{size}) (prime numbers|primes)", list(PRIMES[:size])),
        (
            f"(the first {size}|{size}) (Fibonacci numbers|numbers of the Fibonacci sequence|terms of Fibonacci)",
            list(FIBONACCI[:size]),
        ),
        (
            f"(the first {size}|the {size} smallest|{size}) multiples of {factor}",
            [factor * number for number in range(1, size + 1)],
        ),
        (
            f"(a countdown|the countdown|the numbers (backwards|down|in reverse)) from {end} to 1",
            list(range(end, 0, -1)),
        ),
        (f"(a countdown that starts at {end}|the numbers {end} down to 1)", list(range(end, 0, -1))),
        (
            "the (tens up to 100|multiples of ten up to 100|tens from 10 to 100|numbers to 100 in steps of ten)",
            list(range(10, 101, 10)),
        ),
        (
            "(the alphabet|the letters of the alphabet|all letters of the alphabet|the letters from a to z|the ABC"
            "|the English alphabet|every letter of the alphabet|the whole alphabet)",
            list(ascii_lowercase),
        ),
        (
            "(the alphabet|the letters|all letters|the ABC) in (capitals|upper case|capital letters|big letters)",
            list(ascii_uppercase),
        ),
        ("(the capital letters|all capital letters|the upper-case alphabet)", list(ascii_uppercase)),
        (
            f"(the first {letter} letters of|{letter} letters from the start of) the alphabet",
            list(ascii_lowercase[:letter]),
        ),
        (
            f"(the letters|all letters) (from {ascii_lowercase[letter]} to|between {ascii_lowercase[letter]} and)"
            f" {ascii_lowercase[min(25, letter + size)]}",
            list(ascii_lowercase[letter : letter + size + 1]),
        ),
        (
            f"the (multiplication table|times table|multiplication row|table) (of|for) {factor}",
            [f"{factor} x {number} = {factor * number}" for number in range(1, 11)],
        ),
        (
            f"(the {factor} times table|{factor} times table|the products of {factor} and 1 to 10)",
            [f"{factor} x {number} = {factor * number}" for number in range(1, 11)],
        ),
    )
    wording, members = material.random.choice(sequences)
    between = "\n" if "table" in wording else ", "
    asked = choose_words(wording, material.random)
    return Request("sequence", {"sequence": asked}, between.join(str(member) for member in members))


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
