"""Requests for lists that everybody knows: days, planets, even numbers, the alphabet."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

from builtin_pair.material import Material
from builtin_pair.sections import choose_words
from builtin_pair.structured_requests import Request, wordings

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
FIBONACCI = (0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)


def known_set(material: Material) -> Request:
    """The members of a small set, as bullets."""
    name, members = material.random.choice(wordings()["known"]).split("=")
    return Request("set", {"set": choose_words(name, material.random)}, as_bullets(members))


def as_bullets(members: str) -> str:
    """Members that commas separate, each on a line behind a dash."""
    return "\n".join(f"- {member}" for member in members.split(", "))


def sequence(material: Material) -> Request:
    """Numbers or letters in a row, on one line; a multiplication table has a line for each product."""
    pick = material.random.randint
    size, end, start, factor = pick(3, 12), pick(4, 30), pick(2, 20), pick(2, 12)
    letter = pick(3, 20)
    sequences: tuple[tuple[str, list[int] | list[str]], ...] = (
        (f"the numbers from 1 to {end}", list(range(1, end + 1))),
        (f"(the numbers|all numbers) from {start} to {start + size}", list(range(start, start + size + 1))),
        (f"(the|all) even numbers (up to|from 1 to) {end}", list(range(2, end + 1, 2))),
        (f"(the|all) odd numbers (up to|from 1 to) {end}", list(range(1, end + 1, 2))),
        (f"the first {size} even numbers", list(range(2, 2 * size + 1, 2))),
        (f"the first {size} odd numbers", list(range(1, 2 * size, 2))),
        (f"the first {size} powers of (two|2)", [2**power for power in range(size)]),
        (f"the first {size} (square numbers|squares)", [number**2 for number in range(1, size + 1)]),
        (f"the first {size} (prime numbers|primes)", list(PRIMES[:size])),
        (f"the first {size} Fibonacci numbers", list(FIBONACCI[:size])),
        (f"the first {size} multiples of {factor}", [factor * number for number in range(1, size + 1)]),
        (f"(a countdown|the countdown|the numbers backwards) from {end} to 1", list(range(end, 0, -1))),
        ("the (tens|multiples of ten) up to 100", list(range(10, 101, 10))),
        ("(the alphabet|the letters of the alphabet|all letters of the alphabet)", list(ascii_lowercase)),
        ("(the alphabet|the letters) in (capitals|upper case|capital letters)", list(ascii_uppercase)),
        (f"the first {letter} letters of the alphabet", list(ascii_lowercase[:letter])),
        (
            f"the letters from {ascii_lowercase[letter]} to {ascii_lowercase[min(25, letter + size)]}",
            list(ascii_lowercase[letter : letter + size + 1]),
        ),
        (
            f"the (multiplication table|times table|multiplication row) (of|for) {factor}",
            [f"{factor} x {number} = {factor * number}" for number in range(1, 11)],
        ),
    )
    wording, members = material.random.choice(sequences)
    between = "\n" if "table" in wording else ", "
    asked = choose_words(wording, material.random)
    return Request("sequence", {"sequence": asked}, between.join(str(member) for member in members))
