"""The lines of a trace."""

from __future__ import annotations

from specchat_engine import Message, Prompt, Settings
from specchat_engine.decoding.trace_lines import start_line
from specchat_engine.prompt.images import Image


def test_the_start_names_the_images_of_a_message_by_their_hashes() -> None:
    shown = Image(b"a picture")
    prompt = Prompt([Message("user", "What is it?", images=(shown,)), Message("user", "Well?")])
    line = start_line({}, Settings(), seed=1, turn=0, prompt_tokens=9, prompt=prompt, prefix=(), prefix_text="")
    assert line["messages"] == [
        {"role": "user", "content": "What is it?", "images": [shown.digest]},
        {"role": "user", "content": "Well?"},
    ]
