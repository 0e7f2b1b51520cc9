"""Figures about what drafting costs: the α that it needs, and where the time went."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Line, Style
from specchat.stats.figures.figure import FIGURES_PAGE, GAP, Figure, Row, keyed, room_in, shaded
from specchat.stats.line import shown_shares, time_percents
from specchat.stats.turn import TurnView
from specchat_engine.analysis.theory import memory_bound_speedup

_LONG_ROLLBACK = 0.02
_NO_TIMES = {"draft": 0.0, "verify": 0.0, "rollback": 0.0, "other": 0.0}


class _BreakEven(Figure):
    label, name, aliases = "α needed", "alpha needed", ("break-even",)
    help = "the stroke is the break-even point, the line is α"
    more = SectionAddress(FIGURES_PAGE, "Break-even")

    def value(self, view: TurnView) -> str:
        gauge = view.break_even
        return "" if gauge is None or gauge.needed is None else f"{gauge.needed:.2f}"

    def sentence(self, view: TurnView) -> str:
        gauge = view.break_even
        if gauge is None and view.figures.num_rounds and view.figures.alpha is None:
            return "Nothing was drafted, so there is no α that could be compared with the one needed."
        if gauge is None:
            return "The α above which drafting pays off on this machine. It shows once the speed-up is known."
        sentence = gauge.sentence()
        return f"Drafting {sentence}." if gauge.needed is not None else f"{sentence.capitalize()}."

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        gauge = view.break_even
        if gauge is not None and gauge.needed is None:
            yield (
                "Even if the target had accepted every drafted token, drafting and the wider passes of the target "
                "would have taken longer than plain decoding."
            )
        elif gauge is not None:
            yield f"If every drafted token had been accepted, the same rounds would have been {gauge.most:.2f} × plain."
        yield "The gauge follows from the speed-up: with another α the same rounds would give more or fewer tokens."

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        """The gauge and what it says, which takes at least two rows; an empty second one is a gap."""
        gauge = view.break_even
        yield self.row(*self._gauge(view, room_in(width)), spare=1)
        words = textwrap.wrap(self._missing(view) if gauge is None else gauge.sentence(), width)
        yield from (Row(((line, Style.QUIET),), 1, self) for line in words)
        yield from [GAP] * (2 - len(words))

    def _gauge(self, view: TurnView, room: int) -> Line:
        """α as a bar from 0 to 1, with a stroke at the break-even point."""
        gauge = view.break_even
        if gauge is None:
            return (("–", Style.QUIET),)
        has = min(round(gauge.has * room), room)
        cells = "━" * has + "─" * (room - has)
        if gauge.needed is None:
            return ((cells, Style.TARGET),)
        at = min(int(gauge.needed * room), room - 1)
        style = Style.ACCEPTED if gauge.pays else Style.TARGET
        return (cells[:at], style), ("┃", Style.STRONG), (cells[at + 1 :], style)

    def _missing(self, view: TurnView) -> str:
        """Why there is no gauge; nothing before the first round."""
        if not view.figures.num_rounds:
            return ""
        if view.figures.alpha is None:
            return "nothing was drafted" if view.final else "nothing drafted yet"
        return "the speed-up is not known" if view.final else "waits for the speed-up"


class _Time(Figure):
    label = name = "time"
    help = "where decoding time goes: drafting, the target's passes, the rest"
    more = SectionAddress(FIGURES_PAGE, "Time")

    def value(self, view: TurnView) -> str:
        whole = time_percents(view.figures.shares)
        return f"draft {whole['draft']} %" if whole else ""

    def sentence(self, view: TurnView) -> str:
        if not view.figures.shares:
            return "Where the time went: drafting, the target's passes, removing rejected tokens, and the rest."
        whole = time_percents(view.figures.shares)
        back = f"removing rejected tokens {whole['rollback']} %, " if "rollback" in whole else ""
        return (
            f"Drafting took {whole['draft']} % of the time, the target's passes {whole['verify']} %, "
            f"{back}sampling and everything else {whole['other']} %."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.shares:
            draft = ""
            if figures.num_drafts:
                took = figures.draft_ms / figures.num_drafts
                draft = f", and a draft of {figures.mean_draft:.1f} tokens {took:.1f} ms"
            yield f"A pass of the target took {figures.verify_ms / figures.num_rounds:.1f} ms on average{draft}."
        yield (
            "A pass over a few tokens takes little longer than one over a single token while the weights, which are "
            "moved from memory once for either, take most of the time."
        )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        shares = view.figures.shares or _NO_TIMES
        yield self.row(*shaded([*shown_shares(shares, _LONG_ROLLBACK).values()], room_in(width)), spare=2)
        known = view.figures.num_rounds > 0
        parts = (
            (f" {'back' if name == 'rollback' else name} ", f"{share}".ljust(4) if known else "–   ")
            for name, share in time_percents(shares, _LONG_ROLLBACK).items()
        )
        yield from self.flowing("in %", keyed(parts), width, 5)


class _MemoryBound(Figure):
    label, name, aliases = "MBSU", "mbsu", ("memory-bound",)
    help = "the speed-up if moving the weights took all of the time"
    more = SectionAddress(FIGURES_PAGE, "Time")

    def value(self, view: TurnView) -> str:
        bound = self._bound(view)
        return f"{bound:.2f} ×" if bound else ""

    def sentence(self, view: TurnView) -> str:
        bound = self._bound(view)
        if bound is None:
            return "What the drafts would gain if moving the weights from memory took all of the time of a pass."
        return (
            f"The drafts would give {bound:.2f} × plain if moving the weights from memory took all of the time of a "
            "pass. The rest is what wider passes, sampling and the program itself cost."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        yield "It is τ / (c·k + 1), with k passes of the draft model in a round, and c the share of its weights."

    def _bound(self, view: TurnView) -> float | None:
        """The memory-bound speed-up by the tokens that the draft model drafted; None if it drafted none."""
        memory, model, tau = view.memory, view.summary.by_source.get("model"), view.figures.block_efficiency
        if memory is None or not (memory.target_weights and memory.draft_weights and model and tau):
            return None
        passes = model.num_draft_tokens / view.figures.num_rounds
        return memory_bound_speedup(tau, passes, memory.draft_weights / memory.target_weights)


BREAK_EVEN = _BreakEven()
TIME = _Time()
MEMORY_BOUND = _MemoryBound()
