"""Chats about Python: questions for the code or the signature of functions in its standard library."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from .chats import Chat, Turn
from .python_functions import DATA, Definition, LibraryFunction, described_functions, listed_functions
from .sections import fill, roughen


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """How far an answer to a request for code is right. Each level includes the one before it."""

    parses: bool
    defines: bool
    matches_signature: bool


@dataclass(frozen=True, slots=True)
class CodePrompt:
    """A held-out request for the code of `name`, whose parameters must match `signature`."""

    prompt: str
    name: str
    signature: str

    def check(self, answer: str) -> CodeCheck:
        """Judge the first Python block of `answer`."""
        block = re.search(r"```python\n(.*?)```", answer, re.DOTALL)
        if block is None:
            return CodeCheck(False, False, False)
        try:
            tree = ast.parse(block[1])
        except (SyntaxError, ValueError):
            return CodeCheck(False, False, False)
        wanted = self.name.rpartition(".")[2]
        found = [node for node in tree.body if isinstance(node, Definition) and node.name == wanted]
        matches = any(f"({ast.unparse(node.args)})" == self.signature for node in found)
        return CodeCheck(True, bool(found), matches)


def chats(random: Random) -> Iterator[Chat]:
    """Endless chats about the listed functions. Each pass over the list covers all of them."""
    wordings = _wordings()
    coded, described = listed_functions(), described_functions()
    names = _short_names((*coded, *described))
    unknown = {"name": wordings["unknown_names"]}
    while True:
        deck = [one for one in coded for _ in range(4)] + list(described)
        random.shuffle(deck)
        for function in deck:
            turns = [_ask(function, names, wordings, random)]
            chance = random.random()
            if chance < 0.06 and function.code:
                turns.append(Turn(roughen(random.choice(wordings["then_line"]), random), function.line))
            elif chance < 0.14:
                other = random.choice(coded)
                question = fill(roughen(random.choice(wordings["then_other"]), random), {"name": [other.name]}, random)
                turns.append(Turn(question, other.answer))
            elif chance < 0.16:
                question = roughen(random.choice((*wordings["code"], *wordings["line"])), random)
                turns = [Turn(fill(question, unknown, random), wordings["unknown_answer"][0])]
            yield Chat("python", tuple(turns))


def held_out(random: Random, count: int = 200) -> list[CodePrompt]:
    """Requests for code in wordings that no training template produces."""
    wordings = _wordings()["held_out"]
    functions = listed_functions()
    chosen = [one for _ in range(count // len(functions) + 1) for one in random.sample(functions, len(functions))]
    return [
        CodePrompt(wordings[index % len(wordings)].replace("{name}", one.name), one.name, one.signature)
        for index, one in enumerate(chosen[:count])
    ]


def _ask(
    function: LibraryFunction, names: Mapping[str, Sequence[str]], wordings: Mapping[str, Sequence[str]], random: Random
) -> Turn:
    """A question about the function. The answer has the code if it is listed, even if only the purpose was asked."""
    spoken = function.name if random.random() < 0.75 else random.choice(names[function.name])
    spoken = random.choice((spoken,) * 6 + (f"`{spoken}`", f"{spoken}()"))
    asks_for_code = random.random() < (0.7 if function.code else 0.12)
    wording = roughen(random.choice(wordings["code" if asks_for_code else "line"]), random)
    known = function.answer if function.code or asks_for_code else function.line
    return Turn(fill(wording, {"name": [spoken]}, random), known)


def _short_names(functions: Sequence[LibraryFunction]) -> dict[str, list[str]]:
    """For each dotted name, its unambiguous short forms."""
    endings = Counter(ending for one in functions for ending in _endings(one.name))
    return {
        one.name: [one.name, *(ending for ending in _endings(one.name)[1:] if endings[ending] == 1)]
        for one in functions
    }


def _endings(name: str) -> list[str]:
    parts = name.split(".")
    is_method = len(parts) > 1 and parts[-2][:1].isupper()
    return [".".join(parts[start:]) for start in range(len(parts) - is_method)]


@cache
def _wordings() -> dict[str, list[str]]:
    return dict(tomllib.loads((DATA / "python_wordings.toml").read_text("utf-8")))
