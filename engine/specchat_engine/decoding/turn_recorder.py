"""Records what the target thinks while it answers, so that a draft model can learn from it, and how drafts fared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Context, Draft, along_the_chain
from specchat_engine.decoding.stats import AcceptanceCounts
from specchat_engine.decoding.verification import Verdict
from specchat_engine.stores.recorded_turns import RecordedTurn, likeliest


class TurnRecorder:
    """Keeps what the target thinks during one answer; it is a `generate.Watch`.

    `tested` has the accepted and rejected tokens by the name of the drafter that proposed them.
    """

    def __init__(self) -> None:
        self.tested: dict[str, AcceptanceCounts] = {}
        self._best: list[NDArray[np.int32]] = []
        self._log_p: list[NDArray[np.float16]] = []

    def __call__(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Takes the rows after the context and after each accepted token, and counts what was compared."""
        if draft.tokens:
            compared, accepted = along_the_chain(draft, verdict)
            tested = AcceptanceCounts(accepted, compared - accepted)
            self.tested[draft.source] = self.tested.get(draft.source, AcceptanceCounts()) + tested
        best, log_p = likeliest(logits[verdict.places])
        self._best.append(best)
        self._log_p.append(log_p)

    def turn(self, prompt: Sequence[int], answer: Sequence[int], kind: str = "") -> RecordedTurn | None:
        """What was recorded of this answer, None for an empty one."""
        if not (self._best and answer):
            return None
        best, log_p = np.concatenate(self._best)[: len(answer)], np.concatenate(self._log_p)[: len(answer)]
        ids = np.array([*prompt, *answer[: len(best)]], np.int32)
        return RecordedTurn(ids, len(prompt), best, log_p, kind)
