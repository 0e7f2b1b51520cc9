"""Figures about acceptance: the rate, α, τ, and acceptance by position."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Line, Style
from specchat.stats.figures.figure import FIGURES_PAGE, SAME, Figure, Row, counted, room_in
from specchat.stats.summary import Summary
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import bar, levels, number, per_cent, percent
from specchat_engine.analysis.theory import expected_tokens

_SECTION = SectionAddress(FIGURES_PAGE, "Acceptance")


class _Accepted(Figure):
    label = name = "accepted"
    help = "accepted / drafted tokens"
    more = _SECTION

    def value(self, view: TurnView) -> str:
        rate = view.figures.acceptance_rate
        return "" if rate is None else per_cent(rate)

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if figures.acceptance_rate is None:
            return "The share of drafted tokens that became part of the answer."
        return (
            f"{figures.num_accepted_tokens} of {figures.num_draft_tokens} drafted tokens became part of the answer: "
            f"{per_cent(figures.acceptance_rate)}."
        )

    def caption(self, view: TurnView) -> str:
        return f"{self.sentence(view)} {ALPHA_AND_RATE.sentence(view)}"

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.num_draft_tokens:
            rejected, discarded = figures.num_rejected_tokens, figures.num_draft_tokens - figures.num_tested_tokens
            how = "after a rejected one or on another branch" if figures.num_siblings else "without a comparison"
            yield (
                f"{counted(rejected, 'token')} {_were(rejected)} compared and rejected, "
                f"{discarded} {_were(discarded)} discarded {how}."
            )
        yield (
            "The rate counts every drafted token. Long drafts lower it, because tokens after a rejected one are lost; "
            "they may still be faster."
        )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        rate = view.figures.acceptance_rate
        drawn = bar(rate or 0.0, room_in(width) - 6)
        yield self.row((drawn, Style.ACCEPTED), (" ", Style.PLAIN), (percent(rate), Style.PLAIN))

    def short(self, view: TurnView) -> Line:
        rate = view.figures.acceptance_rate
        return (" acc ", Style.QUIET), (bar(rate or 0.0, 5), Style.ACCEPTED), (f" {percent(rate)}", Style.PLAIN)

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        rate, drafted = summary.total.acceptance_rate, summary.total.num_draft_tokens
        yield self.label, "nothing was drafted" if rate is None else f"{percent(rate).strip()} of {drafted} drafted"


class _Alpha(Figure):
    label, name, aliases = "α", "alpha", ("α and acceptance",)
    help = "accepted / (accepted + rejected): discarded tokens were never compared"
    more = _SECTION

    def value(self, view: TurnView) -> str:
        return "" if view.figures.alpha is None else f"{view.figures.alpha:.2f}"

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if figures.alpha is None:
            return "α is the share of compared tokens that were accepted. Discarded tokens are never compared."
        return (
            f"{figures.num_accepted_tokens} of the {figures.num_tested_tokens} drafted tokens that were compared with "
            f"the target's own were equal to it: α {figures.alpha:.2f}."
        )

    def caption(self, view: TurnView) -> str:
        return f"{self.sentence(view)} {ALPHA_AND_RATE.sentence(view)}"

    def opening(self, view: TurnView) -> str:
        figures = view.figures
        if figures.alpha is None:
            return self.sentence(view)
        tested, accepted = figures.num_tested_tokens, figures.num_accepted_tokens
        return (
            f"Of {counted(tested, 'drafted token')} that {_were(tested)} compared with the target, "
            f"{accepted} {_were(accepted)} accepted: {per_cent(figures.alpha)}."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures, gauge = view.figures, view.break_even
        yield "α estimates how likely the target is to accept the next drafted token, if it gets that far."
        if figures.alpha is not None and view.k:
            expected = expected_tokens(figures.alpha, view.k)
            yield f"With it, a draft of {view.k} tokens gives {expected:.1f} tokens a pass on average."
        if gauge is not None and gauge.needed is not None:
            change = f"{'gained' if gauge.pays else 'cost'} {per_cent(abs(gauge.speedup - 1))}"
            if abs(gauge.speedup - 1) < SAME:
                change = "gained about as much as it cost"
            yield f"Break-even here is {gauge.needed:.2f}, so drafting {change}."
        if figures.alpha is not None and figures.num_draft_tokens > figures.num_tested_tokens:
            yield ALPHA_AND_RATE.sentence(view)

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        figures = view.figures
        compared = f"  {figures.num_accepted_tokens} of {figures.num_tested_tokens} compared"
        pieces = ((compared, Style.QUIET),) if figures.num_tested_tokens else ()
        yield self.row((number(figures.alpha, 5, 2), Style.PLAIN), *pieces)

    def short(self, view: TurnView) -> Line:
        return ("  α ", Style.QUIET), (number(view.figures.alpha, 4, 2), Style.PLAIN)

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        yield self.label, f"{number(summary.total.alpha, 1, 2)} of {summary.total.num_tested_tokens} compared"


class _Tau(Figure):
    label, name = "τ", "tau"
    help = "tokens per target pass, its own included; at most k + 1"
    more = _SECTION

    def value(self, view: TurnView) -> str:
        efficiency = view.figures.block_efficiency
        return "" if efficiency is None else f"{efficiency:.2f}"

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if figures.block_efficiency is None:
            return "τ is the number of tokens per target pass: 1 without drafts, at most k + 1."
        return (
            f"{figures.num_rounds} target passes gave {figures.num_tokens} tokens: τ {figures.block_efficiency:.2f}. "
            "Plain decoding has τ 1."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.num_drafts:
            yield (
                f"{figures.num_accepted_tokens} of them were drafted and accepted. The others are the target's own, "
                f"one at the end of nearly every round. {figures.num_drafts} of {figures.num_rounds} rounds had a "
                f"draft, {figures.mean_draft:.1f} tokens long on average."
            )
        yield (
            "τ is what speculation would gain if drafting cost nothing and a pass over several tokens took no longer "
            "than one over a single token."
        )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        groups: list[Line] = [((number(None, 5, 2), Style.PLAIN),)]
        if view.figures.num_draft_tokens:
            efficiency = number(view.figures.block_efficiency, 5, 2)
            groups = [
                ((efficiency, Style.PLAIN), ("  tokens a pass,", Style.QUIET)),
                ((f" {view.k_most + 1} at most", Style.QUIET),),
            ]
        return self.flowing(self.label, groups, width, 1)

    def short(self, view: TurnView) -> Line:
        efficiency = view.figures.block_efficiency if view.figures.num_draft_tokens else None
        return ("  τ ", Style.QUIET), (number(efficiency, 4, 2), Style.PLAIN)

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        yield self.label, f"{number(summary.total.block_efficiency, 1, 2)} tokens a pass"


class _AlphaAndRate(Figure):
    """The difference between the two, which are easily confused. It is part of the explanations of both."""

    label = "α and acceptance"

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if figures.alpha is None or figures.acceptance_rate is None:
            return "The acceptance rate counts every drafted token, α only those that were compared."
        discarded, accepted = figures.num_draft_tokens - figures.num_tested_tokens, figures.num_accepted_tokens
        if not discarded:
            return "No token was discarded, so all drafted tokens were compared: α and the acceptance rate are equal."
        where = "after a rejected one or on another branch" if figures.num_siblings else "after a rejected one"
        counts = "It counts" if discarded == 1 else "They count"
        return (
            f"{counted(discarded, 'token')} {where} {_were(discarded)} discarded. {counts} as drafted "
            f"({accepted}/{figures.num_draft_tokens} = {per_cent(figures.acceptance_rate)} accepted) but not as "
            f"compared ({accepted}/{figures.num_tested_tokens} = α {figures.alpha:.2f})."
        )


class _ByPosition(Figure):
    label, name, aliases = "by place", "by place", ("positions",)
    help = "how often the 1st, 2nd, … drafted token is accepted"
    more = _SECTION

    def value(self, view: TurnView) -> str:
        shares = view.figures.accepted_by_place
        return per_cent(shares[0]) if shares else ""

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if not figures.drafted_at:
            return "How often the token at each position of a draft was accepted."
        last = len(figures.drafted_at)
        first_share, last_share = figures.accepted_by_place[0], figures.accepted_by_place[-1]
        return (
            f"The first token of a draft was accepted in {per_cent(first_share)} of {figures.drafted_at[0]} drafts, "
            f"the one at position {last} in {per_cent(last_share)} of {figures.drafted_at[-1]}. A token is accepted "
            "only if all tokens before it are."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.drafted_at:
            places = zip(figures.accepted_by_place, figures.drafted_at, strict=True)
            shares = [
                f"{position}: {per_cent(share)} of {drafts}" for position, (share, drafts) in enumerate(places, 1)
            ]
            yield f"{', '.join(shares)}."
        yield "Where the share becomes small, longer drafts are mostly wasted: that is what a smaller k saves."

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        yield self.row(*self._levels(view, room_in(width)), spare=3)

    def _levels(self, view: TurnView, room: int) -> Line:
        shares = view.figures.accepted_by_place
        if not shares:
            return (("–", Style.QUIET),)
        drawn = levels(shares, 1.0)[:room]
        numbers = "".join(f" {share * 100:.0f}" for share in shares)
        left = room - len(drawn) - 4
        if len(numbers) > left:
            numbers = numbers[: max(left, 0)].rpartition(" ")[0] + " …"
        words: Line = ((f" {numbers}", Style.PLAIN), (" %", Style.QUIET)) if left > 4 else ()
        return (drawn, Style.ACCEPTED), *words


ACCEPTED = _Accepted()
ALPHA = _Alpha()
TAU = _Tau()
ALPHA_AND_RATE = _AlphaAndRate()
BY_POSITION = _ByPosition()


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
