"""Audits losslessness: compares answers with plain decoding and explains every difference.

A pass over several tokens uses other kernels than a pass over one token, so logits differ in their last bits. A
difference between two texts is numerical if two things hold at the first position where they differ. First, the rule,
applied to the logits of both sequences of passes, replayed from the prompt on, gives the recorded tokens. Second, these
logits differ by no more than the noise that was measured separately, on text that was only read. Anything else is a
bug.

A text that equals plain decoding does not show that the rule is right, and the rules that only keep the distribution
promise no text. So `recheck` also repeats the decisions of every answer from the logits of its passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.analysis.adversary import Adversary
from specchat_engine.analysis.recheck import AcceptanceCheck, faults
from specchat_engine.analysis.recording import Logits, RecordedPass, Recording, record, watched
from specchat_engine.analysis.widths import ReadBothWays, WidthNoise, read_both_ways
from specchat_engine.grammar.constraint import Constraint, GrammarVocabulary
from specchat_engine.models import BranchingModel, SessionModel
from specchat_engine.prompt.messages import Message, Prompt
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import gumbel
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler, constraint_of
from specchat_engine.session import Session
from specchat_engine.settings import AUTO, Settings

MARGIN = 4.0
"""Logits may differ by this many times the largest measured difference, since a sample does not show the extremes."""

WILD = 0.5
"""Logits that differ by more than this share of the range of their row are of different texts."""


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, and the settings of its speculative answer. If there are `tools`, it has to call one of them."""

    kind: str
    prompt: str
    settings: Settings
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def plain(self) -> Settings:
        """The same without speculation."""
        return self.settings.plain

    @property
    def promises_text(self) -> bool:
        """Whether the answer has to equal plain decoding; other rules keep the distribution alone."""
        return self.settings.verifier == "coupled" or self.settings.sampling.temperature == 0

    def asked(self, session: Session) -> str | Prompt:
        """What a fresh session is asked."""
        if not self.tools:
            return self.prompt
        messages = [*session.messages, Message("user", self.prompt)]
        return Prompt(messages, self.tools, shown=session.pair.answer_format.marks, must_call=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two answers differ. `gaps` lie between the two best values of log p + g, in the plain and the other one."""

    case: Case
    plain: Recording
    speculative: Recording
    position: int
    tokens: tuple[int, int]
    logit_difference: float
    noise: float
    gaps: tuple[float, float]
    truncation_differs: bool
    reproduced: bool

    @property
    def explained(self) -> bool:
        """Whether the measured noise of the logits explains it."""
        return self.reproduced and self.logit_difference <= MARGIN * self.noise

    @property
    def reason(self) -> str:
        """Why the difference is numerical, or why it is not."""
        if not self.reproduced:
            return "the rule, applied to the logits of the replayed passes, does not give the recorded tokens"
        if not self.explained:
            return f"the logits differ by {self.logit_difference:.3g}, the measured noise is {self.noise:.3g}"
        cut = "another token survived the truncation" if self.truncation_differs else "a near-tie went the other way"
        return f"numerics: {cut}, gap {min(self.gaps):.3g} at a logit difference of {self.logit_difference:.3g}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A decision that the rule does not make, or a memory that cannot be trusted: always a bug."""

    case: Case
    plain: Recording
    speculative: Recording
    position: int
    reason: str
    explained: bool = False


Finding = Difference | Fault


@dataclass(slots=True)
class Audit:
    """What was compared and found. `noise` has the largest logit difference of each row that was read again, and
    `widths` the whole comparison of each plain answer, with its temperature."""

    compared: int = 0
    positions: int = 0
    noise: list[float] = field(default_factory=list)
    widths: list[tuple[float, WidthNoise]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def unexplained(self) -> list[Finding]:
        """The findings that are bugs."""
        return [each for each in self.findings if not each.explained]


def audit(
    session_for: Callable[[Settings], Session],
    target: SessionModel,
    vocabulary: GrammarVocabulary,
    cases: Iterable[Case],
    heard: Callable[[Case, Finding | None], None] = lambda *_: None,
    adversary: Adversary | None = None,
) -> Audit:
    """Answers every case plainly and speculatively, compares the tokens, and repeats all decisions.

    Args:
        session_for: makes a fresh session on `target` with the given settings, always with the same seed.
        target: the target's memory, which the replays use.
        vocabulary: the target's vocabulary, for answers under a grammar.
        cases: what to ask; cases of one prompt are adjacent.
        heard: called with each case and its finding, if there is one, as soon as it is known.
        adversary: gets each plain answer, for the cases in which it drafts.
    """
    began = time.monotonic()
    result = Audit()
    acceptance = AcceptanceCheck()
    for (prompt, settings, _), group in groupby(cases, key=lambda case: (case.prompt, case.plain, case.tools)):
        together = list(group)
        target.clear()  # the replays start from an empty memory too, and near-ties depend on how a prompt was read
        plain, fault = _checked(session_for(settings), together[0], target, vocabulary)
        widths = (target.max_rows if case.settings.k == AUTO else case.settings.k + 1 for case in together)
        tokens, start = [*plain.prompt, *plain.tokens], len(plain.prompt) - 1
        rows = read_both_ways(target, tokens, start, min(max(widths), target.max_rows))
        noise, wild = reading_noise(rows)
        result.noise += noise
        result.widths.append((settings.sampling.temperature, WidthNoise.of(rows, settings.sampling)))
        fault = fault or wild
        if adversary:
            adversary.know(plain)
        for case in together:
            speculative, own_fault = _checked(session_for(case.settings), case, target, vocabulary)
            fault = fault or own_fault
            result.compared += 1
            result.positions += len(speculative.tokens)
            if case.settings.verifier == "coupled" and case.settings.drafter == "model":
                acceptance.observe(f"{prompt} {settings}", speculative)
                if acceptance.fault:
                    fault, acceptance = fault or (0, acceptance.fault), AcceptanceCheck()
            finding: Finding | None = None
            if fault:
                finding = Fault(case, plain, speculative, *fault)
            elif case.promises_text and speculative.tokens != plain.tokens:
                sampler = _rule(settings.sampling, plain, vocabulary)
                finding = explain(target, case, plain, speculative, sampler, max(result.noise, default=0.0))
            if finding:
                result.findings.append(finding)
            heard(case, finding)
            fault = None
    result.seconds = time.monotonic() - began
    return result


def _checked(
    session: Session, case: Case, target: SessionModel, vocabulary: GrammarVocabulary
) -> tuple[Recording, tuple[int, str] | None]:
    """An answer, and the first position where the rule does not lead to it."""
    failures: list[tuple[int, str]] = []
    text: list[int] = []

    grammar = _Grammar(session, vocabulary)
    with watched(target) as seen:

        def check(each: RecordedPass) -> None:
            if grammar.left:
                return  # that was reported when it happened
            before = [*session.prompt_ids, *text]
            rows = grammar.rows(seen.logits, before, each)
            for offset, fault in faults(each, rows, before, len(text), session.turn_seed, session.settings):
                failures.append((len(text) + offset, fault))
            text.extend(each.emitted)

        recording = record(session, case.asked(session), check, lambda: seen.tree)
    return recording, failures[0] if failures else None


class _Grammar:
    """Removes what the grammar of a session's answer excludes, if it has one: that comes before every other stage."""

    def __init__(self, session: Session, vocabulary: GrammarVocabulary) -> None:
        self._session = session
        self._vocabulary = vocabulary
        self._constraint: Constraint | None = None
        self.left = False
        """Whether the answer has left the grammar. Its end does so, too."""

    def rows(self, logits: Logits, before: Sequence[int], each: RecordedPass) -> Logits:
        """The logits of a pass, minus infinity where a token may not come, in the rows that the rule judges by."""
        session = self._session
        if self._constraint is None:
            self._constraint = session.held.constraint(self._vocabulary)
            if self._constraint is None:
                return logits
            self._constraint.begin(len(session.prompt_ids))
        every, rows = np.arange(logits.shape[1]), logits.copy()
        judged = len(rows) if session.settings.verifier == "block" else each.accepted + 1
        for offset in range(min(judged, len(rows))):
            if state := self._constraint.after(before, each.drafted[:offset]):
                rows[offset, ~state.allows(every)] = -np.inf
        self.left = self._constraint.after(before, each.emitted) is None
        return rows


def reading_noise(rows: ReadBothWays) -> tuple[list[float], tuple[int, str] | None]:
    """The largest logit difference in each row between passes over one token and over several.

    And the first position, if any, where that is not noise: logits of another text differ about as much.
    """
    noise: list[float] = []
    wild = None
    for position, (single, together) in enumerate(zip(rows.singly, rows.together, strict=True)):
        noise.append(spread(single, together))
        if wild is None and noise[-1] > WILD * float(np.ptp(single)):
            wild = (
                position,
                f"the logits differ by {noise[-1]:.3g} when the same text is read {rows.width} tokens at a time",
            )
    return noise, wild


def explain(
    target: SessionModel,
    case: Case,
    plain: Recording,
    speculative: Recording,
    sampler: Sampler,
    noise: float,
) -> Difference:
    """Replays both recordings up to the position where they differ, and compares the logits there."""
    pairs = zip((*plain.tokens, -1), (*speculative.tokens, -1), strict=False)
    position = next(position for position, (token, other_token) in enumerate(pairs) if token != other_token)
    before = [*plain.prompt, *plain.tokens[:position]]
    rows, gaps, survivors, drawn = [], [], [], []
    for recording in (plain, speculative):
        row = replayed(target, recording, position)
        candidates = sampler.candidates(row, before)
        rows.append(row)
        gaps.append(_gap(row if sampler.params.temperature == 0 else _values(candidates, plain.seed, position)))
        survivors.append(candidates.ids.tolist())
        drawn.append(sampler.draw(candidates, position))
    tokens = tuple(each.tokens[position] if position < len(each.tokens) else -1 for each in (plain, speculative))
    return Difference(
        case=case,
        plain=plain,
        speculative=speculative,
        position=position,
        tokens=(tokens[0], tokens[1]),
        logit_difference=spread(*rows),
        noise=noise,
        gaps=(gaps[0], gaps[1]),
        truncation_differs=survivors[0] != survivors[1],
        reproduced=tuple(drawn) == tokens,
    )


def _rule(sampling: SamplingParams, recording: Recording, vocabulary: GrammarVocabulary) -> Sampler:
    """The sampler that made a recorded answer."""
    constraint = constraint_of(sampling, vocabulary, recording.held)
    if constraint:
        constraint.begin(len(recording.prompt))
    return Sampler(sampling, recording.seed, constraint)


def replayed(target: SessionModel, recording: Recording, position: int) -> NDArray[np.float32]:
    """The logits [V] of an output position, replayed with the recorded passes from the prompt on."""
    tokens = list(recording.prompt)
    _read_anew(target, tokens[:-1])
    start = len(tokens)
    for each in recording.passes:
        tree = each.tree if isinstance(target, BranchingModel) else None
        offset = start + position - len(tokens)
        row = offset
        if tree and isinstance(target, BranchingModel):
            logits = target.advance_tree(tokens[-1], tree.tokens, tree.parents)
            row = tree.path[offset - 1] + 1 if 0 < offset <= len(tree.path) else 0
        else:
            logits = target.advance((tokens[-1], *each.drafted), len(each.drafted) + 1)
        if offset <= len(each.drafted) and offset < max(1, len(each.emitted)):
            return np.array(logits[row])
        if tree and isinstance(target, BranchingModel):
            target.take(tree.path)
        tokens += each.emitted
        target.rewind(len(tokens) - 1)
    return np.array(target.advance(tokens[-1:], 1)[0])


def spread(row: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The largest difference between two rows of logits."""
    return float(np.abs(row - other).max())


def _values(candidates: Candidates, seed: int, position: int) -> NDArray[np.float64]:
    """log p + g of the candidates."""
    return candidates.log_p + gumbel(seed, position, candidates.ids)


def _gap(values: NDArray[np.floating[Any]]) -> float:
    """The difference between the two largest values."""
    return float(np.ptp(np.partition(values, -2)[-2:])) if len(values) > 1 else float("inf")


def _read_anew(target: SessionModel, tokens: Sequence[int]) -> None:
    target.clear()
    target.read(tokens, lambda: False)
