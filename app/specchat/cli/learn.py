"""`specchat learn`: whether draft models learn from what their targets say, and what they have learned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from specchat.cli.flags import Debug, Json, Target
from specchat.cli.messages import one_line_errors, print_json, print_lines, print_rows, say

if TYPE_CHECKING:
    from specchat.learning import Adoption, Learned, LearningHistory

learn = typer.Typer(
    help="A draft model that learns from your chats while nobody waits. Off until you turn it on; nothing leaves this "
    "machine.",
    rich_markup_mode=None,
)

Draft = Annotated[str | None, typer.Option("-d", "--draft", metavar="FILE|NAME", help="Draft model. [built-in]")]


@learn.command()
def on(debug: Debug = False) -> None:
    """Record turns from now on, and train drafts with them."""
    with one_line_errors(debug):
        from specchat.learning import Learning

        Learning().turn(on=True)
        say("turns are recorded from the next answer on, and drafts learn from them; `specchat learn off` ends that")


@learn.command()
def off(debug: Debug = False) -> None:
    """Record nothing more. Adopted drafts are kept, but not used."""
    with one_line_errors(debug):
        from specchat.learning import Learning

        Learning().turn(on=False)
        say("nothing is recorded any more, and no training begins; `specchat learn forget` deletes what was learned")


@learn.command()
def show(json: Json = False, debug: Debug = False) -> None:
    """What every draft has learned so far: α by kind of text over recorded tokens, and each adoption."""
    with one_line_errors(debug):
        from specchat.learning import Learning, learned_lines

        learning = Learning()
        known = [(learned, learned.history) for learned in learning.all()]
        if json:
            print_json(*(_as_json(learned, history) for learned, history in known))
            return
        say(f"learning is {'on' if learning.is_on else 'off'}")
        rows = ((learned.base.name, learned.in_use(history).name, history.summary()) for learned, history in known)
        print_rows(("draft", "in use", "learned"), rows)
        for learned, history in known:
            print_lines(f"\n{learned.base.name}", partial(learned_lines, history))


@learn.command()
def back(model: Target = None, draft: Draft = None, debug: Debug = False) -> None:
    """Go back to the draft before the last adoption."""
    with one_line_errors(debug):
        from specchat.errors import ConfigError
        from specchat.learning import Learning
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        given = {"model": model, "draft": draft}
        options = chat_options(read_config({key: value for key, value in given.items() if value}))
        if options.draft is None:
            raise ConfigError("name the draft model with -d")
        say(f"{Learning().of(options.target, options.draft).back().name} drafts from the next answer on")


@learn.command()
def forget(debug: Debug = False) -> None:
    """Delete all recorded turns and all adopted drafts."""
    with one_line_errors(debug):
        from specchat.learning import Learning

        Learning().forget()
        say("what was recorded and learned is deleted")


def _as_json(learned: Learned, history: LearningHistory) -> Mapping[str, object]:
    """One line of `show --json`."""
    return {
        "type": "learned",
        "draft": str(learned.base),
        "in_use": str(learned.in_use(history)),
        "seen": history.seen,
        "recorded": learned.recorded.num_tokens,
        "adoptions": [*map(_adoption, history.in_force)],
        "undone": [*map(_adoption, history.undone)],
        "alphas": [
            {
                "tokens": entry.tokens,
                "kind": entry.kind,
                "draft": "learned" if entry.learned else "original",
                "accepted": entry.num_accepted_tokens,
                "rejected": entry.num_rejected_tokens,
                "alpha": entry.alpha,
            }
            for entry in history.alphas
        ],
    }


def _adoption(adoption: Adoption) -> Mapping[str, object]:
    return {"tokens": adoption.tokens, "before": adoption.before, "after": adoption.after}
