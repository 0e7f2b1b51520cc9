"""An answer split into thoughts and the text between them, with the tokens of each part."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from specchat.stats.line import speed_words
from specchat.terminal.pieces import Ink, Inker, Piece
from specchat_engine.answers.thoughts import Span, ThoughtSplitter, without_marks
from specchat_engine.decoding.rounds import Round, TokenKind
from specchat_engine.decoding.stats import ReasoningStats


@dataclass(slots=True)
class ShownPart:
    """A thought, or the text before, between or after thoughts. `ms` is the decoding time of its tokens.

    `kept` is the number of characters that belong to the answer where a stop string cut it; None for all.
    """

    thought: bool = False
    pieces: list[Piece] = field(default_factory=list)
    over: bool = False
    ms: float = 0.0
    kept: int | None = None
    tokens: Counter[Ink] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The text that belongs to the answer, without the marks around a thought."""
        text = "".join(piece.text for piece in self.pieces if piece.emitted)[: self.kept]
        return without_marks(text) if self.thought else text

    @property
    def num_tokens(self) -> int:
        """The number of emitted tokens."""
        return sum(count for ink, count in self.tokens.items() if ink.emitted)

    def summary(self) -> str:
        """`3.2 s · 214 tokens · 61.0 tok/s · α 0.83`, without the rates until it is over.

        The number of characters if the tokens are not known.
        """
        if not self.num_tokens:
            return f"{len(self.text):,} characters"
        time = f"{self.ms / 1000:.1f} s" if self.ms else ""
        tokens = f"{self.num_tokens:,} token{'' if self.num_tokens == 1 else 's'}"
        return " · ".join(part for part in (time, tokens, *(self._rates() if self.over else ())) if part)

    def _rates(self) -> Iterator[str]:
        counted = ReasoningStats(
            num_tokens=self.num_tokens,
            num_accepted_tokens=self.tokens[Ink.ACCEPTED],
            num_rejected_tokens=self.tokens[Ink.CORRECTION],  # one for each place, also in a tree
            decode_ms=self.ms,
        )
        if speed := counted.tokens_per_second:
            yield speed_words(speed)
        if counted.alpha is not None:
            yield f"α {counted.alpha:.2f}"


class Parts:
    """Splits the rounds of one answer, or its text, into parts."""

    def __init__(self, closing: str = "") -> None:
        """The answer begins inside a thought if `closing` is the mark that ends it."""
        self.parts = [ShownPart(thought=bool(closing))]
        self._inker = Inker()
        self._splitter = ThoughtSplitter(closing)
        self._waiting: deque[tuple[Piece, float]] = deque()

    @property
    def text(self) -> str:
        """The text of the answer as the screen shows it, with the marks of thoughts, without rejected and discarded
        tokens."""
        waiting = (piece for piece, _ in self._waiting)
        pieces = (*(piece for part in self.parts for piece in part.pieces), *waiting)
        return "".join(piece.text for piece in pieces if piece.emitted)

    def take(self, rounds: Iterable[Round]) -> None:
        """Add rounds at the end."""
        for event in rounds:
            spent = event.ms.total / (event.num_emitted or 1)
            for piece in self._inker.pieces(event):
                self._add(piece, spent if piece.emitted else 0.0)

    def take_text(self, text: str) -> None:
        """Add text without rounds. It must have passed `pieces.shown`."""
        self._add(Piece(text, Ink.PLAIN, 0), 0.0)

    def finish(self) -> None:
        """End the answer."""
        self._place(self._splitter.finish())
        self._drain()
        self.parts[-1].over = True

    def cut(self, text: str) -> bool:
        """Keep only this text as the answer. Returns False if the answer does not begin with it."""
        if not self.text.startswith(text):
            return False
        left = len(text)
        for part in self.parts:
            length = sum(len(piece.text) for piece in part.pieces if piece.emitted)
            part.kept = min(length, left)
            left -= part.kept
        return True

    def locate(self, token: int) -> tuple[int, int, int] | None:
        """The part of token number `token`, and the span of that token in the joined texts of the part's pieces."""
        for number, part in enumerate(self.parts):
            offset = 0
            for piece in part.pieces:
                if token < piece.tokens:
                    return number, offset, offset + len(piece.text)
                token -= piece.tokens
                offset += len(piece.text)
        return None

    def _add(self, piece: Piece, spent: float) -> None:
        self._waiting.append((piece, spent))
        if piece.emitted:
            self._place(self._splitter.feed(piece.text))
        if not self._splitter.holding:
            self._drain()

    def _place(self, spans: Iterable[Span]) -> None:
        reaching_back = self._splitter.began_inside and not self.parts[0].thought
        self.parts[0].thought |= reaching_back
        for span in spans:
            part = self.parts[0] if reaching_back else self._part_for(span)
            reaching_back &= not span.thought
            for piece, spent in self._waiting_for(len(span.text)):
                _put(part, piece, spent)

    def _part_for(self, span: Span) -> ShownPart:
        last = self.parts[-1]
        if last.thought is span.thought and not last.over:
            return last
        if not last.pieces:
            last.thought = span.thought
            return last
        last.over = True
        self.parts.append(ShownPart(span.thought))
        return self.parts[-1]

    def _waiting_for(self, length: int) -> Iterator[tuple[Piece, float]]:
        """The held pieces of the next `length` characters of the answer. A piece is cut if necessary."""
        while length:
            piece, spent = self._waiting.popleft()
            if piece.emitted and len(piece.text) > length:
                rest = piece._replace(text=piece.text[length:], tokens=0)
                self._waiting.appendleft((rest, 0.0))
                piece = piece._replace(text=piece.text[:length])
            if piece.emitted:
                length -= len(piece.text)
            yield piece, spent

    def _drain(self) -> None:
        while self._waiting:
            piece, spent = self._waiting.popleft()
            _put(self.parts[-1], piece, spent)


def _put(part: ShownPart, piece: Piece, spent: float) -> None:
    part.pieces.append(piece)
    part.ms += spent
    if isinstance(piece.ink, Ink):
        part.tokens[piece.ink] += piece.tokens


def tokens_of(event: Round) -> int:
    """The number of tokens of a round: the drafted ones and the target's own."""
    return len(event.drafted) + (event.token.kind is not TokenKind.NONE)


class TokenCursor:
    """A cursor over all tokens of an answer, rejected and discarded ones included.

    `index` counts from 0, the last at first.
    """

    def __init__(self, rounds: Sequence[Round]) -> None:
        self._ends = list(accumulate(map(tokens_of, rounds)))
        self._indices = [event.index for event in rounds]
        self.index = max(0, self.count - 1)

    @property
    def count(self) -> int:
        """The number of tokens."""
        return self._ends[-1] if self._ends else 0

    @property
    def round_index(self) -> int:
        """The `Round.index` of the token's round."""
        return self._indices[self._at]

    @property
    def place(self) -> int:
        """The place of the token in its round. The target's own comes after the drafted ones."""
        return self.index - (self._ends[self._at - 1] if self._at else 0)

    def move(self, steps: int) -> None:
        """Move by this many tokens, as far as there are any."""
        self.index = min(max(0, self.index + steps), max(0, self.count - 1))

    def move_rounds(self, steps: int) -> None:
        """Move by this many rounds, to the same place in the round or its last one."""
        offset = self.place
        at = min(max(0, self._at + steps), len(self._ends) - 1)
        begin = self._ends[at - 1] if at else 0
        self.index = min(begin + offset, self._ends[at] - 1)

    @property
    def _at(self) -> int:
        return min(bisect_right(self._ends, self.index), max(0, len(self._ends) - 1))
