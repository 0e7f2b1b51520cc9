"""How many of the questions that newcomers ask first the built-in guide answers rightly, as the app asks them.

`tests/questions/` has a hundred questions in five phrasings each. The guide and its help have learned from those in
`seen.toml`, and never from those in `unseen.toml`.

    PYTHONPATH=tests python -m benchmarks.first_questions [--show]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specchat.chat.guide import with_help
from specchat_assets import builtin_pair
from specchat_engine import Engine, Settings

QUESTIONS = Path(__file__).parents[1] / "questions"
_TEMPERATURES = (0.0, 0.8)
_LIMIT = 320
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_NAME = re.compile(r"^def (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Judge:
    """When an answer is right: it has one of each part of `key` and nothing of `wrong`, and its code passes `tests`."""

    kind: str
    key: tuple[tuple[str, ...], ...]
    wrong: tuple[str, ...]
    tests: tuple[str, ...]

    def right(self, answer: str) -> bool:
        """True if the answer is right."""
        text = answer.lower()
        whole = all(any(choice.lower() in text for choice in part) for part in self.key)
        return (
            whole and not any(word.lower() in text for word in self.wrong) and (not self.tests or self._passes(answer))
        )

    def _passes(self, answer: str) -> bool:
        """Runs the first function of the answer in a process of its own."""
        code = _CODE.search(answer)
        name = _NAME.search(code[1]) if code else None
        if code is None or name is None:
            return False
        checks = "\n".join(f"assert {test.replace('FUNC', name[1])}" for test in self.tests)
        program = [sys.executable, "-I", "-c", f"{code[1]}\n{checks}"]
        try:
            return subprocess.run(program, capture_output=True, timeout=10, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def judges() -> dict[str, Judge]:
    """How to judge the answers to each question."""
    return {entry["id"]: _judge(entry) for entry in _entries("seen")}


def phrasings(part: str) -> Iterator[tuple[str, str]]:
    """The ids of the questions and their phrasings in one part of the list: `seen` or `unseen`."""
    return ((entry["id"], text) for entry in _entries(part) for text in entry["asked"])


def _entries(part: str) -> list[dict[str, Any]]:
    return list(tomllib.loads((QUESTIONS / f"{part}.toml").read_text("utf-8"))["question"])


def _judge(entry: Mapping[str, Any]) -> Judge:
    key = tuple(tuple(part) for part in entry.get("key", ()))
    return Judge(entry["kind"], key, tuple(entry.get("wrong", ())), tuple(entry.get("tests", ())))


def _answer(engine: Engine, target: Path, question: str, temperature: float, seed: int) -> str:
    sampling = replace(engine.recommended, temperature=temperature)
    session = engine.session(settings=Settings(drafter="hybrid", sampling=sampling, max_tokens=_LIMIT), seed=seed)
    for _ in session.generate(with_help(question, target)[0]):
        pass
    return session.text


def main() -> None:
    """Prints the share of right answers by temperature, part of the list and kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the wrong answers")
    arguments = parser.parse_args()
    known = judges()
    target, draft = builtin_pair()
    print("| temperature | phrasings | kind | right | of |\n| --- | --- | --- | --- | --- |")
    with Engine.load(target, draft) as engine:
        for temperature in _TEMPERATURES:
            for part in ("seen", "unseen"):
                right: dict[str, list[bool]] = {}
                for number, (name, question) in enumerate(phrasings(part)):
                    answer = _answer(engine, target, question, temperature, number)
                    good = known[name].right(answer)
                    right.setdefault(known[name].kind, []).append(good)
                    if arguments.show and not good:
                        print(f"{name}: {question}\n    {answer}", file=sys.stderr)
                right["all"] = [good for found in right.values() for good in found]
                for kind, found in right.items():
                    print(f"| {temperature} | {part} | {kind} | {sum(found) / len(found):.1%} | {len(found)} |")


if __name__ == "__main__":
    main()
