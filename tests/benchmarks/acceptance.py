"""Compares the acceptance of the verification rules on one pair: coupled, rejection, block, and an argmax draft.

The rules produce different texts, so the numbers are means over all benchmark prompts and several seeds.

`PYTHONPATH=tests python -m benchmarks.acceptance [-m TARGET -d DRAFT]`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Context, Draft, Engine, ModelDrafter, Session, Settings
from specchat_engine.sampling.sampler import Sampler

RULES = ("coupled", "rejection", "block", "argmax")
TEMPERATURES = (0.5, 0.8, 1.0)


class ArgmaxDrafter(ModelDrafter):
    """Proposes the draft model's likeliest tokens, whatever the temperature."""

    law = "point"

    def propose(self, context: Context, k: int) -> Draft:
        """The draft at temperature 0, as point masses."""
        context.proposer = Sampler(replace(context.sampler.params, temperature=0), 0)
        return replace(super().propose(context, k), rows=())


def session_for(engine: Engine, rule: str, settings: Settings, seed: int) -> Session:
    """A session under one of the rules."""
    verifier = "coupled" if rule == "argmax" else rule
    session = engine.session(settings=replace(settings, verifier=verifier), seed=seed)
    if rule == "argmax":
        session._planner.drafters["model"] = ArgmaxDrafter(session.pair.draft)
    return session


def main() -> None:
    """Runs the measurement and prints one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-m", "--model")
    parser.add_argument("-d", "--draft")
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    target, draft = (options.model, options.draft) if options.model else builtin_pair()
    prompts = [prompt for some in benchmark_prompts().values() for prompt in some]
    print(f"| temperature | {' | '.join(f'{rule} α | τ' for rule in RULES)} |")
    print(f"| --- | {' | '.join('--- | ---' for _ in RULES)} |")
    with Engine.load(target, draft) as engine:
        for temperature in TEMPERATURES:
            sampling = replace(engine.recommended, temperature=temperature)
            settings = Settings(k=options.k, drafter="model", sampling=sampling, max_tokens=options.max_tokens)
            cells = []
            for rule in RULES:
                accepted = rejected = tokens = rounds = 0
                for seed in range(options.seeds):
                    for prompt in prompts:
                        session = session_for(engine, rule, settings, seed)
                        for _ in session.generate(prompt):
                            pass
                        accepted += session.stats.num_accepted_tokens
                        rejected += session.stats.num_rejected_tokens
                        tokens += session.stats.num_tokens
                        rounds += session.stats.num_rounds
                cells.append(f"{accepted / max(1, accepted + rejected):.3f} | {tokens / rounds:.2f}")
            print(f"| {temperature:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
