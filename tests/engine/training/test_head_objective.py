"""Which drafts a head is trained on, and against which rows."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from torch.nn import functional

from specchat_engine.training.gguf import tensor_weights
from specchat_engine.training.head_files import write_eagle
from specchat_engine.training.heads import DRAFTED, EagleHead, divergence, drafted_places, head_objective
from specchat_engine.training.model import ModelConfig
from specchat_engine.training.pupils import overlap, usual_sizes
from specchat_engine.training.teacher import Lesson, pack_lessons

CONFIG = ModelConfig(vocab_size=20, width=16, layers=1, heads=2, kv_heads=1, feed_forward=16, context=32)


def lesson(ids: list[int], learned_from: int = 0, seed: int = 0) -> Lesson:
    random = np.random.default_rng(seed)
    length = len(ids)
    return Lesson(
        ids,
        [place >= learned_from for place in range(length)],
        teacher_ids=np.tile(np.arange(4, dtype=np.int32), (length, 1)),
        teacher_log_probabilities=np.log(np.full((length, 4), 0.2)).astype(np.float16),
        states=random.standard_normal((length, 48)).astype(np.float16),
    )


def test_a_draft_stays_in_its_document_and_begins_where_there_is_a_state() -> None:
    batch = pack_lessons([[lesson([1, 2, 3, 4]), lesson([5, 6, 7])]], 8)
    assert batch.wanted.tolist() == [0, 1, 2, 4, 5]
    begun, places = drafted_places(batch, 1, 0)
    assert (begun.tolist(), places.tolist()) == ([1, 2, 5], [1, 2, 5])
    begun, places = drafted_places(batch, 1, 1)
    assert (begun.tolist(), places.tolist()) == ([1], [2])
    begun, places = drafted_places(batch, 0, 1)
    assert (begun.tolist(), places.tolist()) == ([0, 1, 4], [1, 2, 5])
    assert drafted_places(batch, 1, 3)[0].tolist() == []


def test_only_learned_tokens_have_a_loss() -> None:
    batch = pack_lessons([[lesson([1, 2, 3, 4, 5, 6], learned_from=4)]], 8)
    begun, places = drafted_places(batch, 1, 2)
    assert (begun.tolist(), places.tolist()) == ([1, 2], [3, 4])


def test_the_loss_falls_where_the_head_learns_its_teacher() -> None:
    torch.manual_seed(0)
    embedding = torch.randn(20, 16)
    head = EagleHead(CONFIG, embedding, embedding, 16, seed=1)
    batch = pack_lessons([[lesson([*range(1, 13)])]], 16)
    optimizer = torch.optim.AdamW(head.parameters(), 0.01)
    losses = []
    for _ in range(30):
        scores = head_objective(head, batch)
        optimizer.zero_grad()
        scores.loss.backward()
        optimizer.step()
        losses.append(scores.loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert len(scores.correct) == len(scores.groups) == 10


def test_tokens_that_a_head_does_not_draft_leave_their_shares_to_the_others() -> None:
    head = EagleHead(CONFIG, torch.randn(20, 16), torch.randn(20, 16), 16, seed=1)
    head.draft_only(torch.tensor([1, 3, 7]))
    assert head.own_ids(torch.tensor([[1, 0], [7, 9], [19, 3], [-1, -1]])).tolist() == [
        [0, -1],
        [2, -1],
        [-1, 1],
        [-1, -1],
    ]
    taught = torch.tensor([[0.5, 0.2, 0.1999, 0.1]]).log()
    ids = head.own_ids(torch.tensor([[3, 9, 1, 7]]))
    logits = torch.zeros(1, 3, requires_grad=True)
    for _ in range(300):
        (slope,) = torch.autograd.grad(divergence(logits, ids, taught), logits)
        logits = (logits - slope).detach().requires_grad_()
    torch.testing.assert_close(logits.softmax(-1), torch.tensor([[0.25, 0.625, 0.125]]), atol=1e-3, rtol=0.0)
    assert overlap(logits.detach(), ids, taught) == pytest.approx(0.8, abs=2e-3)


def test_later_tokens_are_trained_on_the_heads_own_output() -> None:
    embedding = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
    head = EagleHead(CONFIG, embedding, embedding, 16, seed=1)
    batch = pack_lessons([[lesson([*range(1, 13)], seed=1)]], 16)
    other = pack_lessons([[lesson([*range(1, 13)], seed=1)]], 16)
    other.states[:, 5:] = 9.0
    one, two = (
        [*head.unrolled(each.ids, each.positions, each.documents, each.states, DRAFTED)] for each in (batch, other)
    )
    for step in range(DRAFTED):
        torch.testing.assert_close(one[step][:, :6], two[step][:, :6])
    assert not torch.allclose(one[0][:, 6], two[0][:, 6])


def test_a_head_whose_states_were_scaled_is_written_for_states_as_they_are(tmp_path: Path) -> None:
    head = EagleHead(CONFIG, torch.randn(20, 16), torch.randn(20, 16), 16, seed=1)
    states = torch.randn(3, 48)
    head.adapt(torch.linspace(0.1, 9.0, 48))
    write_eagle(tmp_path / "head.gguf", head, (0, 1, 2), 16, "a head", "F32")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "head.gguf").tensors}
    torch.testing.assert_close(functional.linear(states, tensor_weights(tensors["fc.weight"])), head.own_width(states))
    assert not torch.allclose(functional.linear(states, head.fuse.weight), head.own_width(states))


def test_the_sizes_of_states_are_those_of_most_tokens_also_of_short_lessons() -> None:
    lessons = [lesson([1, 2, 3], seed=seed) for seed in range(60)]
    for one in lessons:
        one.states[:, 5] *= 100
    lessons[0].states[0] = 9_000  # the first token of a text often has a state of its own
    sizes = usual_sizes(lessons)
    others = sizes[torch.arange(48) != 5]
    assert 50 * others.median() < sizes[5] < 200 * others.median()
    assert others.max() < 3
