"""Times drafts one after the other on the chat's engine, which unloads its pair for that. Without widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.bench.plan import DRAFTED
from specchat.bench.samples import Gain
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import DraftTimed, TaskFailed
from specchat.engine_process.protocol import DraftTrial as Progress
from specchat.models.last_pairs import DraftTiming, read_timings, write_timings
from specchat.models.preferences import remember_pair

if TYPE_CHECKING:
    from specchat_engine.load_options import LoadOptions

SECONDS = 30.0
"""Seconds for each draft, as on the command line."""

_NOTHING = "no answer had a token"


@dataclass(frozen=True, slots=True)
class TimingStep:
    """The progress of a draft: the share of its time that is over, then its gain or why it could not be timed."""

    draft: Path
    share: float = 0.0
    gain: Gain | None = None
    trouble: str = ""

    @property
    def ended(self) -> bool:
        """Whether the timing of this draft has ended."""
        return self.gain is not None or bool(self.trouble)


class DraftTimer:
    """Times drafts for one target. Stores each result at once, and which draft is the best for the target."""

    def __init__(
        self,
        client: EngineClient,
        target: Path,
        options: LoadOptions,
        busy: Callable[[], bool],
        seconds: float = SECONDS,
    ) -> None:
        """`busy` returns whether the engine is answering; it cannot do both at once."""
        self.busy = busy
        self.seconds = seconds
        self.used = False
        self._client = client
        self._target = target
        self._options = options
        self._stopped = False

    def run(self, drafts: Sequence[Path]) -> Iterator[TimingStep]:
        """Times drafts while the result is read, in a thread, since that blocks. After a `stop` that follows this call
        it ends early, without a result for the present draft."""
        self._stopped, self.used = False, True
        return self._run(drafts)

    def _run(self, drafts: Sequence[Path]) -> Iterator[TimingStep]:
        gains: dict[Path, Gain] = {}
        for draft in drafts:
            yield TimingStep(draft)
            for event in self._client.time_draft(self._target, draft, self._options, self.seconds):
                if self._stopped:
                    self._client.cancel()  # a cancel before the first event is not heard
                    continue
                if isinstance(event, Progress):
                    yield TimingStep(draft, event.share)
                elif isinstance(event, TaskFailed):
                    yield TimingStep(draft, trouble=event.message)
                elif isinstance(event, DraftTimed):
                    if event.gain is not None:
                        gains[draft] = event.gain
                        self._keep(gains)
                    yield TimingStep(draft, 1.0, event.gain, "" if event.gain else _NOTHING)
            if self._stopped:
                return

    def stop(self) -> None:
        """Ends the timing soon. May be called from any thread."""
        self._stopped = True
        self._client.cancel()

    def _keep(self, gains: dict[Path, Gain]) -> None:
        """Beside what is kept of other drafts; a draft that gains nothing is remembered as that, and not loaded."""
        new = [
            DraftTiming(str(path.absolute()), gain.speedup.value, DRAFTED.drafter, str(DRAFTED.k))
            for path, gain in gains.items()
        ]
        names = {timing.draft for timing in new}
        write_timings(
            self._target, [*(timing for timing in read_timings(self._target) if timing.draft not in names), *new]
        )
        best = max(gains, key=lambda path: gains[path].speedup.value)
        if gains[best].speedup.value > 1:
            remember_pair(self._target, best)
