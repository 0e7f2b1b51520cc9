"""What kept drafts from being longer, in words, and what would change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specchat_engine.decoding.rounds import LimitedBy, Round

_DRAFTED: dict[LimitedBy, str] = {
    "pace": "a longer draft was not expected to be worth its time",
    "confidence": "the drafter was too unsure of the last token",
    "loss cap": "a longer draft could lose more than drafts on this kind of text may lose",
    "few samples": "too little is known of this drafter on this kind of text",
    "longest": "this drafter drafts no more at a time",
    "rows": "the target verifies no more at a time (--k-max at load)",
    "wanted": "no more tokens are wanted",
    "end": "the drafter had no more to propose",
    "fixed": "k is fixed",
    "vote": "another drafter with a match decided where it ends",
    "tree": "the tree has the tokens that are most likely to be right",
}
_PLAIN: dict[LimitedBy, str] = {
    "pace": "no draft was expected to be worth its time",
    "loss cap": "a draft could lose more than drafts on this kind of text may lose; plain rounds raise this limit",
}
_CHANGES: dict[LimitedBy, str] = {
    "loss cap": "/k 5 drafts in every round",
    "few samples": "drafts grow as they are accepted",
    "longest": "/drafter names another",
    "rows": "load with a larger --k-max",
    "fixed": "/k auto chooses it in every round",
}
_OFTEN = 0.1
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def limit(event: Round) -> str:
    """Returns how many tokens a round drafted and why not more: "7 tokens: the seventh was too unsure, 0.31".

    It is empty if nothing could be drafted, or if the engine gave no reason.
    """
    drafted = len(event.drafted)
    if not drafted:
        return _PLAIN.get(event.limited_by, "")
    if event.limited_by == "confidence":
        sure = event.drafted[-1].q
        which = _ORDINALS[drafted - 1] if drafted <= len(_ORDINALS) else "last"
        why = f"the {which} was too unsure" + ("" if sure is None else f", {sure:.2f}")
    elif event.limited_by in _DRAFTED:
        why = _DRAFTED[event.limited_by]
    else:
        return ""
    return f"{drafted} token{'s' * (drafted > 1)}: {why}"


def limits(rounds: Sequence[Round]) -> list[str]:
    """Returns what limited the drafts of an answer and what would change that, a sentence for each cause that at least
    a tenth of the rounds have, the most frequent one first. Plain rounds without a cause give their reason."""
    causes = Counter(
        (bool(event.drafted), event.limited_by, "" if event.limited_by else event.reason) for event in rounds
    )
    sentences = []
    for (drafted, cause, reason), count in causes.most_common():
        why = _DRAFTED.get(cause, "") if drafted else _PLAIN.get(cause, reason)
        if why and count >= _OFTEN * len(rounds):
            what = "drafted no more" if drafted else "drafted nothing"
            change = f"; {_CHANGES[cause]}" if cause in _CHANGES else ""
            sentences.append(f"{count} of {len(rounds)} rounds {what}: {why}{change}.")
    return sentences
