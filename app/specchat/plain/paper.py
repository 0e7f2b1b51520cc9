"""Where the plain chat writes: answers to one stream, all else to another. Nothing moves a cursor or has a colour.

Figures and outcomes become words, since screen readers leave signs out or spell them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import Any, TextIO

from specchat.engine_process.protocol import Loaded, Offer
from specchat.stats.line import rule_in
from specchat.terminal.filter import TerminalFilter, clean_line
from specchat.traces.trace import Trace
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.answers.parts import AnswerPart, PartKind
from specchat_engine.decoding.rounds import Outcome, Round
from specchat_engine.decoding.stats import TurnStats

_PAUSE = re.compile(r"[.!?:;][\"'”’)\]*_`]*\s|\n")
_LONGEST = 120
"""After this many characters without an end of a sentence, the complete words are written."""

_SPOKEN = {"×": "times", "α": "alpha", "τ": "tau", "⇠": "with the draft", " · ": ", "}


class Paper:
    """Writes answers to `answers`, a sentence at a time, since a screen reader spells what comes in pieces.

    With `roles`, for someone who listens, it says whose words follow.
    """

    def __init__(self, answers: TextIO, notes: TextIO, *, roles: bool = False) -> None:
        for stream in (answers, notes):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        self._answers = answers
        self._notes = notes
        self._roles = roles
        self._filter = TerminalFilter()
        self._held = ""
        self._line_open = False
        self._asking = False

    def say(self, text: str) -> None:
        """Writes one line that is not part of an answer."""
        self._notes.write(clean_line(text) + "\n")
        self._notes.flush()

    def say_within(self, text: str) -> None:
        """The same during an answer, whose unfinished line ends before it."""
        if self._line_open:
            self._write("\n")
        self.say(text)

    def ask(self, *, more: bool = False) -> None:
        """Says that it is the user's turn; with `more`, that the message continues."""
        if self._roles:
            self._notes.write("And: " if more else "You: ")
            self._notes.flush()
            self._asking = True

    def heard(self) -> None:
        """Notes that the user has ended the line."""
        self._asking = False

    def leave(self) -> None:
        """Ends the line if the user was asked and wrote nothing."""
        if self._asking:
            self.say("")
            self._asking = False

    def begin_answer(self) -> None:
        """Says that an answer follows."""
        if self._roles:
            self.say("Answer:")

    def stream(self, text: str) -> None:
        """Takes a piece of an answer; an unfinished sentence waits for the next piece."""
        self._held += self._filter.feed(text)
        ends = [found.end() for found in _PAUSE.finditer(self._held)]
        end = ends[-1] if ends else 0
        if len(self._held) - end > _LONGEST:
            end = max(end, self._held.rfind(" ") + 1)
        self._write(self._held[:end])
        self._held = self._held[end:]

    def end_answer(self) -> None:
        """Writes the rest of an answer and ends its line."""
        self._write(self._held)
        self._held, self._filter = "", TerminalFilter()
        if self._line_open:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._answers.write(text)
            self._answers.flush()
            self._line_open = not text.endswith("\n")


class SpokenAnswer:
    """An answer that is read out without its calls, which are said when it has ended, and without marks of thoughts."""

    def __init__(self, paper: Paper, loaded: Loaded | None, offer: Offer) -> None:
        self._paper = paper
        self._format = loaded.answer_format if loaded is not None and offer.functions else None
        self._functions = offer.functions
        self._parser = self._new_parser(thinking=False)

    def begin_inside(self, closing: str) -> None:
        """Begins inside a thought."""
        self._parser = self._new_parser(thinking=True)

    def begin_with(self, text: str) -> None:
        """Reads out what the answer begins with."""
        self._paper.stream(self._certain(text))

    def append(self, rounds: Sequence[Round]) -> None:
        """Reads out what is certain after these rounds."""
        for event in rounds:
            self._paper.stream(self._certain(event.text))

    def recount(self, rounds: Sequence[Round]) -> None:
        """Reads nothing out again."""

    def finish(self, figures: str, text: str | None = None, *, calls: bool = False) -> None:
        """Reads out the rest."""
        if self._parser is not None:
            self._paper.stream(_said(self._parser.finish()))
        self._paper.end_answer()

    def _new_parser(self, *, thinking: bool) -> AnswerParser | None:
        return None if self._format is None else AnswerParser(self._format, self._functions, thinking=thinking)

    def _certain(self, text: str) -> str:
        return text if self._parser is None else _said(self._parser.feed(text))


def _said(parts: Sequence[AnswerPart]) -> str:
    return "".join(part.text for part in parts if part.kind in (PartKind.REASONING, PartKind.CONTENT))


def spoken(text: str) -> str:
    """One of the app's sentences with words in place of its signs."""
    for sign, word in _SPOKEN.items():
        text = text.replace(sign, word)
    return text


def spoken_figures(stats: Mapping[str, Any], start: Mapping[str, Any]) -> str:
    """The figures of an answer: its length, its speed, what drafting gained. Unmeasured figures are left out."""
    count, drafted = stats["num_tokens"], stats["num_draft_tokens"]
    parts = [f"{count} token{'' if count == 1 else 's'}"]
    if (speed := stats["tokens_per_second"]) is not None:
        parts.append(f"{speed:.0f} a second" if speed >= 10 else f"{speed:.1f} a second")
    if (speedup := stats["speedup"]) is not None:
        parts.append(f"{speedup:.2f} times as fast as without a draft")
    if drafted:
        parts.append(f"{stats['num_accepted_tokens']} of {drafted} drafted tokens accepted")
        if label := rule_in(start):
            parts.append(label)
    return ", ".join(parts)


def spoken_rejections(trace: Trace) -> Iterator[str]:
    """A line for each round in which the target rejected a token, and one with the totals."""
    counted = TurnStats()
    for event in trace.rounds:
        counted.observe(event)
        if line := _rejection(event):
            yield line
    accepted, rejected = counted.num_accepted_tokens, counted.num_rejected_tokens
    yield f"{accepted} accepted and {rejected} rejected in {counted.num_rounds} rounds."


def _rejection(event: Round) -> str:
    if not event.num_rejected:
        return ""
    at_end = zip(event.drafted, event.depths, strict=True)
    wrong = [token for token, depth in at_end if token.outcome is Outcome.REJECTED and depth == event.num_accepted]
    discarded = sum(token.outcome is Outcome.DISCARDED for token in event.drafted)
    more = f", {discarded} more discarded" if discarded else ""
    refused = " or ".join("an unknown token" if token.is_unknown else _quoted(token.text) for token in wrong)
    return f"Round {event.index + 1}: not {refused} but {_quoted(event.token.text)}{more}."


def _quoted(text: str) -> str:
    """A token in quotes; a blank one by its name."""
    shown = clean_line(text)
    return f"“{shown}”" if shown else "a new line" if "\n" in text else "a blank"
