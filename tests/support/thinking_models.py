"""Model files that think before they answer: each token decides what follows it.

Without attention the hidden state is that of the last token alone, so the output matrix is a table of successors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from support.tiny_models import SPECIALS, begin_model, byte_vocabulary, end_model

QWEN: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['reasoning_content'] and loop.last %}<think>{{ message['reasoning_content'] }}</think>{% endif %}"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if tools %}{{ tools | tojson }}<tool_call></tool_call>{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %}"
)
"""A chat template with Qwen 3's switch, which gives no earlier thought to the model."""

GPT_OSS: Final = (
    "{% set effort = reasoning_effort if reasoning_effort is defined else 'medium' %}"
    "<|start|>system<|message|>Reasoning: {{ effort }}\n# Valid channels: analysis, commentary, final.<|end|>"
    "{% for message in messages %}<|start|>{{ message.role }}"
    "{% if message.role == 'assistant' %}{% if message.thinking and message.tool_calls %}"
    "<|channel|>analysis<|message|>{{ message.thinking }}<|end|><|start|>assistant{% endif %}"
    "<|channel|>final{% endif %}"
    "<|message|>{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
"""A chat template that is built like gpt-oss's."""

HARMONY: Final = ("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>")
_TAGS: Final = ("<think>", "</think>")
_END: Final = "<|im_end|>"
_SURE: Final = 24.0
_WIDTH: Final = 384
_THOUGHT: Final = (
    " Let me see what is asked here first of all before any words come out so that it will be right and short"
)
_ANSWER: Final = "Yes I think you said this quite well"

Successors = Mapping[str, Mapping[str, float]]
"""For each token what may follow it, with its probability."""


class ThinkingModels(NamedTuple):
    """A target that thinks, and a draft that agrees with it most of the time."""

    target: Path
    draft: Path


def write_successors(
    path: Path, successors: Successors, words: Sequence[str], *, template: str, controls: Sequence[str]
) -> Path:
    """A llama model that says what `successors` give, over bytes, `controls` and `words`."""
    tokens = [*byte_vocabulary(), *controls, *dict.fromkeys(words)]
    writer = begin_model(
        path,
        "llama",
        tokens=tokens,
        layers=1,
        width=_WIDTH,
        n_ctx=2048,
        template=template,
        controls=[*SPECIALS, *controls],
    )
    writer.add_feed_forward_length(8)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_rope_dimension_count(_WIDTH // 4)
    output = np.zeros((len(tokens), _WIDTH), np.float32)
    for token, followers in successors.items():
        for follower, p in followers.items():
            output[tokens.index(follower), tokens.index(token)] = (_SURE + math.log(p)) / math.sqrt(_WIDTH)
    writer.add_tensor("token_embd.weight", np.eye(len(tokens), _WIDTH, dtype=np.float32))
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(_WIDTH, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((_WIDTH, _WIDTH), np.float32))
    writer.add_tensor("blk.0.ffn_gate.weight", np.zeros((8, _WIDTH), np.float32))
    writer.add_tensor("blk.0.ffn_up.weight", np.zeros((8, _WIDTH), np.float32))
    writer.add_tensor("blk.0.ffn_down.weight", np.zeros((_WIDTH, 8), np.float32))
    return end_model(writer, path)


def write_thinking_pair(folder: Path) -> ThinkingModels:
    """A pair whose target thinks for about 20 tokens unless the template closes the thought.

    Each word of the target may also be left out. The draft leaves out more.
    """
    thought, answer = _words(_THOUGHT), _words(_ANSWER)
    chain = ["Ċ", "<think>", *thought, "</think>", *answer, _END]
    files = (folder / "thinker.gguf", folder / "thinker-draft.gguf")
    for path, leaps in zip(files, (0.15, 0.4), strict=True):
        successors = _leaping(chain, leaps, within=(thought, answer))
        write_successors(path, successors, [*thought, *answer], template=QWEN, controls=_TAGS)
    return ThinkingModels(*files)


def write_harmony_pair(folder: Path) -> ThinkingModels:
    """The same in harmony's notation. Only a grammar ends the thought: the channel does not depend on what was said."""
    thought, answer = _words(_THOUGHT), _words(_ANSWER)
    names = ["assistant", "analysis", "final"]
    chain = ["<|message|>", *thought, "<|end|>", "<|start|>", "assistant", "<|channel|>", "analysis", "<|message|>"]
    files = (folder / "harmony.gguf", folder / "harmony-draft.gguf")
    for path, leaps in zip(files, (0.15, 0.4), strict=True):
        successors = dict(_leaping(chain, leaps, within=(thought,)))
        successors |= {"t": {"<|channel|>": 1.0}, "<|channel|>": {"analysis": 0.9, "final": 0.1}}
        successors |= {"final": {"<|message|>": 1.0}}
        words = [*names, *thought, *answer]
        write_successors(path, successors, words, template=GPT_OSS, controls=HARMONY)
    return ThinkingModels(*files)


def _words(text: str) -> list[str]:
    """Tokens for the words of a text, with the space before each as the vocabulary writes it."""
    return [word for word in text.replace(" ", " Ġ").split(" ") if word]


def _leaping(chain: Sequence[str], leaps: float, *, within: Sequence[Sequence[str]]) -> Successors:
    """Each token is followed by the next one; within a list the next may be left out with this probability."""
    successors: dict[str, dict[str, float]] = {token: {follower: 1.0} for token, follower in pairwise(chain)}
    for words in within:
        for token, follower, after in zip(words, words[1:], words[2:], strict=False):
            successors[token] = {follower: 1 - leaps, after: leaps}
    return successors
