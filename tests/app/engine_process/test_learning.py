"""The engine's process records turns if the user wants it, and drafts with what was adopted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.engine_process.conftest import HELLO, OPTIONS, SHORT, answer, last_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import Generate, Loaded, Notice
from specchat.learning import Learned, Learning
from specchat_engine import Round
from support.tiny_models import TinyModels


def adopt_a_copy(learned: Learned, draft: Path) -> None:
    """Adopts a draft that drafts as the original does."""
    new = learned.folder / "new.gguf"
    shutil.copyfile(draft, new)
    learned.adopt(new, 0.5, 0.6)


def test_turns_are_recorded_from_the_answer_after_the_switch_on(own: LocalClient, tiny_models: TinyModels) -> None:
    plain = text_of(answer(own))
    assert not Learning().folder.exists()
    Learning().turn(on=True)
    assert text_of(answer(own)) == plain
    learned = Learning().of(tiny_models.target, tiny_models.draft)
    (turn,) = learned.recorded.turns()
    assert len(turn.best) == 8
    assert "8 tokens recorded" in learned.summary()
    Learning().turn(on=False)
    list(answer(own))
    assert len([*learned.recorded.turns()]) == 1


def test_an_adopted_draft_drafts_beside_the_one_that_it_came_from_until_that_is_undone(
    own: LocalClient, tiny_models: TinyModels
) -> None:
    Learning().turn(on=True)
    plain = text_of(answer(own))
    learned = Learning().of(tiny_models.target, tiny_models.draft)
    adopt_a_copy(learned, tiny_models.draft)
    events = list(answer(own))
    assert text_of(events) == plain
    (notice,) = [event.text for event in events if isinstance(event, Notice)]
    assert "The draft model has learned, and drafts as model-2: " in notice
    assert not [event for event in answer(own) if isinstance(event, Notice)]
    again = last_of(Loaded, own.load(tiny_models.target, tiny_models.draft, OPTIONS))
    assert again.draft is not None
    assert again.draft.path == str(tiny_models.draft)
    assert [info.path for info in again.further] == [str(learned.current)]
    assert "model-2" in again.drafters
    learned.back()
    assert text_of(answer(own)) == plain


def test_of_a_branch_the_given_tokens_are_not_learned(own: LocalClient, tiny_models: TinyModels) -> None:
    Learning().turn(on=True)
    list(answer(own))
    learned = Learning().of(tiny_models.target, tiny_models.draft)
    (whole,) = learned.recorded.turns()
    given = tuple(whole.ids[whole.prompt_length :][:3].tolist())
    list(own.generate(Generate(HELLO, seed=7, settings=SHORT, prefix=given)))
    _, branch = learned.recorded.turns()
    assert branch.prompt_length == whole.prompt_length + 3
    np.testing.assert_array_equal(branch.ids, whole.ids)
    np.testing.assert_array_equal(branch.best, whole.best[3:])


def test_what_was_accepted_of_the_original_and_of_the_learned_draft_is_kept_by_kind(
    own: LocalClient, tiny_models: TinyModels
) -> None:
    Learning().turn(on=True)
    settings = replace(SHORT, drafter="model", max_tokens=40)
    events = list(answer(own, settings))
    learned = Learning().of(tiny_models.target, tiny_models.draft)
    (first,) = learned.history.alphas
    assert (first.kind, first.learned, first.tokens) == ("prose", False, 40)
    rounds = [event for event in events if isinstance(event, Round)]
    accepted = sum(event.num_accepted for event in rounds)
    assert first.num_accepted_tokens == accepted
    assert first.num_rejected_tokens > 0
    adopt_a_copy(learned, tiny_models.draft)
    list(answer(own, replace(SHORT, k=0)))
    list(answer(own, replace(settings, drafter="model-2")))
    by_draft = {entry.learned: entry for entry in learned.history.alphas}
    assert by_draft[True].tokens == 88
    assert by_draft[True].num_accepted_tokens == accepted, "the copy drafts as the original did"
    learned.back()
    list(answer(own, replace(SHORT, k=0)))
    before = by_draft[False].num_tested_tokens
    list(answer(own, replace(settings, drafter="model-2")))
    again = {entry.learned: entry for entry in learned.history.alphas}
    assert again[True] == by_draft[True]
    assert again[False].num_tested_tokens > before, "what drafts as model-2 is the original again"
