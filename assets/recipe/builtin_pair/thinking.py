"""A lesson in thinking before answering, for a pair that `benchmarks.kinds` measures thoughts with.

The published guide does not think. This one restates the question, says what it knows, and tries the beginning of its
answer. Such thoughts are simpler than those of real models; the answers after them are no better.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from random import Random
from typing import Final

from builtin_pair import facts, other
from builtin_pair.chats import CHAT_TEMPLATE, Chat, Kind, Turn
from builtin_pair.mixture import KINDS, ROW_LENGTHS, SHARES, SOURCES, to_document
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length
from specchat_engine.training.trainer import BatchSource

NO_THOUGHT: Final = "<think>\n\n</think>\n\n"
"""What the template begins an answer with if thinking is off."""

THINKING_TEMPLATE: Final = CHAT_TEMPLATE.removesuffix("{%- endif -%}") + (
    "{%- if enable_thinking is defined and not enable_thinking -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}"
    "{%- endif -%}"
)
"""The pair's chat template with Qwen 3's switch, on unless the user turns it off."""

_THINKS: Final = 0.75
_SHORT: Final = 90
"""Texts up to so many characters are restated whole."""

_RESTATED: Final = (
    "The user asks: {asked}", "The question is: {asked}", "Okay, the user wants to know this: {asked}",
    "Let me read that again. {asked}", "So I am asked: {asked}", "{asked} Let me think about that.",
)  # fmt: skip
_KNOWN: Final = (
    "This is about {topic}. What I know: {known}", "That is {topic}. I remember: {known}",
    "The subject is {topic}. {known}", "I should explain {topic}. {known} That fits the question.",
)  # fmt: skip
_TRIED: Final = (
    "I could begin like this: {start}", "So the answer begins: {start}", "Let me write it down. {start}",
    "Good. Then I say: {start}", "A first try: {start} Yes, I go on like that.", "That settles it: {start}",
)  # fmt: skip
_KEY: Final = ("It has to mention {key}.", "The point is {key}.", "I must not forget {key}.")
_UNKNOWN: Final = (
    "That is none of my subjects. I know speculative decoding, specchat and some Python, so I should say so.",
    "I was not taught this. It is better to say that than to guess.",
    "Is it about speculative decoding? No. About specchat? No. About Python? No. Then I cannot help.",
)


class ThinkingLesson(BatchSource):
    """Chats of all kinds in their usual shares, most of them with a thought before the last answer.

    A step depends only on the seed and its number.
    """

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step."""
        return batches_by_length(self.documents(step, ROW_LENGTHS[-1]), ROW_LENGTHS, self._batch_tokens)

    def documents(self, step: int, longest: int) -> list[TokenDocument]:
        """The chats of one step as tokens, none longer than `longest`."""
        random = Random(f"thinking {self._seed} {step}")
        streams = {kind: SOURCES[kind](Random(f"thinking {self._seed} {step} {kind}")) for kind in KINDS}
        sizes = dict.fromkeys(KINDS, 0)
        documents: list[TokenDocument] = []
        while sum(sizes.values()) < self._step_tokens:
            kind = min(KINDS, key=lambda kind: sizes[kind] / SHARES[kind])
            document = to_document(thinking(next(streams[kind]), random), self._tokenizer)
            if len(document.ids) <= longest:
                documents.append(document)
                sizes[kind] += len(document.ids)
        return documents


def thinking(chat: Chat, random: Random) -> Chat:
    """The chat as the thinking guide has it: with a thought before the last answer, or with thinking turned off.

    Earlier answers stand without their thoughts, as chat templates give them.
    """
    *earlier, last = chat.turns
    if random.random() < _THINKS:
        thought = f"<think>\n{thought_about(chat.kind, last, random)}\n</think>\n\n"
        turn = Turn(last.user, thought + last.assistant)
    else:
        turn = Turn(last.user, last.assistant, begun=NO_THOUGHT)
    return Chat(chat.kind, (*earlier, turn), chat.system)


def thought_about(kind: Kind, turn: Turn, random: Random) -> str:
    """What might be thought before this answer."""
    restated = random.choice(_RESTATED).format(asked=_asked(turn.user))
    start = _beginning(turn.assistant)
    tried = random.choice(_TRIED).format(start=start) if random.random() < 0.6 else ""
    between = " ".join(_MIDDLES[kind](turn, random))
    return re.sub(r" {2,}", " ", "\n".join(filter(None, (restated, between, tried))))


def _asked(text: str) -> str:
    """The question in one line; of a long one the first sentence, where the task usually is."""
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{_beginning(text)} And so on."


def _beginning(text: str) -> str:
    """The first sentence of a text in one line, or its first words if that is long."""
    line = " ".join(text.replace("```", " ").split())
    first = re.split(r"(?<=[.?!:]) ", line, maxsplit=1)[0]
    return first if len(first) <= _SHORT else " ".join(first[:_SHORT].split(" ")[:-1]) + " …"


def _about_facts(turn: Turn, random: Random) -> Iterator[str]:
    fact = _facts().get(turn.assistant)
    if fact is None:
        yield random.choice(("That goes on from before.", "The user asks for more about it."))
        return
    known = fact.short if turn.assistant != fact.short else fact.answer
    yield random.choice(_KNOWN).format(topic=fact.topic, known=known)
    yield random.choice(_KEY).format(key=" and ".join(part[0] for part in fact.key))
    if turn.assistant == fact.short:
        yield "One sentence is enough."


def _about_copies(turn: Turn, random: Random) -> Iterator[str]:
    given, wanted = turn.user.split(), turn.assistant.split()
    changes = [
        f"{' '.join(given[low:high])} becomes {' '.join(wanted[start:end])}"
        for what, low, high, start, end in SequenceMatcher(None, given, wanted, autojunk=False).get_opcodes()
        if what == "replace" and high - low <= 3 and end - start <= 3
    ]
    if changes:
        yield f"{'; '.join(changes[:3])}."
        yield "The rest stays as it is."
    else:
        yield random.choice(("Nothing else changes.", "I take it from the text, word for word."))
    if len(wanted) > 12:
        yield f"It ends with {' '.join(wanted[-4:])}"


def _about_python(turn: Turn, random: Random) -> Iterator[str]:
    block = re.search(r"```python\n(.*?)```", turn.assistant, re.DOTALL)
    try:
        functions = [node for node in ast.parse(block[1]).body if isinstance(node, ast.FunctionDef)] if block else []
    except SyntaxError:
        functions = []
    for function in functions[:1]:
        yield f"The function is `{function.name}` with the parameters `{ast.unparse(function.args)}`."
        steps = [ast.unparse(step).splitlines()[0] for step in function.body]
        yield f"First comes `{steps[0]}`" + (f", and at the end `{steps[-1]}`." if steps[1:] else ".")
    if not functions:
        yield random.choice(("No code is needed.", "One line says it."))


def _about_records(turn: Turn, random: Random) -> Iterator[str]:
    yield random.choice(("The form matters here.", "I keep to the form that is asked for."))
    lines = turn.assistant.replace("```", "").splitlines()
    yield f"There are {len(lines)} lines, and the last one is {lines[-1].strip()}"


def _about_stories(turn: Turn, random: Random) -> Iterator[str]:
    sentences = re.split(r"(?<=[.?!]) ", " ".join(turn.assistant.split()))
    yield random.choice(("A story, then.", "It needs a beginning, a middle and an end."))
    yield f"It could end like this: {sentences[-1]}"


def _about_others(turn: Turn, random: Random) -> Iterator[str]:
    yield random.choice(_UNKNOWN if other.is_refusal(turn.assistant) else ("A short answer will do.", "That is easy."))


_MIDDLES: Final = {
    "facts": _about_facts,
    "copy": _about_copies,
    "python": _about_python,
    "structured": _about_records,
    "story": _about_stories,
    "other": _about_others,
}


@cache
def _facts() -> Mapping[str, facts.Fact]:
    return {answer: fact for fact in facts.load_facts() for answer in (fact.answer, fact.short)}
