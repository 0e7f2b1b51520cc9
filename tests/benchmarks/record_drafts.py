"""Records what the draft model proposes after every token of plain answers, for tests/support/replay.py.

    python -m benchmarks.record_drafts                                    the built-in pair, its benchmark prompts
    python -m benchmarks.record_drafts OUT -m TARGET -d DRAFT             another pair, the prompts in real_prompts.toml

It measures no times. Run it again when the built-in pair has changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from specchat.bench.plan import read_prompts
from specchat_assets import builtin_pair
from specchat_engine import Engine, ModelDrafter, SamplingParams, Settings
from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.policy.trees import Branching
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.sampling.sampler import Sampler

SEED, LONGEST, MAX_TOKENS = 7, 16, 192

REAL_LONGEST, REAL_MAX_TOKENS = 8, 128
"""The same for another pair, whose passes may take long. Its runners-up are not recorded."""


def record(
    engine: Engine,
    drafter: ModelDrafter,
    kind: str,
    prompt: str,
    sampling: SamplingParams,
    longest: int = LONGEST,
    max_tokens: int = MAX_TOKENS,
    branches: Branching | None = None,
) -> dict[str, Any]:
    """One answer: for each position, how many proposed tokens are right, the drafter's confidence, per mille, and
    whether the runner-up of the first wrong token is right.

    A draft whose first tokens are right is the draft of the following positions too, so it is made only once.
    """
    session = engine.session(settings=Settings(k=0, sampling=sampling, max_tokens=max_tokens), seed=SEED)
    answer = [event.token.id for event in session.generate(prompt) if event.token.id is not None]
    sampler = Sampler(sampling, session.turn_seed)

    def propose(tokens: Sequence[int], k: int) -> Draft:
        known = [*session.prompt_ids, *tokens]
        drafter.model.keep(known[:-1])
        context = Context(
            known,
            len(session.prompt_ids),
            sampler,
            engine.vocabulary.ends,
            worth_more=lambda _: True,
            branches=branches,
        )
        return drafter.propose(context, k)

    drafts: list[tuple[int, list[int], int]] = []
    while len(drafts) < len(answer):
        place = len(drafts)
        draft = propose(answer[:place], longest)
        right = common_prefix(draft.tokens, answer[place:])
        instead = any(one.path == tuple(answer[place : place + right + 1]) for one in draft.alternatives)
        second = right < len(draft.tokens) and place + right < len(answer) and instead
        sure = [round(1000 * confidence) for confidence in draft.confidence]
        alike = max(1, right - longest // 2) if right == len(draft.tokens) else right + 1
        drafts += [(right - later, sure[later:], int(second)) for later in range(min(alike, len(answer) - place))]
    return {"kind": kind, "prompt": session.prompt_ids, "answer": answer, "drafts": drafts}


def main() -> None:
    """Writes the recording of a pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="?", default=Path("tests/engine/policy/recorded.json.gz"))
    parser.add_argument("-m", "--model", type=Path)
    parser.add_argument("-d", "--draft", type=Path)
    arguments = parser.parse_args()
    own = arguments.model and arguments.draft
    target, draft = (arguments.model, arguments.draft) if own else builtin_pair()
    prompts = read_prompts(Path(__file__).with_name("real_prompts.toml") if own else None)
    model = LlamaModel(draft)
    n_ctx = min(model.n_ctx_train, 4096)
    drafter = ModelDrafter(LlamaContext(NativeContext(model, n_ctx=n_ctx, max_rows=1, threads=2 if own else 1)))
    limits = (REAL_LONGEST, REAL_MAX_TOKENS, None) if own else (LONGEST, MAX_TOKENS, Branching(LONGEST))
    answers = []
    with Engine.load(target) as engine:
        for temperature in (0.0, 0.8):
            sampling = replace(engine.recommended, temperature=temperature)
            for kind, requests in prompts.items():
                for request in requests:
                    answers.append(record(engine, drafter, kind, request, sampling, *limits))
                    text = json.dumps(answers, separators=(",", ":"))
                    arguments.out.write_bytes(gzip.compress(text.encode(), mtime=0))
                    Console().print(f"{kind} at {temperature}: {len(answers[-1]['answer'])} tokens")
    Console().print(
        f"{arguments.out}: {len(answers)} answers, {sum(len(answer['answer']) for answer in answers)} tokens"
    )


if __name__ == "__main__":
    main()
