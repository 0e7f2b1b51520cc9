"""Computes what branches are worth to drafts from a store, on texts instead of answers and with fixed costs of passes.

One of six files of a folder is decoded from its 200th token on, for at most 400 tokens; the others are the store. On
machines whose passes get dearer by a share of the first token with each further one, the policy drafts chains, and
trees with up to 15 runners-up. Prints the gain of chains over plain decoding, and that of trees over chains.

`PYTHONPATH=tests python -m benchmarks.store_trees [FOLDER] [--kind "*.py"]`; the default is Python's own library.
"""

from __future__ import annotations

import argparse
import random
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from specchat_assets import builtin_pair
from specchat_engine.decoding.drafts import Draft, Prospect
from specchat_engine.drafters import StoreDrafter
from specchat_engine.llama.model import LlamaModel
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.situation import Outcome, Situation
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.settings import Settings
from specchat_engine.stores import Continuation, Suffixes, write_suffixes
from support.replay import Machine, measured

STORE = StoreDrafter.traits
SLOPES = (0.0, 0.01, 0.03, 0.06, 0.1)
FILES, FROM, MOST, LONGEST, BRANCHES = 160, 200, 400, 32, 15


@dataclass(frozen=True)
class Text:
    """A text, and for each place the length of the store's match and what it would draft there."""

    tokens: Sequence[int]
    found: Sequence[tuple[int, Continuation]]

    def time(self, controller: Controller, machine: Machine, tree: int) -> float:
        """The time of all passes with drafts from the store."""
        spent, place, tokens = 0.0, 0, self.tokens
        controller.begin("code")
        while place < len(tokens):
            match, said = self.found[place]
            now = Situation(place, min(LONGEST, len(tokens) - place - 1), {STORE: Prospect(match=match)}, tree=tree)
            decision = controller.decide(now)
            drafted = len(said.tokens[: decision.k]) if decision.drafter else 0
            draft = Draft(
                said.tokens[:drafted],
                runners_up=said.runners_up[:drafted],
                runner_up_shares=said.shares[:drafted],
            )
            right = common_prefix(draft.tokens, tokens[place:])
            compared = min(right + 1, drafted)
            replaced = [one == token for one, token in zip(draft.runners_up[:compared], tokens[place:], strict=False)]
            chosen = decision.branches(draft) if decision.branches else ()
            emitted = min(right + 1 + any(replaced[one] for one in chosen if one < compared), len(tokens) - place)
            foretold = [one == token for one, token in zip(said.tokens, tokens[place:][:emitted], strict=False)]
            until = foretold.index(False) + 1 if False in foretold else len(foretold)
            verify_ms = machine.verify(drafted + len(chosen) + 1)
            outcome = Outcome(
                drafted=drafted,
                accepted=right,
                compared=compared,
                branches=len(chosen),
                runners_up=[
                    (share, right_instead)
                    for share, right_instead in zip(said.shares, replaced, strict=False)
                    if decision.branches and share
                ],
                emitted=emitted,
                verify_ms=verify_ms,
                draft_ms=0.0,
                other_ms=0.0,
                matched={STORE: foretold[:until]} if match else {},
            )
            controller.learn(now, decision, outcome)
            spent += verify_ms
            place += emitted
        return spent


def texts(documents: Sequence[Sequence[int]], path: Path) -> list[Text]:
    """One of six documents, with what a store of the others would draft."""
    write_suffixes(path, [one for number, one in enumerate(documents) if number % 6])
    store, found = Suffixes(path), []
    for document in documents[::6]:
        ends = range(FROM, min(len(document), FROM + MOST))
        places = [store.find(document[:end], Settings().ngram_min) for end in ends]
        drafts = [
            (place.length, store.continuation(place, STORE.longest)) if place else (0, Continuation((), (), ()))
            for place in places
        ]
        found.append(Text(document[FROM : FROM + MOST], drafts))
    store.close()
    return [text for text in found if text.tokens]


def main() -> None:
    """Prints a line for each machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--kind", default="*.py")
    asked = parser.parse_args()
    files = sorted(asked.folder.glob(asked.kind))
    random.Random(1).shuffle(files)
    vocabulary = LlamaModel(builtin_pair()[1]).vocabulary
    documents = [vocabulary.tokenize(file.read_text(errors="replace"), special=False) for file in files[:FILES]]
    with TemporaryDirectory() as folder:
        answers = texts(documents, Path(folder) / "store")
    plain = sum(len(text.tokens) for text in answers)
    for slope in SLOPES:
        machine, spent = Machine(lambda width, slope=slope: 1 + slope * (width - 1), 0.0), {}
        for tree in (0, BRANCHES):
            controller = measured(machine)
            for _ in range(2):
                spent[tree] = sum(text.time(controller, machine, tree) for text in answers)
        gain = spent[0] / spent[BRANCHES] - 1
        Console().print(f"a further token at {slope:.2f}: chains {plain / spent[0]:.2f} ×, trees {gain:+.1%} beyond")


if __name__ == "__main__":
    main()
