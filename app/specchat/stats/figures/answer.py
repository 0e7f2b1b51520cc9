"""Figures about the answer as a whole: its speed over the turn, memory, tokens, the ribbon of rounds, and the rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from specchat.manual.sections import SectionAddress
from specchat.stats.charts import Line, Piece, Style
from specchat.stats.figures.figure import (
    FIGURES_PAGE,
    GAP,
    LOSSLESS_PAGE,
    Figure,
    Row,
    counted,
    keyed,
    room_in,
    shaded,
)
from specchat.stats.figures.speed import SPEED
from specchat.stats.rules import about_rule
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import columns, cut, levels
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import LOOKS
from specchat_engine.load_options import MemoryUse

_STYLES = {look.glyph: Style(f"$outcome-{outcome.value}") for outcome, look in LOOKS.items() if look.glyph}


class _SpeedOverTheTurn(Figure):
    label = "tok/s"

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        curve = levels(columns(view.history, room_in(width)), max(view.history, default=0.0))
        yield SPEED.row((curve, Style.ACCEPTED), spare=6)


class _Memory(Figure):
    label = name = "memory"
    help = "both models, their caches, and compute buffers"
    more = SectionAddress(FIGURES_PAGE, "Memory")

    def sentence(self, view: TurnView) -> str:
        use = view.memory or MemoryUse()
        parts = {
            "The target": use.target_weights,
            "its cache": use.target_cache,
            "the draft": use.draft_weights,
            "the draft's cache": use.draft_cache,
            "compute buffers": use.compute,
        }
        sizes = {name: size for name, size in parts.items() if size}
        if not sizes:
            return (
                "The memory that models and caches take. A cache is reserved for the whole context when a model is "
                "loaded."
            )
        words = ", ".join(f"{name} {_bytes(size)}" for name, size in sizes.items())
        return f"{words}: {_bytes(sum(sizes.values()))} in all. The caches are reserved for the whole context."

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        yield "If memory is short, a smaller context, another cache type or a smaller quantisation helps."

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        """The bytes of both models' weights, of their caches, and of compute buffers."""
        use = view.memory or MemoryUse()
        sizes = {
            "target": use.target_weights or 0,
            "draft": use.draft_weights or 0,
            "caches": (use.target_cache or 0) + (use.draft_cache or 0),
            "work": use.compute or 0,
        }
        whole = sum(sizes.values())
        scale, unit, decimals = (1e9, "GB", 1) if whole >= 1e9 else (1e6, "MB", 0)
        total = f"{whole / scale:.{decimals}f} {unit}" if whole else "–"
        drawn = shaded([size / whole for size in sizes.values()], room_in(width) - 9) if whole else ()
        yield self.row((total.ljust(9), Style.PLAIN), *drawn, spare=5)
        parts = ((f"{name} ", f"{size / scale:.{decimals}f} " if size else "") for name, size in sizes.items())
        yield from self.flowing("", keyed(parts), width, 7)


class _SoFar(Figure):
    label, name, aliases = "so far", "so far", ("tokens",)
    more = SectionAddress(FIGURES_PAGE, "Rounds")

    def value(self, view: TurnView) -> str:
        return f"{view.figures.num_tokens} tokens" if view.figures.num_rounds else ""

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        if not figures.num_rounds:
            return "The tokens of the answer, and the rounds that made them."
        rounds, tokens = counted(figures.num_rounds, "round"), counted(figures.num_tokens, "token")
        return f"{rounds} gave {tokens}. A round has one target pass."

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        figures = view.figures
        if figures.num_rounds:
            saved = figures.num_tokens - figures.num_rounds
            yield (
                f"Plain decoding needs a pass of the target for each token, {figures.num_tokens} in all. "
                f"Drafting saved {saved if saved > 0 else 'none'} of them."
            )

    def rows(self, view: TurnView, width: int) -> Iterator[Row]:
        text = f"{view.figures.num_tokens} tokens in {view.figures.num_rounds} rounds"
        yield self.row((text, Style.PLAIN), spare=8)
        yield GAP


class _Rounds(Figure):
    label, name, aliases = "rounds", "rounds", ("ribbon",)
    more = SectionAddress(FIGURES_PAGE, "Rounds")

    def sentence(self, view: TurnView) -> str:
        figures = view.figures
        signs = "● is an accepted token, ○ a rejected and · a discarded one; the target's own ends the round."
        if not figures.num_draft_tokens:
            return f"Each word is a round: {signs}"
        discarded = figures.num_draft_tokens - figures.num_tested_tokens
        counts = f"● {figures.num_accepted_tokens}, ○ {figures.num_rejected_tokens}, · {discarded}"
        if figures.num_siblings:
            rest = figures.num_draft_tokens - figures.num_accepted_tokens
            counts = f"● {figures.num_accepted_tokens}, ○ and · {rest}, with those of other branches"
        return f"Each word is a round: {signs} In this answer: {counts}."

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        yield (
            "The target's own token is ◆ after a rejection, ◇ after a draft that was accepted as a whole, and □ where "
            "nothing was drafted. Branches of a tree stand in parentheses."
        )


class _Verifier(Figure):
    label = name = "verifier"
    help = "the rule for drafted tokens; ≈ typical is lossy: it favours the draft"
    more = SectionAddress(LOSSLESS_PAGE, "The rules")

    def value(self, view: TurnView) -> str:
        return view.verifier

    def sentence(self, view: TurnView) -> str:
        if not view.verifier:
            return "The verifier is the rule by which drafted tokens are accepted or rejected."
        return f"The verifier {clean_line(view.verifier)} decided which drafted tokens were accepted."

    def paragraphs(self, view: TurnView) -> Iterator[str]:
        yield from about_rule(view.verifier)


SPEED_OVER_THE_TURN = _SpeedOverTheTurn()
MEMORY = _Memory()
SO_FAR = _SoFar()
ROUNDS = _Rounds()
VERIFIER = _Verifier()


def ribbon(view: TurnView, width: int, height: int) -> Iterator[Row]:
    """The latest rounds in `height` rows, filled from the left, so that words do not move."""
    lines: list[list[str]] = [[]]
    room = width
    for word in view.ribbon:
        drawn = cut(word, width)
        if len(drawn) > room:
            lines.append([])
            room = width
        lines[-1].append(drawn)
        room -= len(drawn) + 1
    lines = lines[-height:]
    for at in range(height):
        yield Row(_coloured(lines[at]) if at < len(lines) else (), 1 + 2 * at, ROUNDS)


def latest(words: Sequence[str], width: int) -> Line:
    """As many of the latest rounds as fit into one row."""
    chosen: list[str] = []
    room = width
    for word in reversed(words):
        drawn = cut(word, width)
        if len(drawn) > room:
            break
        chosen.insert(0, drawn)
        room -= len(drawn) + 1
    return _coloured(chosen)


def _coloured(words: Sequence[str]) -> tuple[Piece, ...]:
    return tuple(
        piece
        for word in words
        for piece in (
            *(("".join(run), _STYLES.get(glyph, Style.QUIET)) for glyph, run in groupby(word)),
            (" ", Style.PLAIN),
        )
    )


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 10 * scale else f"{size / scale:.0f} {unit}"
    return f"{size / 1e3:.0f} kB"
