"""Writes the model card of the built-in pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from builtin_pair.chats import Kind
from builtin_pair.help_search import passages
from builtin_pair.mixture import SHARES
from specchat_engine.training.model import TorchLlama


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `count` answers were right."""

    measure: str
    right: int
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of Wilson (1927)."""
        z = 1.96
        share = self.right / self.count
        middle = share + z * z / (2 * self.count)
        spread = z * math.sqrt(share * (1 - share) / self.count + z * z / (4 * self.count**2))
        scale = 1 + z * z / self.count
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The outcomes of the drafted tokens and the rounds, for prompts of one kind at one temperature."""

    kind: str
    temperature: float
    accepted: int
    rejected: int
    emitted: int
    passes: int

    @property
    def alpha(self) -> float:
        """The share of compared drafted tokens that were accepted: accepted / (accepted + rejected)."""
        return self.accepted / max(1, self.accepted + self.rejected)

    @property
    def block_efficiency(self) -> float:
        """Emitted tokens per target pass."""
        return self.emitted / max(1, self.passes)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the model card reports."""

    shares: tuple[Share, ...]
    acceptance: tuple[Acceptance, ...]


_WORDS = {
    "facts": ("Answers to questions about its facts contain the key fact", 0.85),
    "facts not refused": ("Questions about its facts are answered, not refused", 0.95),
    "python": ("Python answers parse, define the requested name and match its signature", 0.80),
    "copy": ("Copy and edit tasks are exact", 0.80),
    "structured": ("JSON, SQL, lists and tables are exact", None),
    "refusals": ("Questions outside its subjects are refused", None),
}
_KINDS: dict[Kind, str] = {
    "copy": "copy and edit tasks",
    "facts": "facts",
    "python": "Python",
    "structured": "JSON, SQL, lists and tables",
    "story": "stories",
    "other": "refusals, small talk and second turns",
}
_WANTED_ALPHA = {0.0: 0.75, 0.8: 0.70}


def write_model_card(path: Path, results: Results, target: TorchLlama, draft: TorchLlama) -> None:
    """Writes the card as Markdown."""
    path.write_text(
        _HEAD.format(target=_size(target), draft=_size(draft), mix=_mix(), passages=len(passages()))
        + "\n".join(_share_row(share) for share in results.shares)
        + _ACCEPTANCE_HEAD
        + "\n".join(_acceptance_row(acceptance) for acceptance in results.acceptance)
        + "\n\n"
        + "\n".join(_mean_alpha(results, temperature) for temperature in _WANTED_ALPHA)
        + "\n"
        + _TAIL,
        encoding="utf-8",
    )


def _size(model: TorchLlama) -> str:
    config = model.config
    return (
        f"{parameter_count(model) / 1e6:.1f} M parameters: width {config.width}, {config.layers} layers, "
        f"{config.heads} heads of which {config.kv_heads} key/value, feed-forward {config.feed_forward}, "
        f"context {config.context}, tied embedding of {config.vocab_size} entries"
    )


def _mix() -> str:
    return ", ".join(f"{share:.0%} {_KINDS[kind]}" for kind, share in SHARES.items())


def _share_row(share: Share) -> str:
    words, wanted = _WORDS[share.measure]
    low, high = share.interval
    aim = "" if wanted is None else f"≥ {wanted:.0%}"
    value = share.right / share.count
    return f"| {words} | {value:.1%} | {low:.1%} to {high:.1%} | {share.count} | {aim} |"


def _acceptance_row(acceptance: Acceptance) -> str:
    return (
        f"| {acceptance.kind} | {acceptance.temperature} | {acceptance.alpha:.3f} | "
        f"{acceptance.block_efficiency:.2f} | {acceptance.emitted} |"
    )


def _mean_alpha(results: Results, temperature: float) -> str:
    values = [one.alpha for one in results.acceptance if one.temperature == temperature]
    mean = sum(values) / len(values)
    return f"- Mean α over the kinds at temperature {temperature}: {mean:.3f} (goal: {_WANTED_ALPHA[temperature]:.2f})."


_HEAD = """# The built-in pair

A small model that answers questions about speculative decoding and specchat, and the draft model that speeds it up.
They ship with specchat so that you can see real speculation at once. They know little else, and say so.

- Target: {target}.
- Draft: {draft}.
- Heads for the target, which draft from its hidden states: EAGLE-3 (2.6 M parameters) and an MLPSpeculator (2.3 M).
- Architecture `llama`, a ChatML-like template, one byte-level BPE tokenizer for both (pre-tokenizer `qwen2`).
- Language: English, and short functions of Python's standard library.
- Licence: Apache-2.0. Code of Python's standard library in the corpus is under the PSF licence; see NOTICE.

## How it was made

`assets/recipe` makes everything from a seed, hand-written sentences and templates, and the standard library of the
Python that runs it. Nothing is downloaded. The target first learns to copy random strings, then to substitute, look up
and quote random tokens, and then which fact a question is about. A mix of chats follows, with loss on the answers only.
It contains drills of the earlier lessons, and more copying at the beginning. Its shares of the tokens:
{mix}.
Two more lessons follow. In the first, 70 % of the tokens are strings of few different tokens, which can only be copied
by looking at several previous tokens. In the second, 40 % are longer texts to repeat and edit, and 10 % such strings.
The rest is the mix. The weights before and after these two lessons are averaged (Wortsman et al., arXiv 2109.01903),
trained at low rates, mostly on the mix, and averaged again. The draft learns from the target's 32 likeliest tokens at
each position. The target itself wrote a fifth of the answers.

## Help

The target is too small to find the right fact among two hundred by itself. In the app a linear classifier on pieces of
words looks the question up among {passages} passages, and the prompt shows the one that it finds to the target, which
has learned to repeat it. Under such an answer stands `from the help:` and its topic. Where the classifier is unsure,
the passage says what the guide can do. Tasks, stories and longer texts go to the target as they are.

## What it can do

Measured with specchat's engine at temperature 0, without the help, on prompts that no template of the corpus produces.

| measure | result | 95 % confidence | prompts | goal |
| --- | --- | --- | --- | --- |
"""

_ACCEPTANCE_HEAD = """

## Acceptance of the draft

Measured with the coupled rule and k = 4 on held-out prompts. At temperature 0.8: top-k 40, top-p 0.95, min-p 0.05.
α = accepted / (accepted + rejected); τ = emitted tokens per target pass.

| kind | temperature | α | τ | tokens |
| --- | --- | --- | --- | --- |
"""

_TAIL = """
## What it cannot do

It cannot reason, calculate, translate, or answer anything that it was not taught. It may answer a question close to its
subjects with the wrong fact, more often without the help. The results above say how many wrong answers to expect. Use
it to see how speculation works; for real work, start specchat with a real model.
"""


def parameter_count(model: nn.Module) -> int:
    """How many numbers a model holds, tied ones counted once."""
    return sum(weight.numel() for weight in model.parameters())
