"""Measures the engine's overhead: its time outside the models' passes, and its memory.

Prints, for each temperature and way of drafting, the share of decoding time outside the passes (median over answers)
and the microseconds per round; then the peak memory of the process, how much of it llama.cpp accounts for, and the
rest. Ways of drafting, temperatures and prompts take turns.

`PYTHONPATH=tests python -m benchmarks.overhead [-m TARGET -d DRAFT]`. With `--bare` it compares with the smallest
Python loop that makes the same passes and samples the same tokens, and leaves out copies, which prompt lookup drafts.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from specchat.bench.measure import peak_memory_bytes
from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, LoadOptions, SamplingParams, Session, Settings, TurnStats
from specchat_engine.sampling.sampler import Sampler

WAYS: Mapping[str, Settings] = {
    "plain": Settings(k=0, drafter="none"),
    "k 4": Settings(k=4, drafter="model"),
    "own choice": Settings(k="auto", drafter="hybrid"),
}
_MEGABYTE = 1e6


def new_session(engine: Engine, settings: Settings, temperature: float, seed: int) -> Session:
    """A session with these settings at a temperature."""
    sampling = SamplingParams(temperature=temperature)
    return engine.session(settings=replace(settings, sampling=sampling), seed=seed)


def answered(engine: Engine, prompt: str, settings: Settings, temperature: float, seed: int = 1) -> Session:
    """A new session that has answered the prompt."""
    session = new_session(engine, settings, temperature, seed)
    for _ in session.generate(prompt):
        pass
    return session


def measure(engine: Engine, tokens: int, each: int, repeats: int) -> dict[tuple[float, str], list[TurnStats]]:
    """The statistics of all answers, by temperature and way."""
    found: dict[tuple[float, str], list[TurnStats]] = {}
    prompts = [text for texts in benchmark_prompts().values() for text in texts[:each]]
    for seed in range(repeats):
        for prompt in prompts:
            for temperature in (0.0, 0.8):
                for way, settings in WAYS.items():
                    session = answered(engine, prompt, replace(settings, max_tokens=tokens), temperature, seed)
                    found.setdefault((temperature, way), []).append(session.stats)
    return found


def bare_loop(session: Session, drafts: Sequence[int]) -> float:
    """The percentage of time outside the passes when a bare loop repeats the session's answer with these drafts.

    `drafts` are the numbers of tokens to draft in each round. The loop makes no text, events, statistics or decisions.
    Both models start with empty memories. Raises AssertionError if the answer differs.
    """
    target, draft = session.pair.target, session.pair.draft
    assert draft is not None
    prompt, answer = session.prompt_ids, session.answer_ids
    tokens, greedy = [*prompt], session.settings.sampling.temperature == 0
    sampler = Sampler(session.settings.sampling, session.turn_seed)
    for model in (target, draft):
        model.read(tokens[:-1], bool)
    begin, busy = perf_counter_ns(), target.busy_ns + draft.busy_ns
    for count in drafts:
        drafted: list[int] = []
        place = len(tokens) - len(prompt)
        for offset in range(count):
            row = draft.advance(drafted[-1:] or tokens[draft.length :], 1)[0]
            candidates = None if greedy else sampler.candidates(row, tokens)
            drafted.append(int(row.argmax()) if candidates is None else sampler.draw(candidates, place + offset))
        rows = target.advance((tokens[-1], *drafted), count + 1)
        if greedy:
            best = rows.argmax(1).tolist()
            accepted = next((at for at, token in enumerate(drafted) if token != best[at]), count)
        else:
            best, accepted = [], 0
            for at in range(count + 1):
                best.append(sampler.draw(sampler.candidates(rows[at], tokens), place + at))
                accepted = at
                if at == count or best[at] != drafted[at]:
                    break
        tokens += best[: accepted + 1]
        if accepted < count:
            for model in (target, draft):
                model.rewind(len(tokens) - 1)
    spent = perf_counter_ns() - begin
    assert tokens[: len(prompt) + len(answer)] == [*prompt, *answer]
    return 100 * (1 - (target.busy_ns + draft.busy_ns - busy) / spent)


def beside_the_least(engine: Engine, tokens: int, each: int, repeats: int) -> None:
    """Prints the shares of all ways, those of the same passes in the bare loop, and the number of answers."""
    ways = {**WAYS, "k 12": Settings(k=12, drafter="model")}
    prompts = [text for kind, texts in benchmark_prompts().items() if kind != "copy" for text in texts[:each]]
    shares: dict[tuple[float, str], list[tuple[float, float]]] = {}
    for seed in range(repeats + 1):  # the first pass is a warm-up
        for prompt, temperature, (way, settings) in product(prompts, (0.0, 0.8), ways.items()):
            engine.forget()
            session = new_session(engine, replace(settings, max_tokens=tokens), temperature, seed)
            rounds = [*session.generate(prompt)]
            stats = session.stats
            share = 100 * (stats.other_ms + stats.rollback_ms) / stats.decode_ms
            if seed and not any(event.source == "lookup" for event in rounds):
                engine.forget()
                bare = bare_loop(session, [len(event.drafted) for event in rounds])
                shares.setdefault((temperature, way), []).append((share, bare))
    for (temperature, way), pairs in sorted(shares.items()):
        own, bare = (median(values) for values in zip(*pairs, strict=True))
        print(f"T {temperature:<3g} {way:10} {own:5.2f} %   the bare loop {bare:5.2f} %   {len(pairs)} answers")


def main() -> None:
    """Runs the measurement and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    parser.add_argument("-t", "--threads", type=int, default=0)
    parser.add_argument("-c", "--ctx-size", type=int, default=1024)
    parser.add_argument("-n", "--max-tokens", type=int, default=128)
    parser.add_argument("--each", type=int, default=1, help="prompts of each kind")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bare", action="store_true", help="compare with the smallest loop that speculates")
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    begun = peak_memory_bytes()
    with Engine.load(target, draft, LoadOptions(n_ctx=asked.ctx_size, threads=asked.threads)) as engine:
        if asked.bare:
            beside_the_least(engine, asked.max_tokens, asked.each, asked.repeats)
            return
        found = measure(engine, asked.max_tokens, asked.each, asked.repeats)
        use = engine.memory_use
    for (temperature, way), all_stats in sorted(found.items()):
        share = median(100 * stats.other_ms / stats.decode_ms for stats in all_stats)
        each_us = median(1000 * stats.other_ms / stats.num_rounds for stats in all_stats)
        speed = median(stats.tokens_per_second or 0.0 for stats in all_stats)
        print(f"T {temperature:<3g} {way:10} {share:5.2f} %  {each_us:6.0f} µs per round  {speed:7.1f} tokens/s")
    reported, peak = sum(filter(None, astuple(use))), peak_memory_bytes()
    rest = peak - reported
    print(
        f"peak {peak / _MEGABYTE:.1f} MB, models, caches and buffers {reported / _MEGABYTE:.1f} MB, "
        f"the rest {rest / _MEGABYTE:.1f} MB, of which {begun / _MEGABYTE:.1f} MB before loading"
    )


if __name__ == "__main__":
    main()
