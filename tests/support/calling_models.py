"""A tiny model that always answers a message in the same way: with a call of a tool, or with one sentence.

The next token depends on the last one alone, and the chat template decides which letter is the last one of the prompt.
Each answer is a token of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from support.thinking_models import write_successors

DONE = "That was the call."
"""The answer after a result."""

HELLO = "Hello, what shall I call?"
"""The answer to a message that asks for no call."""

_TEMPLATE = """
{%- for tool in tools or [] %}<|im_start|>{{ tool['function']['name'] }}<|im_end|>
{% endfor %}
{%- for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'][:200] }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call['function']['name'] }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if messages[-1]['role'] == 'tool' %}A{% WORDS %}{% else %}B{% endif %}{% endif %}"""


def call_text(name: str, /, **arguments: object) -> str:
    """A call as Hermes models write it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def write_calling_model(path: Path, answers: Mapping[str, str], written: Mapping[str, str] | None = None) -> Path:
    """Writes a model that gives one of these answers to a message with the word for it.

    `written` has the texts that follow tokens which a grammar dictated.
    """
    letters = [chr(ord("A") + number) for number in range(len(answers) + 2)]
    words = [
        f"elif '{word}' in messages[-1]['content'] %}}{letter}"
        for word, letter in zip(answers, letters[2:], strict=True)
    ]
    template = _TEMPLATE.replace("{% WORDS %}", "".join(f"{{% {word}" for word in words))
    texts = [text.replace(" ", "Ġ").replace("\n", "Ċ") for text in (DONE, HELLO, *answers.values())]
    successors = {letter: {text: 1.0} for letter, text in zip(letters, texts, strict=True)}
    successors |= {text: {"<|im_end|>": 1.0} for text in texts}
    for token, text in (written or {}).items():
        successors[token] = {text: 1.0}
        texts.append(text)
    return write_successors(path, successors, texts, template=template, controls=())
