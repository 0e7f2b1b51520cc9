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
from builtin_pair.other import SmallTalk
from specchat_assets.guide import OWN, UNSURE, Index, Passage, features, is_question

Example = tuple[str, str]
"""A message and its label: the id of a fact, or `OWN` or `UNSURE`."""

_BUCKETS = 1 << 14
_ASKED, _MISTYPED, _OUTSIDE, _STORIES, _TASKS, _REMARKS = 100, 40, 12000, 2500, 3, 4
_OWN: tuple[tuple[ChatSource, int], ...] = (
    (copying.chats, 1500),
    (structured.chats, 2000),
    (stories.chats, 1500),
    (python_library.chats, 2000),
)
_OPENERS = (
    "Sorry to bother you, but ", "Forgive me if this is obvious: ", "Maybe a silly question, but ", "dumb question: ",
    "Excuse me please, ", "Pardon, ", "Dear assistant, ", "Dear guide, ", "Hello sir, ", "Good afternoon, ", "yo ",
    "hey there, quick one: ", "ok so ", "btw ", "real quick ", "so basically ", "Wait, ", "Hold on, ", "Let me ask: ",
    "I have used this for ten minutes and ", "I just installed this and ", "I am a bit confused: ", "Question, ",
    "I don't understand something. ", "My boss wants to know: ", "For my thesis I have to write down: ", "um ",
    "I'm coming from LM Studio. ", "I normally use ollama, so ", "I saw this on the screen: ", "I looked around and ",
    "In the app it says something, and I ask myself: ", "can you tell me ", "could someone tell me ", "explain me ",
    "would you be so kind to tell me ", "is it possible that you explain ", "please be so kind and explain me: ",
    "I want to ask ", "I would need to know, ", "Please advise: ", "kindly tell, ", "tell me pls ", "explain: ",
    "what I want to know is ", "i was wondering ", "One thing I never got: ", "I searched and found nothing. ",
    "Here is something I keep asking myself. ", "Sorry my English is bad. ", "Sorry for my english, ", "please ",
    "not sure how to ask this, ", "Out of interest, ", "guys, ",
    "I have read about it but did not get it. ", "Can you say me ", "Could you give me a hint: ",
    "My friend says you know this: ", "I try to learn this stuff. ", "First time here. ", "So I was playing around, ",
)  # fmt: skip
_CLOSERS = (
    " in this app", " in here", " in this program", " on my screen", " exactly", " actually", " please, I am lost",
    " (beginner)", ", thank you very much in advance", " if I may ask", " or not", " for a newbie", " in simple words",
    " many thanks", " asap", " - sorry if asked before", ", could you clarify", " because I am confused", ", right?",
    " since I just started", " or am I wrong", " and how does it help me", " or what", " mate", " sir", " lol", " ???",
    ", can you clear this up for me", " I cannot find it anywhere", " that you have here",
    " and where do I find more about it", " Thanks a lot for your answer.", " It would help me much.", " again",
    " as they say", " in your opinion", " I forgot", " somebody told me about it",
    " here in the window", " in general", " for me",
)  # fmt: skip
"""Words around a question that say nothing about it. All labels get them, so that none learns them."""

_OPENED, _CLOSED, _LOWERED = 0.35, 0.25, 0.35
_SUBJECT = re.compile(
    r"(?:\bthe )?\b(?:speculative decoding|speculation|drafting|specchat|app|program)\b", re.IGNORECASE
)
_POINTERS = ("it", "it", "this", "that")
_POINTED_WORDS = 3
"""What a conversation is about, what stands for it there, and how many other words such a question has at least."""

_RUNS, _EPOCHS, _BATCH, _RATE = 3, 8, 256, 0.03
_DROPPED, _SMOOTHING = 0.5, 0.1
"""The share of a message's features that are left out at each step, and the share of a label given to all others."""


def passages() -> list[Passage]:
    """All passages: the answers of facts and to small talk, and what the guide says if it is unsure."""
    known = [Passage(fact.id, fact.topic, fact.answer.strip()) for fact in facts.load_facts()]
    known += [Passage(name, "small talk", talk.answer) for name, talk in _talks().items()]
    return [*known, Passage(UNSURE, "what the guide can do", other.UNSURE_ANSWER)]


def passages_text() -> str:
    """The passages as they are shipped: JSON with a line for each."""
    lines = (json.dumps(asdict(passage), ensure_ascii=False) for passage in passages())
    return "[\n" + ",\n".join(lines) + "\n]\n"


def examples(seed: int) -> list[Example]:
    """Messages with their labels: every question about the facts, many as typed in haste, tasks and other questions."""
    random = Random(f"help {seed}")
    found = [(text, fact.id) for fact in facts.load_facts() for text in _about(fact, random)]
    found += [(text, name) for name, talk in _talks().items() for text in _greeted(talk, random)]
    for source, count in _OWN:
        found += [(_wrapped(facts.hurried(text, random), random), OWN) for text in islice(_said(source, random), count)]
    requests = islice(filter(is_question, stories.requests(random)), _STORIES)
    found += [(_wrapped(facts.hurried(text, random), random), OWN) for text in requests]
    tasks = (other.DATA / "more_tasks.txt").read_text("utf-8").splitlines() * _TASKS
    found += [(_wrapped(facts.hurried(text, random), random), OWN) for text in tasks]
    found += [(text, OWN) for text in _remarks(random)]
    outside = (facts.hurried(other.refused_question(random), random) for _ in range(_OUTSIDE))
    found += [(_wrapped(text, random), UNSURE) for text in outside]
    return found


def train(seed: int) -> Index:
    """Trains the classifier, in about five minutes on two cores. It is the mean of several, which errs less often."""
    labels, weights, biases = zip(*(_trained(seed + run) for run in range(_RUNS)), strict=True)
    return _rounded(labels[0], torch.stack(weights).mean(0), torch.stack(biases).mean(0))


def _trained(seed: int) -> tuple[list[str], Tensor, Tensor]:
    """The labels, and the weights [buckets, labels] and bias [labels] of one classifier."""
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
    return labels, weights.weight.detach(), bias.detach()


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
    yield from (_wrapped(facts.ask(fact, random), random) for _ in range(_ASKED))
    yield from (facts.mistyped(_wrapped(facts.ask(fact, random), random), random) for _ in range(_MISTYPED))
    yield from (facts.hurried(text, random) for text in _pointed(facts.plain_questions(fact), random))
    yield from [fact.topic] * 5
    if "```" not in fact.answer:
        yield from re.split(r"(?<=[.]) ", fact.answer) * 5


def _pointed(questions: Sequence[str], random: Random) -> Iterator[str]:
    """The questions that name the subject of the whole help, with `it` in its place, unless too little is left."""
    for question in questions:
        text = _SUBJECT.sub(lambda _: random.choice(_POINTERS), question, count=1)
        if text != question and facts.num_content_words(text) >= _POINTED_WORDS:
            yield text


def _wrapped(text: str, random: Random) -> str:
    if random.random() < _OPENED:
        text = random.choice(_OPENERS) + text[:1].lower() + text[1:]
    if random.random() < _CLOSED:
        text = text.rstrip("?.! ") + random.choice(_CLOSERS)
    return text.lower() if random.random() < _LOWERED else text


def _talks() -> dict[str, SmallTalk]:
    return {f"talk-{number}": talk for number, talk in enumerate(other.small_talk())}


def _greeted(talk: SmallTalk, random: Random) -> Iterator[str]:
    yield from talk.questions
    yield from (facts.hurried(random.choice(talk.questions), random) for _ in range(_ASKED))
    yield from (facts.mistyped(random.choice(talk.questions), random) for _ in range(_MISTYPED))


def _said(source: ChatSource, random: Random) -> Iterator[str]:
    """The messages of chats that are looked up at all."""
    for chat in source(random):
        yield from (turn.user for turn in chat.turns if is_question(turn.user))


def _remarks(random: Random) -> list[str]:
    """Short questions that only the answer before them explains, unless they ask about a fact.

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
