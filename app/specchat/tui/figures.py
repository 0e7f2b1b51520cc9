"""The turn's figures as styled text: bars, shares and words of fixed width, so that nothing jumps while they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from specchat.blocks import bar, columns, levels, number, percent, speed
from specchat.tui.turn import TurnView

Styled = tuple[str, str] | str

QUIET = "$quiet"
ACCEPTED = "$outcome-accepted"
TARGET = "$outcome-correction"
DISCARDED = "$outcome-discarded"
BONUS = "$outcome-bonus"
STRONG = "bold"

_LABEL = 9
_GLYPH_STYLES = {"●": ACCEPTED, "○": TARGET, "·": DISCARDED}


def words(ribbon: Sequence[str], width: int, rows: int) -> list[list[Styled]]:
    """The latest rounds as rows of words, the newest last."""
    lines: list[list[str]] = [[]]
    room = width
    for word in reversed(ribbon):
        shown = word if len(word) <= width else word[: width - 1] + "…"
        if len(shown) > room:
            if len(lines) == rows:
                break
            lines.append([])
            room = width
        lines[-1].insert(0, shown)
        room -= len(shown) + 1
    lines.reverse()
    return [[part for word in line for part in (*_coloured(word), " ")] for line in lines]


def _coloured(word: str) -> list[Styled]:
    """The target's token has the colour of a correction behind a rejected one, else that of a bonus."""
    last = TARGET if "○" in word else BONUS
    return [(glyph, last if glyph == "◆" else _GLYPH_STYLES.get(glyph, QUIET)) for glyph in word]


def dashboard(view: TurnView, width: int) -> Content:
    """The side panel: a fixed number of rows for `width` cells."""
    room = max(width - _LABEL, 12)
    rows: list[Iterable[Styled]] = [
        [(speed(view.tokens_per_second), STRONG), (" tok/s    ", QUIET), *_speedup(view)],
        [],
        [
            _label("accepted"),
            (bar(view.acceptance_rate or 0.0, room - 6), ACCEPTED),
            " ",
            percent(view.acceptance_rate),
        ],
        [_label("α"), number(view.alpha, 4, 2), ("    τ ", QUIET), *_tau(view)],
        [_label("by place"), *_positions(view, room)],
        [],
        [_label("time"), *_time_bar(view, room)],
        [_label("in %"), *_time_shares(view)],
        [_label("drafts"), *_sources(view)],
        [_label("k"), f"{view.k:<3}" if view.num_rounds else "–  ", (_cut(view.reason, room - 3), QUIET)],
        [],
        *_ribbon_rows(view, width),
        [],
        [_label("tok/s"), (levels(columns(view.history, room), max(view.history, default=0.0)), ACCEPTED)],
        [_label("so far"), f"{view.num_tokens} tokens in {view.num_rounds} rounds"],
    ]
    return Content("\n").join(Content.assemble(*row).truncate(width) for row in rows)


def strip(view: TurnView, width: int) -> Content:
    """The dashboard in one row, for narrow screens."""
    parts: list[Styled] = [
        (speed(view.tokens_per_second), STRONG),
        (" tok/s ", QUIET),
        *_speedup(view),
        ("  acc ", QUIET),
        (bar(view.acceptance_rate or 0.0, 6), ACCEPTED),
        percent(view.acceptance_rate),
        ("  α ", QUIET),
        number(view.alpha, 4, 2),
        ("  τ ", QUIET),
        number(view.block_efficiency if view.drafted else None, 4, 2),
        "  ",
    ]
    used = sum(len(part if isinstance(part, str) else part[0]) for part in parts)
    if width - used >= 6:
        parts += words(view.ribbon, width - used, 1)[0]
    return Content.assemble(*parts).truncate(width)


def _label(text: str) -> Styled:
    return (text.ljust(_LABEL), QUIET)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _speedup(view: TurnView) -> list[Styled]:
    if view.speedup is None:
        return [("   – × plain", QUIET)]
    style = f"{STRONG} {ACCEPTED if view.speedup >= 1 else TARGET}"
    return [(number(view.speedup, 4, 2), style), (" × plain", QUIET)]


def _tau(view: TurnView) -> list[Styled]:
    tau = view.block_efficiency if view.drafted else None
    return [number(tau, 4, 2), (f" of {view.k_most + 1}" if view.drafted else "", QUIET)]


def _positions(view: TurnView, room: int) -> list[Styled]:
    shares = view.by_position
    if not shares:
        return [("–", QUIET)]
    shown = levels(shares, 1.0)[:room]
    numbers = "".join(f" {share * 100:.0f}" for share in shares)
    left = room - len(shown) - 4
    if len(numbers) > left:
        numbers = numbers[: max(left, 0)].rpartition(" ")[0] + " …"
    return [(shown, ACCEPTED), f" {numbers}", (" %", QUIET)] if left > 4 else [(shown, ACCEPTED)]


def _time_bar(view: TurnView, room: int) -> list[Styled]:
    if not view.num_rounds:
        return [("–", QUIET)]
    draft = round(view.draft_share * room)
    back = round(view.rollback_share * room)
    other = round(view.other_share * room)
    verify = max(room - draft - back - other, 0)
    return [("█" * draft, TARGET), ("▓" * verify, ACCEPTED), ("▒" * back, BONUS), ("░" * other, QUIET)]


def _time_shares(view: TurnView) -> list[Styled]:
    """Three shares fit; where going back takes one of them, the rest of the bar is `other`."""
    back = view.rollback_share >= 0.02
    last = ("▒", BONUS, "back", view.rollback_share) if back else ("░", QUIET, "other", view.other_share)
    shares = (("█", TARGET, "draft", view.draft_share), ("▓", ACCEPTED, "verify", view.verify_share), last)
    parts: list[Styled] = []
    for glyph, style, name, share in shares:
        parts += [(glyph, style), (f" {name} ", QUIET), f"{share * 100:.0f}".ljust(4) if view.num_rounds else "–   "]
    return parts


def _sources(view: TurnView) -> list[Styled]:
    if not view.sources:
        return [("none yet" if not view.final else "none", QUIET)]
    return ["  ".join(f"{name} {share:.0%}".replace("%", " %") for name, share in view.sources)]


def _ribbon_rows(view: TurnView, width: int) -> list[Iterable[Styled]]:
    rows: list[Iterable[Styled]] = [*words(view.ribbon, width, 3)]
    return rows + [[]] * (3 - len(rows))
