"""Reads the chunks of an answer as rounds, each engine in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from specchat.remote.alignment import steps_of
from specchat.remote.chunks import Chunk, Drafting, Timings, Token
from specchat.remote.round_maker import drafted_round, plain_rounds, sound
from specchat.remote.servers import EngineKind
from specchat_engine.decoding.rounds import Round


class RoundReader(Protocol):
    """Reads one answer. The rounds' indices and the order of their times are not its business."""

    def take(self, chunk: Chunk, arriving: Sequence[Token], t_ms: float) -> list[Round]:
        """The rounds that are complete with this chunk, which came at this time with these tokens."""

    def finish(self) -> list[Round]:
        """What is left at the end of the answer."""

    def recount(self, drafting: Drafting | None) -> list[Round] | None:
        """All rounds again, now that the server has reported its drafts; None if nothing is to be changed."""


def reader_for(engine: EngineKind, *, speculates: bool) -> RoundReader:
    """The reader for an engine. Of others than llama-server and specchat, `speculates` says that they draft."""
    match engine:
        case EngineKind.LLAMA_SERVER:
            return CounterReader()
        case EngineKind.SPECCHAT:
            return TraceReader()
    return GroupReader(speculates=speculates)


class TraceReader:
    """Rounds that specchat sent whole. Where it sent none, chunks are plain rounds."""

    def __init__(self) -> None:
        self._others = GroupReader(speculates=False)
        self._has_rounds = False

    def take(self, chunk: Chunk, arriving: Sequence[Token], t_ms: float) -> list[Round]:
        """The rounds of the chunk."""
        rounds = [event for event in map(sound, chunk.rounds) if event is not None]
        self._has_rounds = self._has_rounds or bool(rounds)
        return rounds if self._has_rounds else self._others.take(chunk, arriving, t_ms)

    def finish(self) -> list[Round]:
        """Nothing."""
        return []

    def recount(self, drafting: Drafting | None) -> list[Round] | None:
        """Nothing is to be changed in rounds that were sent whole."""
        return None if self._has_rounds else self._others.recount(drafting)


class CounterReader:
    """llama-server's counters change once a round: all tokens of a round come with the same ones.

    A round has one token more than were accepted, and may have fewer at the end of the answer.
    """

    def __init__(self) -> None:
        self._before = Timings(0, 0.0)
        self._tokens: list[Token] = []
        self._drafted = self._accepted = 0
        self._ms = self._t_ms = 0.0

    def take(self, chunk: Chunk, arriving: Sequence[Token], t_ms: float) -> list[Round]:
        """The round that the chunk completes, and the one before if that never was."""
        now, before = chunk.timings, self._before
        if now is None or now.num_tokens <= before.num_tokens:
            return self._late(arriving, t_ms)
        rounds = []
        drafted, accepted = now.num_drafted - before.num_drafted, now.num_accepted - before.num_accepted
        if self._tokens and (drafted > 0 or now.decode_ms != before.decode_ms):
            rounds += self.finish()
        if not self._tokens:
            self._drafted, self._accepted = max(drafted, 0), max(min(accepted, drafted), 0)
            self._ms, self._t_ms = now.decode_ms - before.decode_ms if before.num_tokens else 0.0, t_ms
        text = "".join(token.text for token in arriving)
        silent = now.num_tokens - before.num_tokens - 1  # tokens that are part of a character came without a chunk
        self._tokens += [*[Token()] * silent, Token(None, text)]
        self._before = now
        return rounds + (self.finish() if len(self._tokens) > self._accepted else [])

    def finish(self) -> list[Round]:
        """The round whose tokens have come, as far as they have."""
        tokens, self._tokens = self._tokens, []
        times = {"ms": max(self._ms, 0.0), "t_ms": self._t_ms}
        if not tokens:
            return []
        if not self._drafted:
            return [*plain_rounds(tokens, **times)]
        own = self._accepted + 1
        first = drafted_round(tokens[:own], self._drafted, self._accepted, **times)
        return [first, *plain_rounds(tokens[own:], ms=0.0, t_ms=self._t_ms)]

    def recount(self, drafting: Drafting | None) -> list[Round] | None:
        """The counters reported everything at once."""
        return None

    def _late(self, arriving: Sequence[Token], t_ms: float) -> list[Round]:
        """Text that came without another token: the server had held it back."""
        text = "".join(token.text for token in arriving)
        if not text:
            return []
        if self._tokens:
            last = self._tokens[-1]
            self._tokens[-1] = last._replace(text=last.text + text)
            return []
        return [*plain_rounds([Token(None, text)], ms=0.0, t_ms=t_ms)]


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """Tokens that arrived together."""

    tokens: tuple[Token, ...]
    ms: float
    t_ms: float


class GroupReader:
    """Tokens that arrive together are those of one step, or of several.

    While the answer streams, all of them but the last count as accepted if the server speculates. What had been drafted
    in vain is known at the end.
    """

    def __init__(self, *, speculates: bool) -> None:
        self._speculates = speculates
        self._groups: list[TokenGroup] = []
        self._counted = 0
        self._counting = False

    def take(self, chunk: Chunk, arriving: Sequence[Token], t_ms: float) -> list[Round]:
        """The rounds of the tokens that came."""
        tokens = self._tokens(chunk, arriving)
        if not tokens:
            return []
        ms = t_ms - self._groups[-1].t_ms if self._groups else 0.0
        self._groups.append(TokenGroup(tokens, ms, t_ms))
        accepted = len(tokens) - 1
        if self._speculates and accepted:
            return [drafted_round(tokens, accepted, accepted, ms=ms, t_ms=t_ms)]
        return [*plain_rounds(tokens, ms=ms, t_ms=t_ms)]

    def finish(self) -> list[Round]:
        """Nothing waits."""
        return []

    def recount(self, drafting: Drafting | None) -> list[Round] | None:
        """All rounds, as the server reported its drafts; plain ones if it reported none."""
        if drafting is None:
            several = self._speculates and any(len(group.tokens) > 1 for group in self._groups)
            return [event for group in self._groups for event in _plain(group)] if several else None
        groups = self._groups
        steps = steps_of([len(group.tokens) for group in groups], drafting)
        if steps is None and len(groups) > 1 and not any(token.text for token in groups[-1].tokens):
            *groups, last, silent = groups  # the token that ends an answer may belong to the step before
            groups.append(TokenGroup((*last.tokens, *silent.tokens), last.ms, last.t_ms))
            steps = steps_of([len(group.tokens) for group in groups], drafting)
        if steps is None:
            return None
        rounds: list[Round] = []
        for group, made in zip(groups, steps, strict=True):
            begin = 0
            for step in made:
                tokens = group.tokens[begin : begin + step.emitted]
                ms = 0.0 if begin else group.ms
                begin += step.emitted
                if step.drafted:
                    rounds.append(drafted_round(tokens, step.drafted, step.accepted, ms=ms, t_ms=group.t_ms))
                else:
                    rounds += plain_rounds(tokens, ms=ms, t_ms=group.t_ms)
        return rounds

    def _tokens(self, chunk: Chunk, arriving: Sequence[Token]) -> tuple[Token, ...]:
        """The tokens of a chunk: as they were sent, or as many as the count so far says, or one for some text."""
        if chunk.tokens:
            self._counted += len(arriving)
            return tuple(arriving)
        text = "".join(token.text for token in arriving)
        self._counting |= bool(text) and chunk.completion_tokens is not None
        number = 1 if text else 0
        if self._counting and chunk.completion_tokens is not None:
            number = max(number, chunk.completion_tokens - self._counted)
        self._counted += number
        return (Token(None, text), *[Token()] * (number - 1)) if number else ()


def _plain(group: TokenGroup) -> list[Round]:
    return [*plain_rounds(group.tokens, ms=group.ms, t_ms=group.t_ms)]
