"""The vocabulary's special tokens and the text around the turns of a chat."""

from __future__ import annotations

from builtin_pair.chats import Chat

VOCABULARY_SIZE = 4096
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END_OF_TEXT_ID, START_ID, END_ID, FIRST_PLAIN_ID = range(4)

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
"""The same text as `pieces` in Jinja, for the GGUF."""


def pieces(chat: Chat) -> list[tuple[str, bool]]:
    """The text of a chat in parts, each with whether the model learns it."""
    parts: list[tuple[str, bool]] = []
    lead = "" if chat.system is None else f"<|im_start|>system\n{chat.system}<|im_end|>\n"
    for turn in chat.turns:
        parts.append((f"{lead}<|im_start|>user\n{turn.user}<|im_end|>\n<|im_start|>assistant\n", False))
        parts.append((f"{turn.assistant}<|im_end|>", True))
        lead = "\n"
    return parts
