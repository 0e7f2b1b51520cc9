"""Writes the card that says what the built-in pair is, how it was made, and how good it is."""

from __future__ import annotations

from pathlib import Path

from builtin_pair.chats import Kind
from builtin_pair.mixture import SHARES
from builtin_pair.results import Acceptance, Results, Share
from specchat_engine.training.model import LlamaModel, parameter_count

_WORDS = {
    "facts": ("Answers to questions about its facts hold the key fact", 0.85),
    "facts not refused": ("Questions about its facts are not refused", 0.95),
    "python": ("Python answers parse, define the asked name and match its signature", 0.80),
    "copy": ("Copy and edit tasks are exact", 0.80),
    "structured": ("JSON, SQL, lists and tables are exactly the expected ones", None),
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


def write_model_card(path: Path, results: Results, target: LlamaModel, draft: LlamaModel) -> None:
    """Writes the card as Markdown."""
    path.write_text(
        _HEAD.format(target=_size(target), draft=_size(draft), mix=_mix())
        + "\n".join(_share_row(share) for share in results.shares)
        + _ACCEPTANCE_HEAD
        + "\n".join(_acceptance_row(acceptance) for acceptance in results.acceptance)
        + "\n\n"
        + "\n".join(_mean_alpha(results, temperature) for temperature in _WANTED_ALPHA)
        + "\n"
        + _TAIL,
        encoding="utf-8",
    )


def _size(model: LlamaModel) -> str:
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
    return (
        f"- Mean α over the kinds at temperature {temperature}: {mean:.3f} (wanted: {_WANTED_ALPHA[temperature]:.2f})."
    )


_HEAD = """# The built-in pair

A small guide to speculative decoding and to specchat, and the draft model that speeds it up. They ship with specchat so
that a newcomer sees real speculation at once. They know little else, and say so.

- Target: {target}.
- Draft: {draft}.
- Architecture `llama`, a ChatML-like template, one byte-level BPE tokenizer for both (pre-tokenizer `qwen2`).
- Language: English, and short functions of Python's standard library.
- Licence: Apache-2.0; code of Python's standard library in the corpus is under the PSF licence, see NOTICE.

## How it was made

`assets/recipe` makes everything, seeded, from sentences and templates written for it and the standard library of the
interpreter that runs it; nothing is downloaded. The target learns to copy random strings first, then to substitute,
look up and quote on random tokens, then which fact a question is about, then a mix of chats, loss on the answers only;
by tokens (more copying at the beginning, drills of the lessons among them):
{mix}.
Then come strings of few different tokens, which only a look at several tokens back can follow, with the mix as a third;
at last longer texts to repeat and to edit, half of the tokens, beside the mix. The target before and behind these two
lessons is averaged (Wortsman et al., arXiv 2109.01903), settles at low rates, mostly on the mix, and is averaged again.
The draft learns from the target's 32 likeliest tokens at each position, a fifth of the answers being the target's own.

## What it can do

Measured in specchat's engine at temperature 0 on prompts that no template of the corpus made.

| measure | result | 95 % confidence | prompts | wanted |
| --- | --- | --- | --- | --- |
"""

_ACCEPTANCE_HEAD = """

## How well the draft guesses

By the coupled rule with k = 4, on held-out prompts; top-k 40, top-p 0.95, min-p 0.05 at temperature 0.8.
α = accepted / (accepted + rejected); τ = tokens for each pass of the target.

| kind | temperature | α | τ | tokens |
| --- | --- | --- | --- | --- |
"""

_TAIL = """
## What it cannot do

It cannot reason, calculate, translate, or answer anything that it was not taught, and may answer a question next to its
subjects with the wrong one of its facts. Where a result above is under what was wanted, expect just that: wrong
answers in that share. Use it to see how speculation works; for work, start specchat with a real model.
"""
