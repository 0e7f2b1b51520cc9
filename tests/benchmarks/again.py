"""Measures the gain of prompt lookup that searches everything said in a session, not only the current conversation.

Three sessions take turns on the benchmark's prompts: plain decoding, the default policy with lookup in the
conversation, and the default policy with lookup in everything said. Each question is asked several times, as when an
answer is regenerated. The first time shows whether unrelated history does harm; the others show the gain from related
history. Prints, by temperature and kind, the median tokens/s from the prompt to the last token, relative to plain
decoding.

`PYTHONPATH=tests python -m benchmarks.again`.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specchat.bench.samples import Estimate
from specchat.bench.summary import Ratios, estimate, geometric_mean, paired_ratios
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, Message, SamplingParams, Session, Settings

PLAIN, ALONE, ALL = "plain", "conversation", "all"
PAIRS = ((ALONE, PLAIN), (ALL, PLAIN), (ALL, ALONE))
_SEED = 7

Asked = tuple[str, int, int]
"""Kind, prompt and attempt."""


def sessions(engine: Engine, temperature: float, tokens: int) -> dict[str, Session]:
    """One session for each configuration. Each learns acceptance on its own; costs are measured beforehand."""
    for _ in engine.measuring():
        pass
    known = engine.controller
    made = {}
    for way in (PLAIN, ALONE, ALL):
        engine.controller = copy.deepcopy(known)
        settings = Settings(sampling=SamplingParams(temperature=temperature), max_tokens=tokens)
        own = replace(settings, k=0) if way == PLAIN else replace(settings, lookup=way)
        made[way] = engine.session(settings=own, seed=_SEED)
    engine.controller = known
    return made


def measure(
    engine: Engine, temperature: float, tokens: int, each: int, attempts: int
) -> tuple[dict[str, dict[Asked, float]], int]:
    """Tokens per second by configuration and question, and the number of texts that differ from plain decoding's."""
    prompts = [
        (kind, number, text) for kind, texts in benchmark_prompts().items() for number, text in enumerate(texts[:each])
    ]
    random.Random(_SEED).shuffle(prompts)
    speeds: dict[str, dict[Asked, float]] = defaultdict(dict)
    different = 0
    ways = sessions(engine, temperature, tokens)
    for turn, (kind, number, text) in enumerate(prompts):
        for attempt in range(attempts):
            said = {}
            for way in random.sample(list(ways), len(ways)):
                session = ways[way]
                engine.forget()
                for _ in session.answer([Message("user", text)], turn, attempt):
                    pass
                said[way] = session.text
                speeds[way][kind, number, attempt] = 1000 * session.stats.num_tokens / session.stats.wall_ms
            different += sum(text != said[PLAIN] for text in said.values())
    return speeds, different


def row(temperature: float, kind: str, asked: str, found: Sequence[Estimate | None]) -> str:
    """One row of the table: the ratios in `PAIRS`, the last one with its interval."""
    cells = [f"{temperature:g}", kind, asked, *(f"{each.value:.2f}" if each else "" for each in found)]
    if (last := found[-1]) and last.interval:
        cells[-1] += f", {last.interval[0]:.2f} to {last.interval[1]:.2f}"
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("-n", "--max-tokens", type=int, default=256)
    parser.add_argument("--each", type=int, default=6, help="prompts of each kind")
    parser.add_argument("--attempts", type=int, default=3)
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    print("| temperature | kind | asked | conversation alone | all | all / alone, 95 % |")
    print("| --- | --- | --- | ---: | ---: | --- |")
    with Engine.load(target, draft, LoadOptions(n_ctx=2048)) as engine:
        for temperature in (0.0, 0.8):
            speeds, different = measure(engine, temperature, asked.max_tokens, asked.each, asked.attempts)
            for label, again in (("for the first time", False), ("again", True)):
                cells: dict[tuple[str, str], list[Ratios]] = defaultdict(list)
                for kind in benchmark_prompts():
                    asked_so = [key for key in speeds[PLAIN] if key[0] == kind and (key[2] > 0) is again]
                    own = {way: {key: by[key] for key in asked_so} for way, by in speeds.items()}
                    for pair in PAIRS:
                        cells[pair].append(paired_ratios(own[pair[0]], own[pair[1]]))
                    print(row(temperature, kind, label, [estimate(cells[pair][-1]) for pair in PAIRS]))
                print(row(temperature, "all", label, [geometric_mean(cells[pair]) for pair in PAIRS]))
            print(f"\n{different} texts were not plain's\n")


if __name__ == "__main__":
    main()
