"""Makes the help of the guide: its passages from the facts, and the classifier that finds the right one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate, islice
from random import Random

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from builtin_pair import copying, facts, other, python_library, stories, structured
from builtin_pair.chats import ChatSource
from builtin_pair.facts import Fact
from specchat_assets.guide import OWN, UNSURE, Index, Passage, features, is_question

Example = tuple[str, str]
"""A message and its label: the id of a fact, or `OWN` or `UNSURE`."""

_BUCKETS = 1 << 14
_ASKED, _MISTYPED, _OUTSIDE, _REMARKS = 100, 40, 8000, 4
_OWN: tuple[tuple[ChatSource, int], ...] = (
    (copying.chats, 1500),
    (structured.chats, 2000),
    (stories.chats, 2500),
    (python_library.chats, 2000),
)
_EPOCHS, _BATCH, _RATE = 5, 256, 0.03
_DROPPED, _SMOOTHING = 0.3, 0.1
"""The share of a message's features that are left out at each step, and the share of a label given to all others."""


def passages() -> list[Passage]:
    """All passages: the answer of every fact, and what the guide says if it is unsure."""
    known = [Passage(fact.id, fact.topic, fact.answer.strip()) for fact in facts.load_facts()]
    return [*known, Passage(UNSURE, "what the guide can do", other.UNSURE_ANSWER)]


def passages_text() -> str:
    """The passages as they are shipped: JSON with a line for each."""
    lines = (json.dumps(asdict(passage), ensure_ascii=False) for passage in passages())
    return "[\n" + ",\n".join(lines) + "\n]\n"


def examples(seed: int) -> list[Example]:
    """Messages with their labels: every question about the facts, many as typed in haste, tasks and other questions."""
    random = Random(f"help {seed}")
    found = [(text, fact.id) for fact in facts.load_facts() for text in _about(fact, random)]
    for source, count in _OWN:
        found += [(facts.hurried(text, random), OWN) for text in islice(_said(source, random), count)]
    found += [(text, OWN) for text in _remarks(random)]
    found += [(facts.hurried(other.refused_question(random), random), UNSURE) for _ in range(_OUTSIDE)]
    return found


def train(seed: int) -> Index:
    """Trains the classifier, in about three minutes on two cores."""
    torch.manual_seed(seed)
    known = examples(seed)
    labels = sorted({label for _, label in known})
    rows = [torch.tensor(features(text, _BUCKETS)) for text, _ in known]
    wanted = torch.tensor([labels.index(label) for _, label in known])
    weights = nn.EmbeddingBag(_BUCKETS, len(labels), mode="sum", include_last_offset=True)
    nn.init.zeros_(weights.weight)
    bias = nn.Parameter(torch.zeros(len(labels)))
    optimizer = torch.optim.Adam([*weights.parameters(), bias], lr=_RATE)
    for epoch in range(_EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * (1 - epoch / _EPOCHS)
        for batch in torch.randperm(len(rows)).tensor_split(len(rows) // _BATCH):
            scores = _scores(weights, bias, [rows[at] for at in batch.tolist()])
            loss = functional.cross_entropy(scores, wanted[batch], label_smoothing=_SMOOTHING)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    return _rounded(labels, weights.weight.detach(), bias.detach())


def _scores(weights: nn.EmbeddingBag, bias: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """The scores of messages, [messages, labels], from a part of each one's features."""
    flat = torch.cat(list(rows))
    ends = torch.tensor([0, *accumulate(len(row) for row in rows)])
    kept = (torch.rand(len(flat)) > _DROPPED).float()
    total: Tensor = weights(flat, ends, per_sample_weights=kept)
    count = torch.zeros(len(rows)).index_add(0, torch.repeat_interleave(ends.diff()), kept)
    return total / count.clamp(min=1).sqrt()[:, None] + bias


def _rounded(labels: Sequence[str], weights: Tensor, bias: Tensor) -> Index:
    scale = (weights.abs().amax(0) / 127).clamp(min=1e-6)
    steps = (weights / scale).round().to(torch.int8).numpy()
    return Index(labels, steps, scale.numpy().astype(np.float32), bias.numpy().astype(np.float32))


def _about(fact: Fact, random: Random) -> Iterator[str]:
    yield from facts.plain_questions(fact)
    yield from (facts.ask(fact, random) for _ in range(_ASKED))
    yield from (facts.mistyped(facts.ask(fact, random), random) for _ in range(_MISTYPED))
    yield from [fact.topic] * 5
    if "```" not in fact.answer:
        yield from re.split(r"(?<=[.]) ", fact.answer) * 5


def _said(source: ChatSource, random: Random) -> Iterator[str]:
    """The messages of chats that are looked up at all."""
    for chat in source(random):
        yield from (turn.user for turn in chat.turns if is_question(turn.user))


def _remarks(random: Random) -> list[str]:
    """Small talk, and short questions that only the answer before them explains, unless they ask about a fact.

    Each comes several times, as often with a typing error as without.
    """
    known = {question.lower().strip(" ?.!") for fact in facts.load_facts() for question in fact.questions}
    follow_ups = [question for fact in facts.load_facts() for question, _ in fact.follow_ups if len(question) < 16]
    typed = [
        text
        for remark in (*other.remarks(), *follow_ups)
        for _ in range(_REMARKS)
        for text in (remark, facts.mistyped(remark, random))
    ]
    return [text for text in typed if text.lower().strip(" ?.!") not in known]
