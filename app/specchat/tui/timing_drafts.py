"""Drafts timed one after the other by the engine of the chat, whose pair makes room meanwhile. No widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.bench.gain import Gain
from specchat.bench.plan import DRAFTED
from specchat.chat.client import EngineClient
from specchat.models.last_pairs import Timing, read_timings, write_timings
from specchat.models.preferences import remember_pair
from specchat.worker.protocol import Timed, WorkerFailed
from specchat.worker.protocol import Timing as Progress

if TYPE_CHECKING:
    from specchat_engine.load_options import LoadOptions

SECONDS = 30.0
"""For each draft, as on the command line."""

_NOTHING = "no answer had a token"


@dataclass(frozen=True, slots=True)
class TimingStep:
    """Where the timing of a draft stands: how much of its time is over, then what it gained or why it was not timed."""

    draft: Path
    share: float = 0.0
    gain: Gain | None = None
    trouble: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self.gain is not None or bool(self.trouble)


class DraftTimer:
    """Times drafts for one target. What was measured is kept at once, and the best draft as the target's own."""

    def __init__(
        self,
        client: EngineClient,
        target: Path,
        options: LoadOptions,
        busy: Callable[[], bool],
        seconds: float = SECONDS,
    ) -> None:
        """`busy` tells whether the chat's engine is answering: it cannot do both."""
        self.busy = busy
        self.seconds = seconds
        self.used = False
        self._client = client
        self._target = target
        self._options = options
        self._stopped = False

    def run(self, drafts: Sequence[Path]) -> Iterator[TimingStep]:
        """Blocks: use it in a thread. Ends early where it is stopped; the draft that was being timed has no result."""
        self._stopped, self.used = False, True
        gains: dict[Path, Gain] = {}
        for draft in drafts:
            yield TimingStep(draft)
            for event in self._client.time_draft(self._target, draft, self._options, self.seconds):
                if self._stopped:
                    continue
                if isinstance(event, Progress):
                    yield TimingStep(draft, event.share)
                elif isinstance(event, WorkerFailed):
                    yield TimingStep(draft, trouble=event.message)
                elif isinstance(event, Timed):
                    if event.gain is not None:
                        gains[draft] = event.gain
                        self._keep(gains)
                    yield TimingStep(draft, 1.0, event.gain, "" if event.gain else _NOTHING)
            if self._stopped:
                return

    def stop(self) -> None:
        """Ends it soon; from any thread."""
        self._stopped = True
        self._client.cancel()

    def _keep(self, gains: dict[Path, Gain]) -> None:
        """Beside what is kept of other drafts; a draft that gains nothing is remembered as that, and not loaded."""
        new = [
            Timing(str(path.absolute()), gain.speedup, DRAFTED.drafter, str(DRAFTED.k)) for path, gain in gains.items()
        ]
        names = {one.draft for one in new}
        write_timings(self._target, [*(one for one in read_timings(self._target) if one.draft not in names), *new])
        best = max(gains, key=lambda path: gains[path].speedup)
        if gains[best].speedup > 1:
            remember_pair(self._target, best)
