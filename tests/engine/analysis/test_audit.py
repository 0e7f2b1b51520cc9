"""The audit finds the first difference of two texts and distinguishes numerics from bugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from specchat_engine import SamplingParams, Session, Settings
from specchat_engine.analysis.audit import Audit, Case, Finding, audit, reading_noise, replayed
from specchat_engine.analysis.recording import record
from specchat_engine.analysis.widths import read_both_ways
from specchat_engine.drafters import DraftModel
from specchat_engine.pair import Pair
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import ByteTokenizer, ScriptedModel, random_law

N_VOCAB = 259
LAW = random_law(N_VOCAB, seed=4, spread=1.5)
PROMPTS = ("aaab aaab aaab", "Why?", "one two one two one")


class Noisy(ScriptedModel):
    """Its logits move a little with the width of the pass, as those of real kernels do."""

    noise = 0.02

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        start = len(self.tokens)
        logits = super().advance(tokens, rows)
        for row in range(rows):
            key = [len(tokens), start + len(tokens) - rows + row]
            logits[row] += (np.random.default_rng(key).standard_normal(N_VOCAB) * self.noise).astype(np.float32)
        return logits


class Stale(ScriptedModel):
    """It forgets one token too few after a rejection, and reads on as if nothing had happened."""

    def rewind(self, length: int) -> None:
        cut = len(self.tokens) - length
        super().rewind(length)
        if cut > 1 and self.tokens:
            self.tokens[-1] = (self.tokens[-1] + 1) % N_VOCAB


def sessions(target: ScriptedModel) -> Callable[[Settings], Session]:
    draft = ScriptedModel(random_law(N_VOCAB, seed=4, spread=1.2))
    pair = Pair(target, ByteTokenizer(), ChatTemplate(FALLBACK), {"model": DraftModel(draft)})
    return lambda settings: Session(pair, settings=settings, seed=5)


def cases(temperatures: Sequence[float] = (0.0, 0.8)) -> list[Case]:
    return [
        Case("test", prompt, Settings(k, drafter, sampling=SamplingParams(temperature=temperature), max_tokens=60))
        for prompt in PROMPTS
        for temperature in temperatures
        for drafter, k in (("model", 1), ("model", 4), ("lookup", 3))
    ]


def run(target: ScriptedModel) -> Audit:
    return audit(sessions(target), target, ByteTokenizer(), cases())


def test_a_sound_model_shows_no_difference_and_no_noise() -> None:
    result = run(ScriptedModel(LAW))
    assert (result.compared, result.findings, max(result.noise)) == (18, [], 0)
    assert result.positions > 18 * 20


def test_logits_that_change_with_the_width_of_a_pass_are_numerics_unless_they_move_too_far() -> None:
    heard: list[tuple[Case, Finding | None]] = []
    target = Noisy(LAW)
    result = audit(
        sessions(target), target, ByteTokenizer(), cases(), lambda case, difference: heard.append((case, difference))
    )
    assert [case for case, _ in heard] == cases(), "every outcome is reported as soon as it is known"
    assert [difference for _, difference in heard if difference] == result.findings
    assert result.unexplained == []
    assert all(difference.reason.startswith("numerics") for difference in result.findings)
    assert all(min(difference.gaps) < 0.2 for difference in result.findings if not difference.truncation_differs)
    explained = result.findings[0]
    assert explained.explained
    assert not replace(explained, noise=explained.logit_difference / 5).explained
    wrong = replace(explained, reproduced=False)
    assert not wrong.explained
    assert "does not give the recorded tokens" in wrong.reason


def test_a_memory_that_was_cut_wrongly_is_a_bug() -> None:
    result = run(Stale(LAW))
    assert len(result.unexplained) > 5
    assert not any("numerics" in difference.reason for difference in result.unexplained)


def test_answers_under_a_grammar_are_replayed_under_it() -> None:
    class Noisier(Noisy):
        noise = 0.4

    words = "\n".join("".join(letters) for letters in product("abcdef", repeat=4))
    sampling = SamplingParams(temperature=0.8, grammar=words)
    target = Noisier(LAW)
    under = [replace(case, settings=replace(case.settings, sampling=sampling)) for case in cases([0.8])]
    result = audit(sessions(target), target, ByteTokenizer(), under)
    assert result.findings
    assert result.unexplained == []


def test_a_replay_gives_the_logits_of_the_recorded_passes() -> None:
    class Watched(Noisy):
        seen: list[NDArray[np.float32]] = []  # noqa: RUF012

        def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
            logits = super().advance(tokens, rows)
            if rows:
                self.seen.append(logits.copy())
            return logits

    target = Watched(LAW)
    recording = record(sessions(target)(Settings(4, "model", max_tokens=30)), PROMPTS[0])
    seen = target.seen[: len(recording.passes)]
    places = [(row, offset) for row, each in enumerate(recording.passes) for offset in range(len(each.emitted))]
    assert len(recording.passes) < len(places)
    for place, (row, offset) in enumerate(places):
        assert replayed(target, recording, place).tolist() == seen[row][offset].tolist()


def test_a_prompt_is_read_in_the_pieces_in_which_replays_read_it() -> None:
    """What it shares with the prompt before would stay otherwise, and kernels give a longer piece other logits."""
    target = ScriptedModel(LAW)
    held: list[int] = []

    def session_for(settings: Settings) -> Session:
        if settings.k == 0:
            held.append(target.length)
        return sessions(target)(settings)

    audit(session_for, target, ByteTokenizer(), cases())
    assert held == [0] * len(held)
    assert len(held) == len(PROMPTS) * 2


def test_the_noise_of_reading_is_that_of_the_model() -> None:
    target = Noisy(LAW)
    recording = record(sessions(target)(Settings(0, "none", max_tokens=30)), PROMPTS[0])
    tokens = [*recording.prompt, *recording.tokens]
    noise, wild = reading_noise(read_both_ways(target, tokens, len(recording.prompt) - 1, 5))
    assert (len(noise), wild) == (31, None)
    assert 0.04 < float(np.median(noise)) < 0.2
