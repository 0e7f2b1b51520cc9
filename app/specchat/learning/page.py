"""What a draft model has learned, as a page of text: whether it learns, α over recorded tokens, and each adoption."""

from __future__ import annotations

from pathlib import Path

from specchat.learning.learned import Adoption, History, Learning
from specchat.stats.charts import Line, Style, wrapped
from specchat.stats.learning_curve import ADOPTED, UNDONE, learning_curve

_WIDEST = 100
_EMPTY: Line = (("", Style.PLAIN),)
_NO_DRAFT = "There is no draft model that could learn: load one with /draft."
_OFF = "Turn it on with /learn on: answers are recorded, and the draft model learns from them while nobody waits."
_NO_CURVE = "α over recorded tokens is shown here after the next answer with a draft of this model."


def learned_page(learning: Learning, target: Path, draft: Path | None, width: int) -> list[Line]:
    """The page of one pair, at most `width` columns wide."""
    width = min(width, _WIDEST)
    if draft is None:
        return wrapped(_NO_DRAFT, width, Style.QUIET)
    history, is_on = learning.of(target, draft).history, learning.is_on
    lines = wrapped(f"Learning is {'on' if is_on else 'off'}: {history.told()}.", width, Style.STRONG)
    if not is_on and not history.seen:
        return lines + wrapped(_OFF, width, Style.QUIET)
    curve = learned_lines(history, width)
    return [*lines, _EMPTY, *(curve or wrapped(_NO_CURVE, width, Style.QUIET))]


def learned_lines(history: History, width: int) -> list[Line]:
    """α over recorded tokens, and a sentence for each adoption. Nothing before the first recorded answer."""
    width = min(width, _WIDEST)
    told = [(one, True) for one in history.in_force] + [(one, False) for one in history.undone]
    lines = learning_curve(history.alphas, {one.tokens: in_force for one, in_force in told}, width)
    adoptions = [line for one, in_force in told for line in _adoption(one, width, in_force=in_force)]
    return [*lines, *([_EMPTY] if lines and adoptions else []), *adoptions]


def _adoption(adoption: Adoption, width: int, *, in_force: bool) -> list[Line]:
    mark, undone = (ADOPTED, "") if in_force else (UNDONE, ", undone")
    told = (
        f"{mark} {adoption.file} after {adoption.tokens:,} tokens{undone}: "
        f"held-out α {adoption.before:.2f} → {adoption.after:.2f}"
    )
    return wrapped(told, width, Style.PLAIN if in_force else Style.QUIET, hang="  ")
