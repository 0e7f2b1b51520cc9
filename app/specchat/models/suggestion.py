"""A known model or pair as it is offered: its names, size, expected speed, and the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from specchat.models.labels import format_size
from specchat_assets.catalog import CatalogPair, Model, Report


class SpeedUpKind(Enum):
    """What makes it fast, in words."""

    DRAFT = "the draft guesses well and costs little"
    UNMEASURED = "a small draft of the same family, which nobody has measured"
    LOOKUP = "no draft needed: edits, summaries and code repeat their text"
    PLAIN = "plain decoding: checking several tokens costs too much here"
    EXPERTS = "a mixture of experts: a token reads few of its weights"
    CHEAP_PASSES = "16 bits are slower, but checking several tokens costs little more than one"

    @property
    def short(self) -> str:
        """The same in fewer words."""
        return _SHORT[self]


_SHORT: Final = {
    SpeedUpKind.DRAFT: "the draft guesses well",
    SpeedUpKind.UNMEASURED: "a small draft, not measured",
    SpeedUpKind.LOOKUP: "no draft needed: edits repeat old text",
    SpeedUpKind.PLAIN: "checking several tokens costs too much",
    SpeedUpKind.EXPERTS: "a token reads few of its weights",
    SpeedUpKind.CHEAP_PASSES: "16 bits: checking several costs little",
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A target with or without a draft.

    `n_ctx` tokens of context fit into `memory` bytes. `pace` is the most tokens per second that the memory bandwidth
    allows plain decoding, infinite if that is not known. `speedup` is the most to expect: of the draft, or without one
    of lookup in a text that repeats another; None if nothing is known. `notes` say more, one line each.
    """

    kind: SpeedUpKind
    model: Model
    quantisation: str
    pair: CatalogPair | None
    quantisation_draft: str
    size: int
    memory: int
    n_ctx: int
    pace: float
    speedup: float | None
    notes: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The target's name for `specchat models pull`."""
        return f"{self.model.repository}:{self.quantisation}"

    @property
    def draft(self) -> str:
        """The draft's name for `specchat models pull`; empty without a draft."""
        return f"{self.pair.draft.repository}:{self.quantisation_draft}" if self.pair else ""

    @property
    def title(self) -> str:
        """`Qwen3 4B Q4_K_M`, with a draft `Qwen3 4B Q4_K_M + 0.6B`."""
        name = short_name(self.model)
        draft = f" + {_shorter(short_name(self.pair.draft), name)}" if self.pair else ""
        return f"{name} {self.quantisation}{draft}"

    @property
    def download(self) -> str:
        """The size of the download."""
        return format_size(self.size)

    @property
    def speed(self) -> str:
        """The expected speed: `7.0 tok/s, up to 11 for edits`, or `up to 1.6 × for edits` if no pace is known."""
        pace = f"{_words_of(self.pace)} tok/s, " if math.isfinite(self.pace) else ""
        if self.kind is SpeedUpKind.PLAIN:
            return f"{pace}no gain"
        if self.speedup is None:
            return f"{pace}speed-up not known"
        most = _words_of(self.pace * self.speedup) if pace else f"{self.speedup:.1f} ×"
        return f"{pace}up to {most} {'with a draft' if self.pair else 'for edits'}"

    @property
    def gains(self) -> bool:
        """Whether its draft is known to gain."""
        return self.kind is SpeedUpKind.DRAFT

    def lines(self) -> list[str]:
        """The reason, what is known of memory and drafts, and the sources, one line each."""
        reports = self.pair.reports if self.pair else ()
        return [self.kind.value, *self.notes, *map(_line, reports)]


def short_name(model: Model) -> str:
    """A model's name without words that all names have."""
    return model.name.replace(" Instruct", "")


def _words_of(pace: float) -> str:
    """Tokens per second in digits."""
    return f"{pace:.0f}" if pace >= 10 else f"{pace:.1f}"


def _shorter(draft: str, target: str) -> str:
    """A draft's name without the words at its beginning and end that the target's name has, too: `0.6B`."""
    words, others = draft.split(), target.split()
    while len(words) > 1 and others and words[0] == others[0]:
        words, others = words[1:], others[1:]
    while len(words) > 1 and others and words[-1] == others[-1]:
        words, others = words[:-1], others[:-1]
    return " ".join(words)


def _line(report: Report) -> str:
    figures = [
        f"α {report.alpha:.2f}" if report.alpha is not None else "",
        f"accepted {100 * report.acceptance_rate:.0f} %" if report.acceptance_rate is not None else "",
        f"τ {report.block_efficiency:.1f}" if report.block_efficiency is not None else "",
        f"{report.speedup:.2f} ×" if report.speedup is not None else "",
        f"k {report.k}" if report.k is not None else "",
    ]
    return f"{', '.join(figure for figure in figures if figure)} ({report.setting}): {report.source}"
