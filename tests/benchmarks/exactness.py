"""Compares texts under `--exact` with plain decoding, for every drafter and k, and says what exactness costs.

Each prompt is answered plainly and by each configuration, at temperature 0 and 0.8, from a new session with the same
seed. A line of JSON for each answer is appended to a file, and a run goes on where the last one stopped: with the same
models and file it skips what is there. `--off` does the same without `--exact`, for comparison.

`PYTHONPATH=tests python -m benchmarks.exactness RESULTS.jsonl -m TARGET.gguf -d DRAFT.gguf`; `--report` only prints the
table of a file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, Message, Settings
from specchat_engine.stores import write_suffixes

CODE = "def area(w, h):\n    return w * h\n\n\ndef volume(w, h, d):\n    return area(w, h) * d\n"
EDITS = (
    f"Add type hints and a docstring to each function:\n\n```python\n{CODE}```",
    f"Rename the parameter w to width everywhere, and print the whole file:\n\n```python\n{CODE}```",
    "Repeat this list, with a full stop after each line:\nred\ngreen\nblue\nyellow\nblack\nwhite\norange\npurple\n",
)
CONFIGURATIONS = (
    *(("model", k) for k in (1, 3, 15)),
    *(("lookup", k) for k in (1, 2, 4, 15)),
    *(("recycling", k) for k in (2, 5)),
    ("store", 6),
    ("hybrid", 5),
    ("hybrid", "auto"),
)
TEMPERATURES = (0.0, 0.8)
SEED = 1


def prompts() -> Iterator[tuple[str, str]]:
    """Edits and the benchmark's prompts, by turns, so that a run that is stopped has some of each kind."""
    kinds = {"edit": EDITS, **benchmark_prompts()}
    for row in zip_longest(*([(kind, text) for text in texts] for kind, texts in kinds.items())):
        yield from (each for each in row if each)


def answered(engine: Engine, prompt: str, settings: Settings) -> dict[str, Any]:
    """The token ids of an answer, and its times in milliseconds."""
    engine.forget()
    session = engine.session(settings=settings, seed=SEED)
    ids: list[int] = []
    begin = time.perf_counter()
    for each in session.answer([Message("user", prompt)], 0, 0):
        ids += [token.id for token in each.drafted[: each.num_accepted]]
        ids += [each.token.id] if each.token else []
    wall = 1000 * (time.perf_counter() - begin)
    return {"ids": ids, "ms": wall, "drafted": session.stats.num_draft_tokens, "rounds": session.stats.num_rounds}


def measure(engine: Engine, file: Path, tokens: int, *, exact: str) -> None:
    """Appends what is not in the file yet."""
    known = lines(file)
    done = {key(line) for line in known}
    plain = {key(line)[:3]: line["ids"] for line in known if line["drafter"] == "none"}
    for kind, prompt in prompts():
        for temperature in TEMPERATURES:
            for drafter, k in (("none", 0), *CONFIGURATIONS):
                line = {"exact": exact, "prompt": prompt, "temperature": temperature, "drafter": drafter, "k": k}
                if key(line) in done or drafter not in engine.drafters:
                    continue
                sampling = replace(engine.recommended, temperature=temperature)
                settings = Settings(k=k, drafter=drafter, sampling=sampling, max_tokens=tokens)
                line |= {"kind": kind, **answered(engine, prompt, settings)}
                if drafter == "none":
                    plain[key(line)[:3]] = line["ids"]
                else:
                    line["parts_at"] = parts_at(plain[key(line)[:3]], line["ids"])
                with file.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(line) + "\n")


def key(line: dict[str, Any]) -> tuple[Any, ...]:
    """What an answer is: the plain one of the same prompt and temperature has the same first three parts."""
    return tuple(line[name] for name in ("exact", "prompt", "temperature", "drafter", "k"))


def parts_at(one: list[int], other: list[int]) -> int | None:
    """The first place where two answers differ, None if they are equal."""
    return next((place for place, (a, b) in enumerate(zip_longest(one, other)) if a != b), None)


def lines(file: Path) -> list[dict[str, Any]]:
    """The answers of a file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def report(found: list[dict[str, Any]]) -> Iterator[str]:
    """A row for each drafter, k and temperature: answers, those equal to plain decoding, tokens, tokens/s."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in found:
        groups[line["exact"], line["temperature"], line["drafter"], line["k"]].append(line)
    yield "exact | temperature | drafter | k | answers | equal | tokens | drafted a round | tokens/s"
    for group, answers in groups.items():
        equal = sum(answer.get("parts_at") is None for answer in answers)
        count, rounds = (sum(each) for each in zip(*((len(a["ids"]), a["rounds"]) for a in answers), strict=True))
        drafted = sum(answer["drafted"] for answer in answers) / rounds
        speed = 1000 * count / sum(answer["ms"] for answer in answers)
        head = " | ".join(map(str, group))
        yield f"{head} | {len(answers)} | {equal} | {count} | {drafted:.1f} | {speed:.1f}"
    compared = [line for line in found if line["drafter"] != "none"]
    for exact in dict.fromkeys(line["exact"] for line in compared):
        own = [line for line in compared if line["exact"] == exact]
        equal = sum(line["parts_at"] is None for line in own)
        yield f"exact {exact}: {equal} of {len(own)} drafted answers equal plain decoding"


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--off", action="store_true", help="without --exact")
    parser.add_argument("--report", action="store_true", help="only print the table")
    given = parser.parse_args()
    if not given.report:
        exact = "off" if given.off else "on"
        options = LoadOptions(exact=exact, n_ctx=4096)
        with TemporaryDirectory() as folder, Engine.load(given.model, given.draft, options, stores={}) as engine:
            print(engine.exactness)
            store = Path(folder, "source")
            sources = [source.read_text("utf-8") for source in Path(__file__).parent.glob("*.py")]
            write_suffixes(store, [engine.vocabulary.tokenize(source, special=False) for source in sources])
            engine.use_stores({"source": store})
            measure(engine, given.file, given.tokens, exact=exact)
    print("\n".join(report(lines(given.file))))


if __name__ == "__main__":
    main()
