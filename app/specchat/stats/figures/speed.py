"""Figures about the speed of an answer, and the sentence that says why it was as fast as it was."""

from __future__ import annotations

from collections.abc import Iterator

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Line, Style
from specchat.stats.figures.figure import FIGURES_PAGE, GAP, SAME, Figure, Row
from specchat.stats.line import UNKNOWN, speed_words, speedup_words, time_percents
from specchat.stats.summary import Figures, Summary
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import number, per_cent, speed

_ABOUT = 0.03
"""A speed-up that is closer to 1 than this is called none in `in_short`."""

_FEW, _LITTLE, _MUCH = 0.2, 0.2, 0.3
"""Few rounds draft; drafting takes little of the time, and much of it."""

_SPEEDUP = 15
"""The width of the speed-up with its unit."""


class _Speed(Figure):
    label, name = "tok/s", "speed"
    help = "tokens a second while decoding, smoothed; exact when the answer ends"
    more = SectionAddress(FIGURES_PAGE, "Speed")

    def value(self, view: TurnView) -> str:
        rate = view.figures.tokens_per_second
        return speed_words(rate) if rate else ""

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if figures.tokens_per_second is None:
            return "Tokens per second while decoding. The time to read the prompt does not count."
        return (
            f"{figures.num_tokens} tokens in {figures.decode_ms:.0f} ms of decoding: {figures.tokens_per_second:.1f} "
            "per second. The time to read the prompt does not count."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.num_rounds:
            yield (
                f"Each of the {figures.num_rounds} rounds took {figures.decode_ms / figures.num_rounds:.1f} ms on "
                f"average and gave {figures.num_tokens / figures.num_rounds:.1f} tokens."
            )
        yield "While an answer streams, the figure covers the last 24 rounds. At the end it covers all of them."

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        over_the_turn: Line = ((" over the turn", Style.QUIET),)
        if not view.final:
            rate = speed(view.figures.tokens_per_second)
            over_the_turn = ((" now ", Style.QUIET), (rate, Style.PLAIN), *over_the_turn)
        yield Row(((speed(view.tokens_per_second), Style.STRONG), (" tok/s", Style.QUIET), *over_the_turn), 0, self)

    def short(self, view: TurnView) -> Line:
        return (speed(view.tokens_per_second), Style.STRONG), (" tok/s ", Style.QUIET)

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        yield "tokens/s", number(summary.total.tokens_per_second, 1, 1)


class _SpeedUp(Figure):
    label, name = "× plain", "speedup"
    help = "how much faster than the target alone, from plain passes of the same answer; ×? if not known"
    more = SectionAddress(FIGURES_PAGE, "Speed")

    def value(self, view: TurnView) -> str:
        return speedup_words(view.speedup) if view.figures.num_rounds else ""

    def sentence(self, view: TurnView) -> str:
        summary = view.summary
        if summary.speedup is None:
            return (
                "How much faster this is than plain decoding. It is not known (×?) unless plain passes were timed "
                "while the machine was as busy as during the answer."
            )
        return (
            f"This answer took {summary.against_ms:.0f} ms of decoding. At the measured speed of plain passes, plain "
            f"decoding would have taken {summary.plain_ms:.0f} ms: {summary.speedup:.2f} × plain."
        )

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        if view.speedup is not None:
            change, saved = view.speedup - 1, view.summary.plain_ms - view.summary.against_ms
            if abs(change) < SAME:
                yield "Drafting cost about as much time as it saved."
            elif change > 0:
                yield f"So drafting saved {saved:.0f} ms: the answer was {per_cent(change)} faster."
            else:
                yield f"So drafting cost {-saved:.0f} ms: the answer was {per_cent(-change)} slower."
        if view.disturbed:
            yield "Other programs took much of the processors during this answer, which slowed it down."
        yield (
            "Plain decoding makes one token with each pass of the target. Passes without a draft are timed to measure "
            "it."
        )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        if view.speedup is not None:
            change = view.speedup - 1
            meaning = f"{per_cent(abs(change))} {'faster' if change >= 0 else 'slower'}"
        elif view.expected:
            meaning = "expected"
        else:
            meaning = "other programs use the CPU" if view.disturbed else "not known" if view.final else ""
        yield Row((*self._ratio(view, "plain"), (meaning, Style.QUIET)), 0, self)
        yield GAP

    def short(self, view: TurnView) -> Line:
        return self._ratio(view, "expected" if view.expected else "plain")

    def total(self, summary: Summary) -> Iterator[tuple[str, str]]:
        yield self.label, "×?" if summary.speedup is None else number(summary.speedup, 1, 2)

    def _ratio(self, view: TurnView, of: str) -> Line:
        """The speed-up, measured or expected, in the room that the longest one takes."""
        ratio = view.speedup or view.expected
        if ratio is None:
            unknown = UNKNOWN if view.figures.num_rounds else " – × plain"
            return ((f"  {unknown}".ljust(_SPEEDUP), Style.QUIET),)
        style = Style.GAIN if ratio >= 1 else Style.LOSS
        return (number(ratio, 4, 2), style), (f" × {of}".ljust(_SPEEDUP - 4), Style.QUIET)


SPEED = _Speed()
SPEEDUP = _SpeedUp()


def in_short(view: TurnView) -> str:
    """Why the answer was as fast as it was, in a sentence or two."""
    figures, speedup = view.figures, view.speedup
    if not figures.num_rounds:
        return "Nothing was decoded yet."
    if not figures.shares:
        return _by_a_server(figures)
    busy = " Other programs were using the CPU, which slowed down everything." if view.disturbed else ""
    if not figures.num_drafts:
        return f"As fast as plain: nothing was drafted.{busy}"
    if speedup is None:
        return _not_compared(view)
    rate, share = per_cent(figures.acceptance_rate or 0.0), time_percents(figures.shares)["draft"]
    if speedup >= 1 + _ABOUT:
        return f"{speedup:.2f} times as fast as plain: {rate} of the drafted tokens were accepted.{busy}"
    if speedup > 1 - _ABOUT:
        few = figures.num_drafts < _FEW * figures.num_rounds
        why = "few drafts promised to pay off" if few else "drafting gained about as much as it cost"
    elif view.break_even and view.break_even.needed is None:
        why = "drafts cost more here than they could gain, even if every drafted token were accepted"
    elif figures.shares["draft"] >= _MUCH:
        why = f"drafting took {share} % of the time, and {rate} of the drafted tokens were accepted"
    else:
        why = f"only {rate} of the drafted tokens were accepted"
    how = "As fast as" if speedup > 1 - _ABOUT else f"{per_cent(1 - speedup)} slower than"
    return f"{how} plain: {why}.{busy}"


def _by_a_server(figures: Figures) -> str:
    if figures.acceptance_rate is None:
        return "A server gave this answer. It did not report its drafts."
    return (
        f"A server gave this answer. {per_cent(figures.acceptance_rate)} of the tokens that it drafted were accepted. "
        "It does not report what a plain pass takes."
    )


def _not_compared(view: TurnView) -> str:
    shares = view.figures.shares
    share = time_percents(shares)["draft"]
    if not view.disturbed:
        return (
            "Not compared with plain: no plain passes were timed while the machine was as busy. "
            f"{per_cent(view.figures.acceptance_rate or 0.0)} of the drafted tokens were accepted."
        )
    innocent = " and isn't the cause" if shares["draft"] < _LITTLE else ""
    return (
        "Slowed down: another program was using the CPU. "
        f"Drafting took {share} % of the time{innocent}. The machine was too busy to compare with plain."
    )
