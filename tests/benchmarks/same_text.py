"""Does speculation change the text? Every benchmark prompt, plain and with each drafter and several k, same seed.

Where two texts differ it prints the first differing token and the gap between the two best values of log p + g there: a
gap within the noise of the logits (a pass over several tokens uses other kernels than a pass over one) is numerics.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, SamplingParams, Session, Settings
from specchat_engine.noise import gumbel
from specchat_engine.sampling import Sampler

DRAFTING = [("model", 1), ("model", 2), ("model", 4), ("model", 8), ("model", 16), ("lookup", 4), ("lookup", 16)]


def tokens(session: Session, prompt: str) -> list[int]:
    """The ids of an answer."""
    ids: list[int] = []
    for event in session.generate(prompt):
        ids += [token.id for token in event.drafted[: event.num_accepted]]
        ids += [event.token.id] if event.token.id is not None else []
    return ids


def gap_at(engine: Engine, sampling: SamplingParams, seed: int, prompt: str, place: int) -> float:
    """The gap between the two best values of log p + g at an output position, scored by plain decoding."""
    session = engine.session(settings=Settings(k=0, sampling=sampling, max_tokens=place + 1), seed=seed)
    rows: list[np.ndarray] = []
    target = session._target
    advance = target.advance

    def watched(ids: list[int], count: int) -> np.ndarray:
        logits = advance(ids, count)
        if count:
            rows.append(logits[-1].copy())
        return logits

    target.advance = watched
    try:
        for _ in session.generate(prompt):
            pass
    finally:
        del target.advance
    row = rows[place]
    if sampling.temperature == 0:
        best = np.sort(row)[-2:]
        return float(best[1] - best[0])
    candidates = Sampler(sampling, session.turn_seed).candidates(row, [])
    values = np.sort(candidates.log_p + gumbel(session.turn_seed, place, candidates.ids))
    return float(values[-1] - values[-2]) if len(values) > 1 else float("inf")


def main() -> None:
    """Compares, and prints what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--model")
    parser.add_argument("-d", "--draft")
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    target, draft = (options.model, options.draft) if options.model else builtin_pair()
    compared = different = 0
    with Engine.load(target, draft) as engine:
        drafting = [(drafter, k) for drafter, k in DRAFTING if drafter in engine.drafters]
        for temperature in (0.0, 0.8):
            sampling = replace(engine.recommended, temperature=temperature)
            for prompt in [prompt for prompts in benchmark_prompts().values() for prompt in prompts]:
                for seed in range(options.seeds):
                    settings = Settings(k=0, sampling=sampling, max_tokens=options.max_tokens, drafter="none")
                    plain = tokens(engine.session(settings=settings, seed=seed), prompt)
                    for drafter, k in drafting:
                        session = engine.session(settings=replace(settings, k=k, drafter=drafter), seed=seed)
                        found = tokens(session, prompt)
                        compared += 1
                        if found == plain:
                            continue
                        different += 1
                        place = next(i for i in range(len(plain) + 1) if found[: i + 1] != plain[: i + 1])
                        gap = gap_at(engine, sampling, seed, prompt, place)
                        where = f"temperature {temperature:g}, seed {seed}, {drafter} k={k}, token {place}"
                        print(f"different: {where}, gap {gap:.2e}, prompt {prompt[:50]!r}")
    print(f"{compared} answers compared, {different} differ from plain decoding")


if __name__ == "__main__":
    main()
