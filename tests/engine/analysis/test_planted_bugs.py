"""The audit notices each of twelve bugs that were put into the code on purpose, and none in code without them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from specchat_engine import SamplingParams, Session, Settings
from specchat_engine.analysis.adversary import Adversary
from specchat_engine.analysis.audit import Audit, Case, Finding, audit
from specchat_engine.drafters import DraftModel
from specchat_engine.pair import Pair
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import ByteTokenizer, Law, ScriptedModel, random_law
from support.planted_bugs import PLANTED

N_VOCAB = ByteTokenizer.size
PROMPTS = ("aaab aaab aaab", "Why?", "one two one two one")
USUAL = SamplingParams(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05)
OPEN = SamplingParams(temperature=1.2, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.3)
WAYS = (
    ("model", 4, "coupled"),
    ("adversary", 1, "coupled"),
    ("adversary", 6, "coupled"),
    ("model", 1, "rejection"),
    ("model", 4, "rejection"),
    ("adversary", 4, "rejection"),
    ("adversary", 4, "block"),
)
TREES = (("model", 3, 3), ("model", 1, 1))


def sure_of_every_other(spread: float) -> Law:
    """A law that is three times as sharp after odd tokens."""
    law = random_law(N_VOCAB, seed=4, spread=spread)
    return lambda tokens: law(tokens) * np.float32(1 + 2 * (tokens[-1] % 2))


def audited(seed: int = 5) -> Audit:
    """A small verification, with a target that is sure of every other token and a draft that is less sure.

    It ends after the first unexplained finding.
    """
    target = ScriptedModel(sure_of_every_other(4.0))
    draft = ScriptedModel(sure_of_every_other(3.0), max_rows=2)
    adversary = Adversary()
    drafts, plugins = {"model": DraftModel(draft)}, {adversary.name: adversary.made}
    pair = Pair(target, ByteTokenizer(), ChatTemplate(FALLBACK), drafts, plugins=plugins)
    cases = [
        Case(
            "test",
            prompt,
            replace(Settings(k=k, max_tokens=50), drafter=drafter, verifier=verifier, sampling=sampling, tree=tree),
        )
        for prompt in PROMPTS
        for sampling in (replace(USUAL, temperature=0.0), USUAL, OPEN)
        for drafter, k, verifier, tree in (*((*way, 0) for way in WAYS), *((d, k, "coupled", n) for d, k, n in TREES))
    ]

    def session_for(settings: Settings) -> Session:
        return Session(pair, settings=settings, seed=seed)

    unexplained: list[Finding] = []

    def until_found() -> Iterator[Case]:
        for case in cases:
            if unexplained:
                return
            yield case

    def heard(_: Case, finding: Finding | None) -> None:
        if finding and not finding.explained:
            unexplained.append(finding)

    return audit(session_for, target, ByteTokenizer(), until_found(), heard, adversary)


@pytest.mark.parametrize("seed", range(2))
def test_sound_code_raises_no_alarm(seed: int) -> None:
    result = audited(seed)
    assert [finding.reason for finding in result.findings] == []
    assert result.compared == 81


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[bug](monkeypatch, ScriptedModel)
    assert audited().unexplained
