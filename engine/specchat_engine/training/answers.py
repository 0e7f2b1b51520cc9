"""The target's own texts, several at a time: answers to questions, and questions of its own.

Passes with a token for each text are continuous batching: Yu et al., "Orca", OSDI 2022. A chat model that is given the
beginning of a user's message goes on with a question like those that it was trained on: Xu et al., "Magpie",
arXiv 2406.08464.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specchat_engine.errors import DecodeError
from specchat_engine.llama.batch import PassPart
from specchat_engine.llama.library import api
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import LoadOptions
from specchat_engine.loaded import recommended_by, template_of
from specchat_engine.prompt.encoding import encode
from specchat_engine.prompt.messages import Message, Prompt
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler

TEXTS = 16
"""Texts at a time: more gain little, and each takes memory."""

_QUESTION = SamplingParams(temperature=1.0, top_k=0, top_p=0.95)
_QUESTION_TOKENS, _FEWEST_LETTERS = 128, 8
_MARK = "\ue000"
_LOOP, _LOOPS = 32, 3
"""A text ends once its last _LOOP tokens stand in it _LOOPS times."""


@dataclass(slots=True)
class _Text:
    """A prompt that is being continued: the next pass reads the `waiting` tokens from position `start` on."""

    number: int
    waiting: Sequence[int]
    sampler: Sampler
    start: int = 0
    ids: list[int] = field(default_factory=list)


class AnswerWriter:
    """A loaded target that writes several texts at a time; `close` frees it."""

    def __init__(self, target: Path, *, longest: int, threads: int, texts: int = TEXTS) -> None:
        """A prompt and what follows it have at most `longest` tokens. Raises ModelFileError if the target cannot be
        loaded, TemplateError if its chat template does not parse."""
        self._model = LlamaModel(target)
        self._template, self._longest = template_of(self._model), longest
        options = LoadOptions(batch_size=longest)
        self._context = NativeContext(
            self._model, n_ctx=longest, max_rows=1, threads=threads, options=options, texts=texts, shared=False
        )

    @property
    def recommended(self) -> SamplingParams:
        """The sampling that the target's file recommends."""
        return recommended_by(self._model)

    def answers(
        self, conversations: Iterable[Sequence[Message]], params: SamplingParams, limit: int, seed: int = 0
    ) -> Iterator[str]:
        """The answer to each conversation, in their order, of at most `limit` tokens; empty if there is no room.

        Raises DecodeError if llama.cpp reports a failure.
        """
        vocabulary = self._model.vocabulary
        prompts = (encode(messages, self._template, vocabulary) for messages in conversations)
        complete: dict[int, str] = {}
        due = 0
        for number, ids in self._written(prompts, params, limit, seed):
            complete[number] = self._text(ids)
            while due in complete:
                yield complete.pop(due)
                due += 1

    def questions(self, count: int, seed: int) -> list[str]:
        """What users might ask, at most `count` different questions. Raises DecodeError as `answers` does."""
        vocabulary = self._model.vocabulary
        opening = self._template.rendered(self._template.values(Prompt.of([Message("user", _MARK)]))).split(_MARK)[0]
        prompt = vocabulary.tokenize(opening, special=True, add_bos=vocabulary.adds_bos)
        written = self._written([prompt] * count, _QUESTION, _QUESTION_TOKENS, seed)
        texts = (self._text(ids).strip() for _, ids in written if ids and ids[-1] in vocabulary.ends)
        return [*dict.fromkeys(text for text in texts if len(text) >= _FEWEST_LETTERS)]

    def close(self) -> None:
        """Frees the target."""
        self._context.close()
        self._model.close()

    def _text(self, ids: Sequence[int]) -> str:
        vocabulary = self._model.vocabulary
        pieces = (vocabulary.piece(token) for token in ids if token not in vocabulary.ends)
        return b"".join(pieces).decode("utf-8", "replace")

    def _written(
        self, prompts: Iterable[Sequence[int]], params: SamplingParams, limit: int, seed: int
    ) -> Iterator[tuple[int, list[int]]]:
        """The number of each prompt with the ids that follow it, as soon as they are complete."""
        waiting, texts = enumerate(prompts), dict[int, _Text]()
        free = [*range(self._context.texts)]
        while True:
            free.sort(reverse=True)
            while free and (following := next(waiting, None)):
                number, prompt = following
                if len(prompt) >= min(self._longest, self._context.size):
                    yield number, []
                else:
                    texts[free.pop()] = _Text(number, prompt, Sampler(params, seed + number))
            if not texts:
                return
            for place in self._pass(texts):
                text = texts[place]
                full = len(text.ids) >= limit or text.start + 1 >= self._longest
                if full or text.ids[-1] in self._model.vocabulary.ends or _loops(text.ids):
                    api.llama_memory_seq_rm(self._context.memory, place, -1, -1)
                    free.append(place)
                    del texts[place]
                    yield text.number, text.ids

    def _pass(self, texts: dict[int, _Text]) -> list[int]:
        """Adds a token to as many texts as a pass has room for, prompts last; their places."""
        places, tokens = [], 0
        for place, text in sorted(texts.items(), key=lambda item: len(item[1].waiting)):
            if tokens + len(text.waiting) <= self._context.size:
                places.append(place)
                tokens += len(text.waiting)
        places.sort()
        made = self._context.compute([PassPart.chain(texts[at].waiting, texts[at].start, 1, at) for at in places])
        if made.code:
            raise DecodeError(f"llama.cpp could not continue {len(places)} texts (code {made.code})")
        for place, logits in zip(places, made.logits, strict=True):
            text = texts[place]
            token = text.sampler.draw(text.sampler.candidates(logits[0], text.ids), len(text.ids))
            text.start += len(text.waiting)
            text.ids.append(token)
            text.waiting = [token]
        return places


def _loops(ids: Sequence[int]) -> bool:
    """Whether the last tokens stand in a text several times, looked for from time to time."""
    if len(ids) % _LOOP:
        return False
    last, ends = ids[-_LOOP:], range(_LOOP, len(ids) + 1)
    return sum(ids[end - _LOOP : end] == last for end in ends) >= _LOOPS
