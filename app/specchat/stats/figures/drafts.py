"""Figures about drafts: where they came from, and how long they may be."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Style
from specchat.stats.figures.figure import FIGURES_PAGE, GAP, Figure, Row, room_in
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import columns, cut, levels, percents
from specchat.terminal.filter import clean_line


class _Sources(Figure):
    label = name = "drafts"
    help = "the source of the drafts: a draft model, a head of the target, or prompt lookup"
    more = SectionAddress(FIGURES_PAGE, "Drafts")

    def sentence(self, view: TurnView) -> str:
        if not view.sources:
            return (
                "Where drafts come from: a draft model, a head of the target, or lookup, which copies from earlier "
                "text."
            )
        sources = " and ".join(f"{share} % from {name}" for name, share in self._shares(view))
        return (
            f"{view.figures.num_drafts} drafts: {sources}. A draft model and a head predict; lookup copies what "
            "followed the same words before."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        for name, figures in view.summary.by_source.items():
            if figures.num_drafts and figures.alpha is not None:
                yield (
                    f"{clean_line(name)}: {figures.num_accepted_tokens} of {figures.num_draft_tokens} drafted tokens "
                    f"accepted, α {figures.alpha:.2f}."
                )
        yield "With the drafter hybrid, the source is chosen before each round by what it promises to gain."

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        none = "none" if view.final else "none yet"
        sources = "  ".join(f"{name} {share:>3} %" for name, share in self._shares(view))
        yield self.row((sources, Style.PLAIN) if sources else (none, Style.QUIET), spare=4)

    def _shares(self, view: TurnView) -> Iterator[tuple[str, int]]:
        whole = percents(share for _, share in view.sources)
        return ((clean_line(name), share) for (name, _), share in zip(view.sources, whole, strict=True))


class _K(Figure):
    label = name = "k"
    help = "the most tokens drafted in a round, over the turn, with the reason; 0 is plain"
    more = SectionAddress(FIGURES_PAGE, "Drafts")

    def value(self, view: TurnView) -> str:
        return str(view.k) if view.figures.num_rounds else ""

    def sentence(self, view: TurnView) -> str:
        if not view.figures.num_rounds:
            return "The most tokens that a round may draft, and the reason."
        reason = clean_line(view.reason) or "none given"
        limited = f" The last round: {view.limit}." if view.limit else ""
        return f"A round drafts at most {view.k} tokens. The reason: {reason}.{limited}"

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.num_drafts:
            yield (
                f"Over the answer, drafts were {figures.mean_draft:.1f} tokens long on average; "
                f"{figures.num_rounds - figures.num_drafts} of {figures.num_rounds} rounds had none."
            )
        yield (
            "k 0 is plain decoding. A larger k gains more where the draft is right and loses more where it is wrong. "
            "With k auto it is chosen before each round from measured times and shares."
        )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        room = room_in(width)
        over_the_turn = levels(columns(view.k_history, room - 4), max(view.k_most, 1))
        known = ((f"{view.k:<4}", Style.PLAIN), (over_the_turn, Style.ACCEPTED))
        yield self.row(*(known if view.figures.num_rounds else (("–", Style.QUIET),)), spare=1)
        yield self.row((cut(clean_line(view.reason), room), Style.QUIET), label="", spare=3)
        yield GAP


SOURCES = _Sources()
K = _K()
