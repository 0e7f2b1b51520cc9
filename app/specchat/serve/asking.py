"""What a request asks of a session, and what the session says of it: the one place that knows both."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

from specchat.serve.protocol import Begun, LikelyToken, Made, Position, Request
from specchat_engine import Engine, Image, LogProbs, Message, Prompt, Round, ScoredToken, Session
from specchat_engine.errors import Cancelled
from specchat_engine.prompt.encoding import encode_with_images


def prompt_of(engine: Engine, request: Request) -> Prompt:
    """What an engine is to answer. Raises SettingError for what is no message, and for a raw prompt with messages."""
    messages = tuple(map(_message, request.messages))
    raw = None if messages else request.prompt
    shown = () if raw is not None else engine.answer_format.marks
    return Prompt(
        messages,
        request.tools,
        request.options,
        raw,
        shown,
        whole=True,
        must_call=request.calls == "required",
        parallel_calls=request.parallel_calls,
    )


def tokens_of(session: Session, prompt: Prompt) -> list[int]:
    """The token ids that any session of an engine would read.

    Raises TemplateError, SettingError for a raw prompt that the vocabulary cannot serve and for an image that cannot be
    read, and EngineError if images cannot be read at all.
    """
    pair = session.pair
    with pair.lock:
        return encode_with_images(prompt, pair.template, pair.vocabulary, pair.read_image).tokens


def _message(values: Mapping[str, Any]) -> Message:
    images = tuple(Image(b64decode(png)) for png in values.get("images", ()))
    return replace(Message.of(values), images=images)


class Exchange:
    """A request that a session answers, with the events that tell of it."""

    def __init__(self, engine: Engine, session: Session, number: int, request: Request) -> None:
        self._engine = engine
        self._session = session
        self._number = number
        self._request = request
        self._logprobs = None if request.logprobs is None else LogProbs(request.logprobs)
        self._echo: tuple[Position, ...] = ()

    def rounds(self, prompt: Prompt, left: Callable[[], bool]) -> Generator[Made]:
        """Answers the prompt; close it in the thread that reads it.

        Scores the prompt first, if that was asked for. Reads nothing once the client has `left`. Raises Cancelled then,
        and what `Session.answer` and `Session.score` raise.
        """
        session, request = self._session, self._request
        session.seed, session.settings, session.prediction = request.seed, request.settings, request.prediction
        if request.echo:
            self._echo = self._prompt_positions(prompt, left)
        if left():  # the session's `cancel` ends only an answer that has begun
            raise Cancelled("the client left before its prompt was read")
        session.watch = self._logprobs
        try:
            for event in session.answer(prompt, 0):
                yield Made(self._number, event, self._emitted(event))
        finally:
            session.watch = None

    def begun(self) -> Begun:
        """The event that the prompt was read. A prompt that was scored was read for that, all of it."""
        session, stats = self._session, self._session.stats
        cached = 0 if self._echo else stats.cached_tokens
        opened = session.opens_reasoning
        return Begun(self._number, stats.prompt_tokens, cached, session.start_line(), self._echo, opened)

    def _prompt_positions(self, prompt: Prompt, left: Callable[[], bool]) -> tuple[Position, ...]:
        """The tokens of a prompt, with their log-probabilities if these were asked for."""
        if self._request.logprobs is None:
            scored = [ScoredToken(token, None) for token in tokens_of(self._session, prompt)]
        else:
            scored = self._session.score(prompt, self._request.logprobs, left)
        with self._session.pair.lock:
            return tuple(self._position(one, self._text(one.id)) for one in scored)

    def _emitted(self, event: Round) -> tuple[Position, ...]:
        """The tokens that a round emitted, with the texts that they have in the answer."""
        if self._logprobs is None:
            return ()
        scored = self._logprobs.of(event)
        with self._session.pair.lock:
            return tuple(self._position(one, token.text) for one, token in zip(scored, event.emitted, strict=False))

    def _position(self, scored: ScoredToken, text: str) -> Position:
        likeliest = (LikelyToken(token, self._text(token), logprob) for token, logprob in scored.likeliest)
        return Position(LikelyToken(scored.id, text, scored.logprob or 0.0), tuple(likeliest))

    def _text(self, token: int) -> str:
        """The text of a token by itself, also of a control token. Call it with the engine's lock."""
        vocabulary = self._engine.vocabulary
        return vocabulary.piece(token).decode("utf-8", "replace") or vocabulary.text(token)
