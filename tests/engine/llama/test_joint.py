"""What an answer learns of the others that share its passes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, RLock

import numpy as np
import pytest

from specchat_engine.llama.batch import PassPart
from specchat_engine.llama.joint import JointPasses
from specchat_engine.llama.native import PassResult
from specchat_engine.models import SharedPass


class Context:
    """Makes passes that take a microsecond a token."""

    size = 512

    def compute(self, parts: Sequence[PassPart]) -> PassResult:
        tokens = sum(len(part.tokens) for part in parts)
        return PassResult(0, [np.zeros((part.rows, 4), np.float32) for part in parts], 1000 * tokens)


class Answers:
    """Two answers, each in a thread of its own."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.target, self.draft = Context(), Context()
        self.passes = JointPasses(self.lock, self.target)  # type: ignore[arg-type]

    def give(self, *rounds: tuple[Sequence[tuple[bool, int, int]], ...]) -> list[SharedPass]:
        """Each answer makes its passes: whether the target makes it, the position, and the number of tokens."""
        begun = Barrier(len(rounds))

        def one(place: int) -> SharedPass:
            with self.lock, ExitStack() as stack:
                stack.enter_context(self.passes.answering(place))
                self.lock.release()
                begun.wait(600)
                self.lock.acquire()
                for of_target, position, count in rounds[place]:
                    part = PassPart.chain([0] * count, position, count, place)
                    self.passes.compute(self.target if of_target else self.draft, [part])  # type: ignore[arg-type]
                return self.passes.shared_pass(place)

        with ThreadPoolExecutor(len(rounds)) as threads:
            return list(threads.map(one, range(len(rounds))))


def test_an_answer_knows_what_the_others_usually_add_to_a_pass_and_get_from_it() -> None:
    steady = [(True, 10 + 3 * number, 5) for number in range(30)]
    plain = [(True, 10 + number, 1) for number in range(30)]
    one, other = Answers().give(steady, plain)
    assert (one.answers, one.tokens, other.tokens) == (1, 1, 5)
    assert (one.usual_tokens, one.usual_emitted) == (1, 1)
    assert other.usual_tokens == pytest.approx(5, abs=0.1)
    assert other.usual_emitted == pytest.approx(3, abs=0.1)


def test_an_answer_knows_its_part_of_its_draft_passes() -> None:
    drafts_more = [(False, 10, 1), (False, 11, 1), (False, 12, 1), (True, 10, 4)]
    one, other = Answers().give(drafts_more, [(False, 10, 1), (True, 10, 2)])
    assert one.draft_share == pytest.approx((1 + 1 + 1) / (2 + 1 + 1)), "the first pass was shared, two were not"
    assert other.draft_share == pytest.approx(1 / 2)
