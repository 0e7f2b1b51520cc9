"""The rows of a race: who is where, who leads, and how it ended."""

from __future__ import annotations

from textual.content import Content

from specchat.terminal.blocks import speed
from specchat.traces.race import Race, Runner
from specchat.tui.playback import clock

_NAMES = ("plain", "speculative")
_LEAST_BAR = 10
_WIDE = 52


def lane_title(name: str, runner: Runner, seconds: float, width: int) -> Content:
    """One side: its name, its clock, which stops when it is done, tokens/s so far; tokens where they fit."""
    done = seconds >= runner.finish
    tokens = f" {runner.tokens(seconds):>6} tokens" if width >= _WIDE else ""
    return Content.assemble(
        (f"{name:<12}", "bold $text-secondary"),
        (clock(min(seconds, runner.finish)), "bold" if done else ""),
        (" ■ " if done else " ▶ ", "$quiet"),
        (speed(runner.tokens_per_second(seconds)), "bold"),
        (f" tok/s{tokens}", "$quiet"),
    ).truncate(width, ellipsis=True)


def most_lead(race: Race) -> int:
    """The furthest that one is ever ahead of the other, in tokens."""
    moments = [event.t_ms / 1000 for runner in (race.plain, race.speculative) for event in runner.trace.rounds]
    return max((abs(race.lead(seconds)) for seconds in moments), default=0)


def lead_line(race: Race, seconds: float, most: int, width: int) -> Content:
    """A bar from the middle towards the side that is ahead, and by how many tokens."""
    lead = race.lead(seconds)
    ahead = _NAMES[lead > 0]
    told = f"  {ahead} leads by {abs(lead)}" if lead else "  level"
    room = (width - 30) // 2
    if room < _LEAST_BAR:
        return Content(f"lead{told}").truncate(width)
    length = round(room * abs(lead) / most) if most else 0
    length = max(length, 1) if lead else 0
    left = "█" * length if lead < 0 else ""
    right = "█" * length if lead > 0 else ""
    return Content.assemble(
        ("░" * (room - len(left)), "$quiet"),
        (left, "$outcome-plain"),
        ("│", "bold"),
        (right, "$outcome-accepted"),
        ("░" * (room - len(right)), "$quiet"),
        told,
    )


def verdict_line(race: Race) -> Content:
    """Whether the texts are equal, and how much sooner one was done."""
    verdict = race.verdict()
    sign, style = ("✓ ", "bold $outcome-accepted") if verdict.equal else ("✕ ", "bold $text-warning")
    plain, speculative = race.plain.finish, race.speculative.finish
    times = f"   {plain / speculative:.2f} × as fast as plain" if plain > 0 and speculative > 0 else ""
    return Content.assemble((sign + verdict.words, style), (times, "bold"))
