"""The help of the built-in guide: a question goes to it with the passage that answers it."""

from __future__ import annotations

from pathlib import Path

from specchat_assets import TARGET_NAME


def with_help(question: str, target: Path) -> tuple[str, str]:
    """A question as this target gets it, and what the answer then quotes: `from the help: the draft model`, or nothing.

    Only the built-in guide gets help, and only where it has a passage for the question.
    """
    if target.name != TARGET_NAME:
        return question, ""
    from specchat_assets.guide import find, quoting  # not before the first frame: it needs numpy

    passage = find(question)
    return (question, "") if passage is None else (quoting(question, passage), f"from the help: {passage.topic}")
