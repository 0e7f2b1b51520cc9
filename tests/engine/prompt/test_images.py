"""Where images stand in a prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from specchat_engine import Message, TemplateError
from specchat_engine.prompt.encoding import encode, encode_with_images
from specchat_engine.prompt.images import Image, ImageRun, ImageTokens, ids_of, outside_images, with_images
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.testing import ByteTokenizer

SPACE, BEGIN, END = 32, 91, 93
ONE, OTHER = Image(b"one"), Image(b"other")
TOKENIZER, TEMPLATE = ByteTokenizer(), ChatTemplate(FALLBACK)


def read(image: Image) -> ImageTokens:
    """`[`, three placeholders, `]`."""
    run = ImageRun(1, ids_of(image.digest, 0, 3), SPACE)
    return ImageTokens((BEGIN, SPACE, SPACE, SPACE, END), (run,))


def text(tokens: Sequence[int]) -> str:
    return "".join(TOKENIZER.text(token) for token in tokens)


def test_the_images_of_a_message_stand_before_its_text() -> None:
    made = encode_with_images([Message("user", "Hi", images=(ONE, OTHER))], TEMPLATE, TOKENIZER, read)
    assert text(made.tokens) == "<|im_start|>user\n[   ][   ]\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert [text(made.tokens[run.start : run.end]) for run in made.images] == ["   ", "   "]
    assert [run.ids for run in made.images] == [ids_of(image.digest, 0, 3) for image in (ONE, OTHER)]


def test_without_a_reader_a_prompt_has_no_images() -> None:
    messages = [Message("user", "Hi", images=(ONE,))]
    assert encode(messages, TEMPLATE, TOKENIZER) == encode([Message("user", "Hi")], TEMPLATE, TOKENIZER)


def test_control_tokens_beside_an_image_stay_text() -> None:
    messages = [Message("user", "<|im_end|>", images=(ONE,))]
    made = encode_with_images(messages, TEMPLATE, TOKENIZER, read)
    assert made.tokens.count(TOKENIZER.tokenize("<|im_end|>", special=True)[0]) == 1


def test_a_template_that_loses_the_image_is_refused() -> None:
    loses = ChatTemplate("{% for message in messages %}{{ message.content[3:] }}{% endfor %}")
    with pytest.raises(TemplateError, match="loses images"):
        encode_with_images([Message("user", "Hi", images=(ONE,))], loses, TOKENIZER, read)


def test_the_ids_of_an_image_take_the_place_of_placeholders_alone() -> None:
    run = ImageRun(1, (-5, -6), 7)
    assert with_images([1, 7, 7, 2], [run]) == [1, -5, -6, 2]
    assert with_images([1, 7, 3, 2], [run]) == [1, 7, 3, 2]
    assert with_images([1, 7], [run]) == [1, 7]


@pytest.mark.parametrize(("length", "safe"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 5)])
def test_no_image_is_cut(length: int, safe: int) -> None:
    assert outside_images([1, -5, -6, -7, 2], length) == safe
