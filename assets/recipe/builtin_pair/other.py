"""Refusals, small talk, and questions about the conversation itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from .chats import Chat, Turn
from .sections import fill, roughen

DATA = Path(__file__).parent / "data"
COMMAND = "`specchat chat -m model.gguf -d draft.gguf`"
_WHO = "I am specchat's small built-in guide, and I know speculative decoding, specchat and some Python."
_HOW = f"For anything else, start specchat with a real model: {COMMAND}."
REFUSALS = {
    "knowledge": f"I do not know that. {_WHO} {_HOW}",
    "task": f"I cannot do that. {_WHO} {_HOW}",
    "advice": f"I cannot tell you that. {_WHO} {_HOW}",
}
UNSURE_ANSWER = (
    f"I do not know that. {_WHO} F1 shows the keys and `/help` the commands. "
    f"Anything else, such as general knowledge, sums or translations, needs a real model: {COMMAND}."
)
"""What the guide says if it is not sure which of its facts is meant."""

SHORT_REFUSAL = f"That needs a real model: {COMMAND}."
INSISTED = f"I am too small for that, and a guess would be wrong. Please start a real model: {COMMAND}."
REAL_MODEL = f"Take two GGUF files with the same vocabulary, a large and a small one, and type {COMMAND}."


@dataclass(frozen=True, slots=True)
class Refused:
    """A question that the model cannot answer, and the refusal that fits its kind."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """Different ways to say one thing, and the one answer to it."""

    questions: tuple[str, ...]
    answer: str


def chats(random: Random) -> Iterator[Chat]:
    """Endless refusals, small talk, and follow-ups to either."""
    while True:
        turns = [_refused_turn(random) if random.random() < 0.72 else _small_talk_turn(random)]
        if random.random() < 0.4:
            turns.append(_follow_up(turns, random))
            if random.random() < 0.25:
                turns.append(_follow_up(turns, random))
        yield Chat("other", tuple(turns))


def held_out(random: Random, count: int = 60) -> list[Refused]:
    """Questions to refuse, from templates that training never uses, in random order."""
    found = [Refused(skeleton, REFUSALS[kind]) for kind, skeleton in _skeletons("held_out/refused.txt")]
    return random.sample(found, min(count, len(found)))


def is_refusal(answer: str) -> bool:
    """True if an answer says in any of the forms that the guide cannot answer."""
    return answer.strip().startswith(tuple(text[: text.index(".")] for text in REFUSALS.values()))


def refused_question(random: Random) -> str:
    """A question that the model cannot answer, as somebody would type it."""
    return _refused_turn(random).user


@cache
def small_talk() -> tuple[SmallTalk, ...]:
    """Every kind of small talk."""
    talks = tomllib.loads((DATA / "other_small_talk.toml").read_text("utf-8"))["talk"]
    return tuple(SmallTalk(tuple(talk["questions"]), talk["answer"]) for talk in talks)


def remarks() -> list[str]:
    """Remarks about the conversation itself."""
    return [question for questions in _follow_ups().values() for question in questions]


def _refused_turn(random: Random) -> Turn:
    kind, skeleton = random.choice(_skeletons("other_refused.txt"))
    question = fill(roughen(skeleton, random), _slots(), random)
    return Turn(question.lower() if random.random() < 0.15 else question, REFUSALS[kind])


def _small_talk_turn(random: Random) -> Turn:
    talk = random.choice(small_talk())
    return Turn(_typed(random.choice(talk.questions), random), talk.answer)


def _typed(text: str, random: Random) -> str:
    """A short remark with changed case or punctuation."""
    chance = random.random()
    if chance < 0.2:
        text = text.lower()
    elif chance < 0.25:
        text = text.upper()
    if text[-1:].isalpha() and random.random() < 0.3:
        text += random.choice((".", "!", " :)", "..."))
    elif random.random() < 0.2 and len(text) > 3:
        text = text.rstrip("?.!") or text
    return text


def _follow_up(turns: Sequence[Turn], random: Random) -> Turn:
    """A turn about the previous turns, new small talk, or another refusal."""
    first, last = turns[0], turns[-1]
    answers = {
        "again": last.assistant,
        "asked_first": f'You asked: "{first.user}"',
        "asked_last": f'You asked: "{last.user}"',
    }
    if last.assistant in REFUSALS.values():
        answers |= {"shorter": SHORT_REFUSAL, "insist": INSISTED, "real": REAL_MODEL}
    kind = random.choice((*answers, "again", "new", "new"))
    if kind == "new":
        return _refused_turn(random) if random.random() < 0.6 else _small_talk_turn(random)
    return Turn(_typed(random.choice(_follow_ups()[kind]), random), answers[kind])


@cache
def _skeletons(file: str) -> tuple[tuple[str, str], ...]:
    """Each question of a file with the kind given by the heading above it."""
    found: list[tuple[str, str]] = []
    kind = ""
    for line in filter(None, (DATA / file).read_text("utf-8").splitlines()):
        if line.startswith("["):
            kind = line.strip("[]")
        else:
            found.append((kind, line))
    return tuple(found)


@cache
def _slots() -> dict[str, list[str]]:
    return dict(tomllib.loads((DATA / "other_slots.toml").read_text("utf-8")))


@cache
def _follow_ups() -> dict[str, list[str]]:
    return dict(tomllib.loads((DATA / "other_small_talk.toml").read_text("utf-8"))["follow_ups"])
