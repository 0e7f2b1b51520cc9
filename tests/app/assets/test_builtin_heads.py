"""The heads that ship fit the built-in target, and guess well."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.models.library import loadable_models
from specchat_assets import HEAD_NAMES, MODELS, builtin_heads, builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, Settings


def test_the_heads_are_there_and_weigh_little() -> None:
    assert [path.name for path in builtin_heads()] == list(HEAD_NAMES)
    assert sum(path.stat().st_size for path in builtin_heads()) < 10_000_000


def test_the_draft_picker_offers_them() -> None:
    assert {*builtin_heads()} <= {entry.path for entry in loadable_models()}


@pytest.mark.parametrize("head", [MODELS / name for name in HEAD_NAMES], ids=["eagle3", "mlp"])
def test_a_head_guesses_most_tokens_of_an_answer(head: Path) -> None:
    target, _ = builtin_pair()
    with Engine.load(target, head, LoadOptions(threads=1, n_ctx=1024)) as engine:
        drafter = engine.drafters[1]
        texts = []
        for name in ("none", drafter):
            settings = Settings(drafter=name, k=2, max_tokens=32, sampling=SamplingParams(temperature=0))
            session = engine.session(settings=settings, seed=1)
            for _ in session.generate("What is speculative decoding?"):
                pass
            texts.append(session.text)
        assert texts[0] == texts[1]
        assert session.stats.num_accepted_tokens > 0.6 * session.stats.num_draft_tokens
