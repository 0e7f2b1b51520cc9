"""Records what the draft model proposes after every token of plain answers, for tests/support/replay.py.

It measures no times. Run it again when the built-in pair has changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from specchat_assets import builtin_pair
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, ModelDrafter, SamplingParams, Settings
from specchat_engine.decoding.drafts import Context
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.policy.branching import Branching
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.sampling.sampler import Sampler

SEED, LONGEST, MAX_TOKENS = 7, 16, 192


def record(engine: Engine, drafter: ModelDrafter, kind: str, prompt: str, sampling: SamplingParams) -> dict[str, Any]:
    """One answer: for each position, how many proposed tokens are right, the drafter's confidence, per mille, and
    whether the runner-up of the first wrong token is right."""
    session = engine.session(settings=Settings(k=0, sampling=sampling, max_tokens=MAX_TOKENS), seed=SEED)
    answer = [event.token.id for event in session.generate(prompt) if event.token.id is not None]
    sampler = Sampler(sampling, session.turn_seed)
    drafts = []
    for place in range(len(answer)):
        tokens = [*session.prompt_ids, *answer[:place]]
        context = Context(
            tokens,
            len(session.prompt_ids),
            sampler,
            engine.vocabulary.ends,
            worth_more=lambda _: True,
            branches=Branching(LONGEST),
        )
        drafter.model.keep(tokens[:-1])
        draft = drafter.propose(context, LONGEST)
        right = common_prefix(draft.tokens, answer[place:])
        instead = any(one.path == tuple(answer[place : place + right + 1]) for one in draft.alternatives)
        second = right < len(draft.tokens) and place + right < len(answer) and instead
        drafts.append([right, [round(1000 * sure) for sure in draft.confidence], int(second)])
    return {"kind": kind, "prompt": session.prompt_ids, "answer": answer, "drafts": drafts}


def main() -> None:
    """Writes the recording of the built-in pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", default=Path("tests/engine/policy/recorded.json.gz"))
    out: Path = parser.parse_args().out
    target, draft = builtin_pair()
    model = LlamaModel(draft)
    drafter = ModelDrafter(LlamaContext(NativeContext(model, n_ctx=model.n_ctx_train, max_rows=1, threads=1)))
    with Engine.load(target) as engine:
        answers = [
            record(engine, drafter, kind, prompt, replace(engine.recommended, temperature=temperature))
            for temperature in (0.0, 0.8)
            for kind, prompts in benchmark_prompts().items()
            for prompt in prompts
        ]
    text = json.dumps(answers, separators=(",", ":"))
    out.write_bytes(gzip.compress(text.encode(), mtime=0))
    Console().print(f"{out}: {len(answers)} answers, {sum(len(answer['answer']) for answer in answers)} tokens")


if __name__ == "__main__":
    main()
