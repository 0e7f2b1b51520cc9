"""Gives the header reader hundreds of thousands of damaged headers and the largest valid ones.

    PYTHONPATH=tests python -m benchmarks.fuzz_headers --cases 200000

Exits with 1 at the first wrong answer or unexpected exception, or when a limit on time or memory is exceeded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable

from specchat_engine.gguf.cursor import MAX_HEADER_BYTES, MAX_KEYS, MAX_NESTED, MAX_STRINGS, MAX_TENSORS, MAX_TEXT_BYTES
from support.header_mutations import agrees, look, mutate, seeds
from support.headers import Bytes

MOST_SECONDS, MOST_MEGABYTES = 2.0, 256.0


def vocabulary(tokens: int) -> bytes:
    """Tokens with scores and types, and two merges per token."""
    writer = Bytes(keys=4).text(b"tokens").numbers("IIQ", 9, 8, tokens)
    for number in range(tokens):
        writer.text(b"token%d" % number)
    writer.text(b"scores").numbers("IIQ" + "f" * tokens, 9, 6, tokens, *[0.5] * tokens)
    writer.text(b"types").numbers("IIQ" + "i" * tokens, 9, 5, tokens, *[1] * tokens)
    writer.text(b"merges").numbers("IIQ", 9, 8, 2 * tokens)
    for number in range(2 * tokens):
        writer.text(b"to ken%d" % number)
    return writer.bytes


def empty_texts() -> bytes:
    """As many texts as are allowed."""
    return Bytes(keys=1).text(b"a").numbers("IIQ", 9, 8, MAX_STRINGS).bytes + bytes(8 * MAX_STRINGS)


def wide_text() -> bytes:
    """The largest text, with one character that makes Python store four bytes for each, and numbers up to the limit."""
    text = "\U0001f600".encode() + b"x" * (MAX_TEXT_BYTES - 8)
    count = MAX_HEADER_BYTES - len(text) - 100
    return Bytes(keys=2).text(b"a").numbers("I", 8).text(text).text(b"b").numbers("IIQ", 9, 0, count).bytes + bytes(
        count
    )


def many_tensors() -> bytes:
    """As many tensors and keys as are allowed."""
    writer = Bytes(tensors=MAX_TENSORS, keys=MAX_KEYS)
    for number in range(MAX_KEYS):
        writer.text(b"key%d" % number).numbers("II", 4, number)
    for number in range(MAX_TENSORS):
        writer.tensor(b"blk.%d.some_rather_long_name.weight" % number, [8, 1, 1, 1], 0, 32 * number)
    return writer.padded(32 * MAX_TENSORS)


def many_arrays() -> bytes:
    """As many nested arrays as are allowed."""
    writer = Bytes(keys=1).text(b"a").numbers("IIQ", 9, 9, MAX_NESTED)
    return writer.numbers("IQ" * MAX_NESTED, *[0, 0] * MAX_NESTED).bytes


LARGEST: dict[str, Callable[[], bytes]] = {
    "250,000 tokens, scores, types, 500,000 merges": lambda: vocabulary(250_000),
    "as many texts as allowed": empty_texts,
    "64 MiB: a text of 16 MiB in four bytes per character, numbers": wide_text,
    "as many tensors and keys as allowed": many_tensors,
    "as many nested arrays as allowed": many_arrays,
}


def measure(name: str) -> tuple[float, float, int]:
    """Seconds to read one of the largest headers, megabytes used beyond the bytes themselves, and its size."""
    data = LARGEST[name]()
    before = resident()
    begin = time.perf_counter()
    header = look(data, size_known=True)
    seconds = time.perf_counter() - begin
    if header is None:
        raise SystemExit(f"{name}: rejected, although it is within the limits")
    return seconds, peak() - before, len(data)


def resident() -> float:
    """Current megabytes of this process. Resets the peak."""
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")
    return peak()


def peak() -> float:
    """Peak megabytes of this process."""
    with open("/proc/self/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def fuzz(cases: int, seed: int) -> None:
    """Prints the results. Raises SystemExit at the first wrong answer."""
    chance, sound = random.Random(seed), seeds()
    read, slowest, begin = 0, 0.0, time.perf_counter()
    for case in range(cases):
        data = mutate(sound, chance)
        start = time.perf_counter()
        header = look(data, size_known=case % 2 == 0)
        slowest = max(slowest, time.perf_counter() - start)
        if header is not None:
            read += 1
            if not agrees(header, data):
                raise SystemExit(f"a wrong answer: seed {seed}, case {case}")
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{cases} damaged headers in {time.perf_counter() - begin:.0f} s: {read} read right, {cases - read} rejected")
    print(f"slowest {1000 * slowest:.1f} ms, whole process at most {megabytes:.0f} MB")


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    fuzz(options.cases, options.seed)
    within = True
    for name in LARGEST:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, megabytes, size = pool.apply(measure, (name,))
        within &= seconds < MOST_SECONDS and megabytes < MOST_MEGABYTES
        print(f"{name}: {size / 2**20:.1f} MiB, {seconds:.2f} s, {megabytes:.0f} MB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
