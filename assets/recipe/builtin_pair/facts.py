"""Chats about speculative decoding and specchat, made from the facts in data/facts in many wordings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from builtin_pair.chats import Chat, Turn, single

_DATA = Path(__file__).parent / "data"

_TOPIC_QUESTIONS = (
    "What is {topic}?", "What does {topic} mean?", "Explain {topic}.", "Tell me about {topic}.", "Define {topic}.",
    "Can you explain {topic} to me?", "{topic}?", "I want to understand {topic}.", "Describe {topic}.",
    "what's {topic}",
    "How would you describe {topic}?", "Give me an explanation of {topic}.", "What do people mean by {topic}?",
    "What should I know about {topic}?", "I keep reading about {topic}. What is it?", "meaning of {topic}",
    "I have never heard of {topic}. What is that?", "Help me understand {topic}.", "What exactly is {topic}?",
)  # fmt: skip
_PREFIXES = (
    "Hi! ", "Hello, ", "Hey, ", "Quick question: ", "One more question. ", "Please tell me: ", "I wonder: ",
    "Sorry, but ",
    "I am new to this. ", "Beginner here. ", "Help me with this: ", "A question: ", "So ", "And ", "Well, ", "OK, ",
    "Hm, ",
    "Could you tell me: ", "I'd like to know: ", "Do you know this: ", "Good morning! ", "For my notes: ",
    "Just curious: ",
    "A colleague asked me: ", "I read about this and wonder: ", "Now tell me, ", "Be honest: ", "In your own words: ",
)  # fmt: skip
_SUFFIXES = (
    " Thanks!", " Please explain.", " Please.", " Thank you.", " I am curious.", " Can you explain?", " thanks", " pls",
    " I don't get it.", " I'm a beginner.", " Explain it simply.", " Any idea?", " I need this for work.", " :)",
)  # fmt: skip
_SHORT_REQUESTS = (
    "{question} Answer in one sentence.", "{question} Keep it short.", "In one sentence: {question}",
    "Briefly: {question}",
    "{question} Short answer please.", "Short answer: {question}", "{question} One sentence only.", "tl;dr: {question}",
    "{question} Be brief.", "In short, {question}", "{question} Make it quick.",
)  # fmt: skip
_SHORTER = (
    "Shorter, please.", "In one sentence?", "Can you say that in one sentence?", "Too long. Make it shorter.", "tl;dr?",
    "Summarize that.", "Give me the short version.", "Say it briefly.", "shorter", "Sum it up in one sentence.",
)  # fmt: skip
_FILLERS = re.compile(
    r"\b(a|an|the|is|are|do|does|did|can|could|would|please|of|to|in|it|i|my|me|you|this|that|for|with|be|so)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. For each part of the key fact, `key` holds alternatives of which an answer must contain one."""

    id: str
    topic: str
    definable: bool
    key: tuple[tuple[str, ...], ...]
    questions: tuple[str, ...]
    answer: str
    short: str
    follow_ups: tuple[tuple[str, str], ...]

    def held_by(self, text: str) -> bool:
        """True if a text contains the key fact."""
        lowered = text.lower()
        return all(any(choice.lower() in lowered for choice in part) for part in self.key)


@cache
def load_facts() -> tuple[Fact, ...]:
    """All facts, in the order of their files.

    Raises:
        ValueError: two facts have one id.
    """
    more: dict[str, list[str]] = {}
    for path in sorted((_DATA / "more_questions").glob("*.toml")):
        for fact, questions in tomllib.loads(path.read_text(encoding="utf-8")).items():
            more.setdefault(fact, []).extend(questions)
    facts = [
        _fact(entry, more.get(entry["id"], ()))
        for path in sorted((_DATA / "facts").glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fact"]
    ]
    ids = [fact.id for fact in facts]
    doubled = sorted({each for each in ids if ids.count(each) > 1})
    if doubled:
        raise ValueError(f"facts share an id: {', '.join(doubled)}; rename one of each")
    return tuple(facts)


def _fact(entry: Mapping[str, Any], more_questions: Sequence[str]) -> Fact:
    return Fact(
        id=entry["id"],
        topic=entry["topic"],
        definable=entry["definable"],
        key=tuple(tuple(part) for part in entry["key"]),
        questions=(*entry["questions"], *more_questions),
        answer=entry["answer"],
        short=entry["short"],
        follow_ups=tuple((question, answer) for question, answer in entry["follow_ups"]),
    )


def chats(random: Random) -> Iterator[Chat]:
    """Chats about every fact. Each occurs once before any occurs again."""
    facts = list(load_facts())
    while True:
        random.shuffle(facts)
        for fact in facts:
            yield _chat(fact, facts, random)


def _chat(fact: Fact, facts: list[Fact], random: Random) -> Chat:
    chance = random.random()
    if chance < 0.12:
        question = random.choice(_SHORT_REQUESTS).format(question=_plain_question(fact, random))
        return single("facts", _typed(question, random), fact.short)
    first = Turn(ask(fact, random), fact.answer)
    if chance < 0.17:
        return Chat("facts", (first, Turn(_typed(random.choice(_SHORTER), random), fact.short)))
    if chance < 0.30 and fact.follow_ups:
        question, answer = random.choice(fact.follow_ups)
        return Chat("facts", (first, Turn(_typed(question, random), answer)))
    if chance < 0.38:
        other = random.choice(facts)
        return Chat("facts", (first, Turn(ask(other, random), other.answer)))
    return Chat("facts", (first,))


def ask(fact: Fact, random: Random) -> str:
    """A question about the fact, as somebody would type it."""
    text = _plain_question(fact, random)
    chance = random.random()
    if chance < 0.08:
        text = _keywords(text)
    elif chance < 0.26:
        text = _with_words_lost(text, random)
    elif chance < 0.34:
        text = f"{text} {_plain_question(fact, random)}"
    return hurried(text, random)


def hurried(text: str, random: Random) -> str:
    """The text as people type it: with openers and thanks, in lower case, without punctuation, with wrong letters."""
    if random.random() < 0.22:
        text = random.choice(_PREFIXES) + _lower_start(text)
    if random.random() < 0.12:
        text += random.choice(_SUFFIXES)
    return _typed(text, random)


def plain_questions(fact: Fact) -> list[str]:
    """Every wording of a question about the fact, before openers and typing errors are added."""
    definitions = [template.format(topic=fact.topic) for template in _TOPIC_QUESTIONS] if fact.definable else []
    return [*fact.questions, *definitions]


def _plain_question(fact: Fact, random: Random) -> str:
    if fact.definable and random.random() < 0.2:
        text = random.choice(_TOPIC_QUESTIONS).format(topic=fact.topic)
        return text[0].upper() + text[1:]
    return random.choice(fact.questions)


def _typed(text: str, random: Random) -> str:
    """The text as people type it: lower case, missing punctuation, swapped letters."""
    if random.random() < 0.35:
        text = text.lower()
    if random.random() < 0.3:
        text = text.rstrip("?.!") or text
    if random.random() < 0.07:
        text = text.replace("'", "").replace(",", "")
    if random.random() < 0.12:
        text = mistyped(text, random)
    return text


def mistyped(text: str, random: Random) -> str:
    """The text with two letters swapped, or one lost or doubled."""
    places = [index for index in range(1, len(text) - 1) if text[index - 1 : index + 2].isalpha()]
    if not places:
        return text
    at = random.choice(places)
    kind = random.randrange(3)
    if kind == 0:
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[:at] + (text[at + 1 :] if kind == 1 else text[at] + text[at:])


def num_content_words(text: str) -> int:
    """The number of words of a text that say what it is about."""
    return sum(_FILLERS.fullmatch(word) is None for word in text.rstrip("?.!").split())


def _keywords(text: str) -> str:
    kept = [word for word in text.rstrip("?.!").split() if not _FILLERS.fullmatch(word)]
    return " ".join(kept) if len(kept) >= 2 else text


def _with_words_lost(text: str, random: Random) -> str:
    """The text without some of its words, mostly unimportant ones, so that no single word identifies the fact."""
    lost = {True: 0.4, False: 0.12}
    kept = [word for word in text.split() if random.random() > lost[_FILLERS.fullmatch(word.strip("?.!,")) is not None]]
    return " ".join(kept) if len(kept) >= 2 else text


def _lower_start(text: str) -> str:
    first, _, rest = text.partition(" ")
    is_name = first == "I" or "'" in first or first[1:] != first[1:].lower()
    return text if is_name else f"{first.lower()} {rest}".rstrip()
