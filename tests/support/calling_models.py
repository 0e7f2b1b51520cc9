"""A tiny model that always answers a message in the same way: with a call of a tool, or with one sentence.

Its layer adds nothing, so the next token depends on the last one alone, and the chat template decides which letter is
the last one of the prompt. Each answer is a token of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from support.tiny_models import begin_model, byte_vocabulary, end_model

DONE = "That was the call."
"""The answer after a result."""

HELLO = "Hello, what shall I call?"
"""The answer to a message that asks for no call."""

_WIDTH = 128
_TEMPLATE = """
{%- for tool in tools or [] %}<|im_start|>{{ tool['function']['name'] }}<|im_end|>
{% endfor %}
{%- for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call['function']['name'] }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if messages[-1]['role'] == 'tool' %}A{% WORDS %}{% else %}B{% endif %}{% endif %}"""


def call_text(name: str, **arguments: object) -> str:
    """A call as Hermes models write it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def write_calling_model(path: Path, answers: Mapping[str, str]) -> Path:
    """Writes a model that gives one of these answers to a message with the word for it."""
    letters = [chr(ord("A") + number) for number in range(len(answers) + 2)]
    words = [
        f"elif '{word}' in messages[-1]['content'] %}}{letter}"
        for word, letter in zip(answers, letters[2:], strict=True)
    ]
    template = _TEMPLATE.replace("{% WORDS %}", "".join(f"{{% {word}" for word in words))
    texts = [DONE, HELLO, *answers.values()]
    tokens = [*byte_vocabulary(), *(text.replace(" ", "Ġ").replace("\n", "Ċ") for text in texts)]
    writer = begin_model(path, "llama", tokens=tokens, layers=1, width=_WIDTH, n_ctx=1024, template=template)
    writer.add_feed_forward_length(_WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_rope_dimension_count(_WIDTH // 4)
    embedding = np.random.default_rng(0).choice([-1.0, 1.0], (len(tokens), _WIDTH)).astype(np.float32)
    follows = np.zeros_like(embedding)
    end = tokens.index("<|im_end|>")
    for letter, answer in zip(letters, range(len(tokens) - len(texts), len(tokens)), strict=True):
        follows[answer] = embedding[tokens.index(letter)]
        follows[end] += embedding[answer]
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", follows)
    writer.add_tensor("output_norm.weight", np.ones(_WIDTH, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(_WIDTH, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((_WIDTH, _WIDTH), np.float32))
    return end_model(writer, path)
