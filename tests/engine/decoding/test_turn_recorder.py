"""What a recorder counts while an answer is given: the compared tokens of each drafter."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine import SamplingParams
from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.recorder import TurnRecorder
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.stats import AcceptanceCounts
from specchat_engine.decoding.verification import Verdict
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from support.conversations import conversation, letters

CONTEXT = Context([1], 1, Sampler(SamplingParams(), 1))
LOGITS = np.zeros((9, 40), np.float32)


def verdict(*path: int, compared: int, tree: bool = False) -> Verdict:
    """The tokens at these indexes were accepted, and tokens compared at so many places."""
    row = Candidates.certain(1)
    return Verdict(len(path), 1, TokenKind.CORRECTION, (row,) * compared, row, path if tree else ())


def counted(draft: Draft, found: Verdict) -> dict[str, AcceptanceCounts]:
    recorder = TurnRecorder()
    recorder(CONTEXT, draft, found, LOGITS)
    return recorder.tested


def test_accepted_and_rejected_tokens_count_and_discarded_ones_do_not() -> None:
    draft = Draft((1, 2, 3, 4), source="model")
    assert counted(draft, verdict(0, 1, compared=3)) == {"model": AcceptanceCounts(2, 1)}
    assert counted(draft, verdict(0, 1, 2, 3, compared=4)) == {"model": AcceptanceCounts(4, 0)}
    assert counted(draft, verdict(compared=1)) == {"model": AcceptanceCounts(0, 1)}


def test_a_branch_that_was_right_where_the_chain_was_wrong_is_a_rejection() -> None:
    draft = Draft((1, 2, 3, 9), source="model", parents=(-1, 0, 1, 0))
    assert counted(draft, verdict(0, 3, compared=2, tree=True)) == {"model": AcceptanceCounts(1, 1)}
    assert counted(draft, verdict(0, 1, 2, compared=3, tree=True)) == {"model": AcceptanceCounts(3, 0)}


def test_without_a_draft_nothing_is_counted() -> None:
    assert counted(Draft(()), verdict(compared=0)) == {}


@pytest.mark.parametrize("verifier", ["coupled", "rejection"])
def test_a_whole_answer_has_the_alpha_of_its_statistics(verifier: str) -> None:
    sampling = SamplingParams(temperature=0.8)
    laws = letters(3, end=-30), letters(4, end=-30)
    session = conversation(*laws, sampling=sampling, max_tokens=200, k=4, verifier=verifier)
    session.watch = recorder = TurnRecorder()
    list(session.generate("hello"))
    counts, stats = recorder.tested["model"], session.stats
    assert stats.num_accepted_tokens > 5
    assert 0 <= counts.num_tested_tokens - stats.num_tested_tokens <= 4, "the last round may be cut short"
    assert counts.num_accepted_tokens - stats.num_accepted_tokens <= 4
