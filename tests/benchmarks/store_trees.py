"""Computes what branches are worth to drafts from a store, on texts instead of answers and with fixed costs of passes.

One of six files of a folder is decoded from its 200th token on, for at most 400 tokens; the others are the store. On
machines whose passes get dearer by a share of the first token with each further one, the policy drafts chains, trees of
chains with single runners-up, and trees of all that followed, with up to 15 tokens beside the chain. Prints the gain of
chains over plain decoding, and that of the trees over chains.

`PYTHONPATH=tests python -m benchmarks.store_trees [FOLDER] [--kind "*.py"]`; the default is Python's own library.
"""

from __future__ import annotations

import argparse
import random
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from specchat_assets import builtin_pair
from specchat_engine import SamplingParams
from specchat_engine.decoding.drafts import NOTHING, ROOT, Context, Draft, Prospect
from specchat_engine.drafters import StoreDrafter, Stores
from specchat_engine.llama.model import LlamaModel
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.planner import followed
from specchat_engine.policy.policy import RoundOutcome, Situation
from specchat_engine.policy.trees import Branching
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.stores import Suffixes, write_suffixes
from specchat_engine.trees import chain_of
from support.replay import Machine, measured

STORE = StoreDrafter.traits
SLOPES = (0.0, 0.01, 0.03, 0.06, 0.1)
FILES, FROM, MOST, LONGEST, BRANCHES = 160, 200, 400, 32, 15
SHAPES = {"chains": (0, 0), "single runners-up": (BRANCHES, 1), "trees": (BRANCHES, LONGEST)}
"""How many tokens may stand beside the chain, and how many of them in a row."""


@dataclass(frozen=True)
class Text:
    """A text, and for each place the length of the store's match and what it would draft there."""

    tokens: tuple[int, ...]
    found: Sequence[tuple[int, Draft]]

    def time(self, controller: Controller, machine: Machine, most: int, deep: int) -> float:
        """The time of all passes with drafts from the store."""
        spent, place, tokens = 0.0, 0, self.tokens
        controller.begin("code")
        while place < len(tokens):
            match, offered = self.found[place]
            now = Situation(place, min(LONGEST, len(tokens) - place - 1), {STORE: Prospect(match=match)}, tree=most)
            decision = controller.decide(now)
            draft = shaped(offered, decision.k, deep) if decision.drafter else NOTHING
            if decision.branches:
                draft = decision.branches(draft)
            taken = walked(draft, tokens[place:])
            right = common_prefix(draft.tokens[: draft.trunk], tokens[place:])
            emitted = tokens[place : place + taken + 1]
            verify_ms = machine.verify(len(draft) + 1)
            outcome = RoundOutcome(
                drafted=draft.trunk,
                accepted=right,
                compared=min(right + 1, draft.trunk),
                branches=len(draft) - draft.trunk,
                runners_up=[
                    (one.evidence, one.path[-1] == emitted[ahead])
                    for one in draft.alternatives
                    if one.runner_up
                    and (ahead := len(one.path) - 1) < len(emitted)
                    and one.path[:-1] == emitted[:ahead]
                ],
                emitted=len(emitted),
                verify_ms=verify_ms,
                draft_ms=0.0,
                other_ms=0.0,
                matched={STORE: followed(emitted, offered.tokens)} if match else {},
            )
            controller.learn(now, decision, outcome)
            spent += verify_ms
            place += len(emitted)
        return spent


def shaped(offered: Draft, k: int, deep: int) -> Draft:
    """At most k tokens of a chain, with the alternatives that branch off it for at most `deep` tokens: all of them, or
    the most frequent runner-up at each place."""
    near = [one for one in offered.alternatives if len(one.path) <= k]
    if deep == 1:
        beside = [one for one in near if one.path[:-1] == offered.tokens[: len(one.path) - 1]]
        near = [*{len(one.path): one for one in reversed(beside)}.values()]
    return replace(offered, tokens=offered.tokens[:k], alternatives=tuple(near))


def walked(draft: Draft, text: Sequence[int]) -> int:
    """How many tokens of a draft are accepted."""
    parents = draft.parents or chain_of(len(draft))
    children = {edge: node for node, edge in enumerate(zip(parents, draft.tokens, strict=True))}
    node, accepted = ROOT, 0
    while accepted < len(text) and (node, text[accepted]) in children:
        node, accepted = children[node, text[accepted]], accepted + 1
    return accepted


def texts(documents: Sequence[Sequence[int]], path: Path) -> list[Text]:
    """One of six documents, with what a store of the others would draft."""
    write_suffixes(path, [one for number, one in enumerate(documents) if number % 6])
    stores, found = Stores(), []
    stores.used = {"texts": Suffixes(path)}
    drafter = StoreDrafter(stores)
    for document in documents[::6]:
        drafts = []
        for end in range(FROM, min(len(document), FROM + MOST)):
            context = Context([*document[:end]], FROM, Sampler(SamplingParams(), 0), branches=Branching(BRANCHES))
            drafts.append((drafter.prospect(context).match, drafter.propose(context, STORE.longest)))
        found.append(Text(tuple(document[FROM : FROM + MOST]), drafts))
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
        for shape, (most, deep) in SHAPES.items():
            controller = measured(machine)
            for _ in range(2):
                spent[shape] = sum(text.time(controller, machine, most, deep) for text in answers)
        chains = spent["chains"]
        gains = ", ".join(f"{shape} {chains / time - 1:+.1%}" for shape, time in spent.items() if shape != "chains")
        Console().print(f"a further token at {slope:.2f}: chains {plain / chains:.2f} ×, {gains} beyond")


if __name__ == "__main__":
    main()
