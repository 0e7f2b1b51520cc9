"""The prompt of a command, and the calls and the log-probabilities in the answer to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from specchat.engine_process.images import messages_of
from specchat.engine_process.protocol import Generate, Inspect, LikelyToken, Position, Prepare, call_id
from specchat_engine import Engine, LogProbs, Prompt, Round, ScoredToken, Session
from specchat_engine.answers.parser import parse_answer
from specchat_engine.pair import Pair
from specchat_engine.prompt.encoding import encode_with_images
from specchat_engine.prompt.messages import ToolCall

_WHOLE = frozenset(("end", "stop"))
"""The ends of answers that may have calls. In one that was cut short the arguments may be incomplete."""


def prompt_of(pair: Pair, command: Generate | Prepare | Inspect, *, whole: bool = False) -> Prompt:
    """The prompt of a conversation, or a raw one; a `whole` one is never shortened.

    The marks of thoughts are part of the answer's text, since the chat folds thoughts. If there are tools, or the
    reader separates the parts of the answer, so are all others that the parser of answers looks for. Raises
    SettingError if it asks about an image and the target sees none, and for a raw prompt with messages.
    """
    tools, answer_format = command.tools, pair.answer_format
    raw = command.prompt if isinstance(command, Generate) else None
    shown = answer_format.marks if whole or tools.functions else answer_format.reasoning_marks
    return Prompt(
        messages_of(command.messages, pair.no_images_because),
        tools.functions,
        command.variables if isinstance(command, Generate) else {},
        raw,
        () if raw is not None else shown,
        whole=whole,
        must_call=tools.required,
        parallel_calls=tools.parallel,
    )


def tokens_of(session: Session, prompt: Prompt) -> list[int]:
    """The token ids that any session of an engine would read.

    Raises TemplateError, SettingError for a raw prompt that the vocabulary cannot serve and for an image that cannot be
    read, and EngineError if images cannot be read at all.
    """
    pair = session.pair
    with pair.lock:
        return encode_with_images(prompt, pair.template, pair.vocabulary, pair.read_image).tokens


def calls_of(session: Session, command: Generate) -> tuple[tuple[ToolCall, ...], str]:
    """The calls in the session's last answer, and what it says beside them; empty without calls.

    Their ids differ within the turns of a seed.
    """
    functions, answer_format = command.tools.functions, session.pair.answer_format
    if not functions or session.end_reason not in _WHOLE:
        return (), ""
    formatted = bool(command.settings.sampling.grammar)
    thinking = session.opens_reasoning
    answer = parse_answer(session.text, answer_format, functions, thinking=thinking, formatted=formatted)
    if not answer.tool_calls:
        return (), ""
    calls = enumerate(answer.tool_calls)
    numbered = tuple(replace(call, id=call_id(command.turn, number)) for number, call in calls)
    return numbered, answer.without_calls(answer_format.thinking)


class AnswerScores:
    """The log-probabilities that a command asks for. It watches the session's answer if it asks for any."""

    def __init__(self, engine: Engine, session: Session, command: Generate) -> None:
        self._vocabulary = engine.vocabulary
        self._session = session
        self._command = command
        self._watch = None if command.logprobs is None else LogProbs(command.logprobs)
        if self._watch:
            session.watch = self._watch

    def of_prompt(self, prompt: Prompt, cancelled: Callable[[], bool]) -> tuple[Position, ...]:
        """The tokens of a prompt that is to be echoed, with their log-probabilities if these were asked for.

        Raises Cancelled, and what `Session.score` raises.
        """
        if not self._command.echo:
            return ()
        if self._command.logprobs is None:
            scored = [ScoredToken(token, None) for token in tokens_of(self._session, prompt)]
        else:
            scored = self._session.score(prompt, self._command.logprobs, cancelled)
        with self._session.pair.lock:
            return tuple(self._position(token, self._text(token.id)) for token in scored)

    def of_round(self, event: Round) -> tuple[Position, ...]:
        """The tokens that a round emitted, with the texts that they have in the answer. Empty if nobody asked."""
        if self._watch is None:
            return ()
        scored = self._watch.of(event)
        with self._session.pair.lock:
            return tuple(self._position(score, token.text) for score, token in zip(scored, event.emitted, strict=False))

    def _position(self, scored: ScoredToken, text: str) -> Position:
        logprob, likeliest = scored.logprob or 0.0, scored.likeliest
        if likeliest and scored.id not in dict(likeliest):
            likeliest = (*likeliest, (scored.id, logprob))
        octets = self._vocabulary.piece(scored.id) or text.encode()
        return Position(
            LikelyToken(scored.id, text, logprob, tuple(octets)), tuple(itertools.starmap(self._likely, likeliest))
        )

    def _likely(self, token: int, logprob: float) -> LikelyToken:
        octets = self._octets(token)
        return LikelyToken(token, octets.decode("utf-8", "replace"), logprob, tuple(octets))

    def _text(self, token: int) -> str:
        """The text of a token by itself, also of a control token. Call it with the engine's lock."""
        return self._octets(token).decode("utf-8", "replace")

    def _octets(self, token: int) -> bytes:
        return self._vocabulary.piece(token) or self._vocabulary.text(token).encode()
