"""Whether an answer depends on those that are given at the same time: how many texts differ, and by what.

Passes of different widths use different kernels, so logits differ in their last bits. Where a text differs from the
one that was given alone, the position is looked at again: the two tokens must be nearly tied by the rule, or one of
them at the edge of what the sampling stages leave.

`PYTHONPATH=tests python -m benchmarks.neighbours -m TARGET -d DRAFT`
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from specchat.bench.plan import read_prompts
from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, Message, Session, Settings
from specchat_engine.sampling.noise import gumbel

TIED = 0.05
"""Two tokens are nearly tied if their scores, log p plus noise, differ by at most this."""


def answer(session: Session, text: str, seed: int) -> list[int]:
    """The ids of an answer that begins with an empty memory."""
    session.seed = seed
    with session.pair.lock:
        session.pair.clear()
    for _ in session.answer([Message("user", text)], 0):
        pass
    return session.answer_ids


def explained(session: Session, alone: Sequence[int], beside: Sequence[int]) -> str:
    """Why two answers of a session that has just given the first one differ: "near-tie", "edge" or "unexplained".

    One that begins with all of the other is unexplained: the token that ends an answer is one of its tokens.
    """
    place = next((at for at, (one, other) in enumerate(zip(alone, beside, strict=False)) if one != other), None)
    if place is None:
        return "unexplained"
    found = session.inspect(place, (alone[place], beside[place]))
    scores = []
    for token in (alone[place], beside[place]):
        p = found.of(token).p
        if p <= 0:
            return "edge"
        scores.append(math.log(p) + float(gumbel(session.turn_seed, place, [token])[0]))
    if session.settings.sampling.temperature == 0:
        scores = [math.log(found.of(token).raw_p) for token in (alone[place], beside[place])]
    return "near-tie" if abs(scores[0] - scores[1]) <= TIED else "unexplained"


def main() -> int:
    """Gives all answers alone and at the same time, and prints how many differ. Returns 1 for an unexplained one."""
    parser = argparse.ArgumentParser(prog="neighbours", description=__doc__)
    parser.add_argument("-m", "--model", type=Path, help="target, the built-in one by default")
    parser.add_argument("-d", "--draft", type=Path, help="draft model, the built-in one by default")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--answers", type=int, default=64)
    parser.add_argument("-n", "--max-tokens", type=int, default=96)
    parser.add_argument("--temperature", type=float, default=0.8)
    asked = parser.parse_args()
    target, draft = (asked.model, asked.draft) if asked.model else builtin_pair()
    prompts = [text for texts in read_prompts(None).values() for text in texts]
    dice = random.Random(1)
    tasks = [(dice.choice(prompts), dice.randrange(2**31)) for _ in range(asked.answers)]
    options = LoadOptions(n_ctx=1024, parallel=asked.clients)
    with Engine.load(target, draft, options) as engine:
        for _ in engine.measuring():
            pass
        sampling = replace(engine.recommended, temperature=asked.temperature)
        settings = Settings(sampling=sampling, max_tokens=asked.max_tokens)
        places = [engine.session(settings=settings, place=place) for place in range(asked.clients)]

        def work(client: int) -> list[list[int]]:
            return [answer(places[client], *task) for task in tasks[client :: asked.clients]]

        with ThreadPoolExecutor(asked.clients) as threads:
            beside = [*threads.map(work, range(asked.clients))]
        outcomes: Counter[str] = Counter()
        for number, task in enumerate(tasks):
            session = places[number % asked.clients]
            alone = answer(session, *task)
            other = beside[number % asked.clients][number // asked.clients]
            outcomes["equal" if alone == other else explained(session, alone, other)] += 1
    print(f"{asked.answers} answers, {asked.clients} at a time:", dict(outcomes))
    return 1 if outcomes["unexplained"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
