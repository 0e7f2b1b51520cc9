"""How far the reading of a prompt has come, and whether other programs slow it down."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter, process_time

_CONTENDED = 0.75
"""Other programs keep the cores busy if the threads of a pass compute for less than this share of its time."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """How far the reading of a prompt has come: `read` of its `total` tokens, those that were known included.

    `contended` says that other programs keep the cores busy meanwhile.
    """

    read: int
    total: int
    contended: bool


@dataclass(frozen=True, slots=True)
class PromptReading:
    """A prompt of `total` tokens that is being read with `threads` threads of the processor, 0 if it is not known."""

    total: int
    threads: int
    began: float = field(default_factory=perf_counter)
    computed: float = field(default_factory=process_time)

    def progress(self, read: int) -> PromptProgress:
        """The progress once the memory holds `read` tokens."""
        wanted = self.threads * (perf_counter() - self.began)
        contended = process_time() - self.computed < _CONTENDED * wanted
        return PromptProgress(min(read, self.total), self.total, contended)
