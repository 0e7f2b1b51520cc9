"""Measures the time to open a list of many stored sessions and to search it.

`PYTHONPATH=tests python -m benchmarks.session_list`. The first figures are for a new process that opens the file and
reads the first page.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from statistics import median

from specchat.store import Store, StoredMessage, StoredSession, new_id

_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "zy")


def fill(path: Path, num_sessions: int, num_messages: int) -> None:
    """A store with this many sessions and messages, whose words are distributed as in natural language."""
    chance = random.Random(1)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    weights = [*accumulate(1 / (rank + 1) for rank in range(len(words)))]
    with Store.open(path) as store:
        for begin in range(0, num_sessions, 500):
            with store.together():
                for number in range(begin, min(begin + 500, num_sessions)):
                    session, parent = new_id(), None
                    title = " ".join(chance.choices(words, cum_weights=weights, k=5))
                    store.create(StoredSession(session, title, created=float(number + 1)))
                    for turn in range(num_messages):
                        text = " ".join(chance.choices(words, cum_weights=weights, k=20 if turn % 2 == 0 else 150))
                        message = StoredMessage(
                            new_id(), session, parent, ("user", "assistant")[turn % 2], text, float(number + 1)
                        )
                        store.add_message(message)
                        parent = message.id


def timed(work: Callable[[], object], repeats: int = 5) -> float:
    """The median time in milliseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) * 1000)
    return median(times)


_FIRST_PAGE = """
import sys, time
from pathlib import Path
begin = time.perf_counter()
from specchat.store import Store
loaded = time.perf_counter()
with Store.open(Path(sys.argv[1])) as store:
    page = store.sessions(50)
    end = time.perf_counter()
print((loaded - begin) * 1000, (end - loaded) * 1000, len(page))
"""


def report(path: Path) -> None:
    """Prints one figure per line."""
    first = subprocess.run([sys.executable, "-c", _FIRST_PAGE, str(path)], check=True, capture_output=True, text=True)
    imports, opening, shown = first.stdout.split()
    print(f"file                                {path.stat().st_size / 2**20:8.0f} MiB")
    print(f"new process: imports                {float(imports):8.1f} ms")
    print(f"new process: open, first page of {shown} {float(opening):8.1f} ms")
    with Store.open(path) as store:
        total = store.num_sessions()
        print(f"sessions                            {total:8d}")
        print(f"first page again                    {timed(lambda: store.sessions(50)):8.1f} ms")
        print(f"last page                           {timed(lambda: store.sessions(50, total - 50)):8.1f} ms")
        for query in ("b", "ba", "bace", "bacedifo", "ba ce", '"ba ce"', "ba gukale", "nowhere", "日本", "🙂"):
            hits = len(store.search(query))
            print(f"search {query:12} {hits:4d} hits        {timed(lambda query=query: store.search(query)):8.1f} ms")


def main() -> None:
    """Fills a store in a temporary folder and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=10, help="messages of each session")
    parser.add_argument("--file", type=Path, help="fill this file, or use it if it exists, and keep it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or Path(folder) / "sessions.db"
        if not path.exists():
            begin = time.perf_counter()
            fill(path, arguments.sessions, arguments.messages)
            print(f"filled in                           {time.perf_counter() - begin:8.1f} s")
        report(path)


if __name__ == "__main__":
    main()
