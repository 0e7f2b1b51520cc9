"""Made-up benchmark results, for tests of their reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat.bench.document import Benchmark, Conditions
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import Sample

MODEL, LOOKUP = Arm("model", 4), Arm("lookup", 8)

CONDITIONS = Conditions(
    target={"name": "guide", "n_params": 18_000_000, "path": "/models/guide.gguf"},
    draft={"name": "draft", "n_params": 2_000_000, "path": "/models/my draft.gguf"},
    versions={"llama.cpp": "b1"},
    machine={"threads": 2},
    options={
        "n_ctx": 0,
        "gpu_layers": -1,
        "gpu_layers_draft": -1,
        "devices": [],
        "devices_draft": [],
        "tensor_split": [],
        "main_gpu": 0,
    },
    sampling={"top_k": 40},
    system=None,
    verifier="coupled",
    seed=1,
    max_tokens=100,
    repeats=1,
    temperatures=(0.0,),
    arms=(PLAIN, MODEL, LOOKUP),
    prompts={"facts": ("What?", "Why?", "Who?"), "copy": ("Repeat this.", "And this.", "This too.")},
)


def sample(arm: Arm = PLAIN, speed: float = 100.0, **changes: Any) -> Sample:
    """An answer of 100 tokens at this rate from the prompt to its end, a tenth of the time for the prompt."""
    wall = 100_000 / speed
    usual = Sample(
        arm=arm,
        temperature=0.0,
        kind="facts",
        prompt=0,
        repeat=0,
        prompt_tokens=20,
        num_tokens=100,
        num_rounds=100 if arm == PLAIN else 40,
        num_draft_tokens=0 if arm == PLAIN else 100,
        num_accepted_tokens=0 if arm == PLAIN else 60,
        num_rejected_tokens=0 if arm == PLAIN else 20,
        full_rounds=0 if arm == PLAIN else 20,
        full_verify_ms=0.0 if arm == PLAIN else 0.3 * wall,
        prompt_ms=0.1 * wall,
        draft_prompt_ms=0.0,
        ttft_ms=0.12 * wall,
        draft_ms=0.0 if arm == PLAIN else 0.2 * wall,
        verify_ms=0.8 * wall if arm == PLAIN else 0.6 * wall,
        rollback_ms=0.02 * wall,
        other_ms=0.08 * wall,
        wall_ms=wall,
        text_hash="same",
    )
    return replace(usual, **changes)


def benchmark(
    speeds: Mapping[Arm, Sequence[float]], kinds: Iterable[str] = ("facts", "copy"), **changes: Any
) -> Benchmark:
    """One speed per prompt for each arm, the same for each kind."""
    samples = [
        sample(arm, speed, kind=kind, prompt=prompt)
        for kind in kinds
        for arm, some in speeds.items()
        for prompt, speed in enumerate(some)
    ]
    conditions = replace(CONDITIONS, arms=tuple(speeds), **changes)
    return Benchmark(conditions, samples, complete=True, seconds=12.0, peak_memory_bytes=100 * 2**20)
