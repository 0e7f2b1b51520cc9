"""A tokenizer and a description that the tests of training share."""

from __future__ import annotations

from random import Random

from builtin_pair.gguf_file import Description, Sampling
from builtin_pair.tokenizer import BytePairTokenizer, awkward_texts

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
DESCRIPTION = Description(
    name="toy",
    text="A toy.",
    author="Nobody",
    license="apache-2.0",
    chat_template="{{ messages[0]['content'] }}",
    end_token="<|im_end|>",
    padding_token="<|endoftext|>",
    sampling=Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05),
)


def tokenizer_of(size: int) -> BytePairTokenizer:
    """A tokenizer of so many entries, learned from awkward texts."""
    return BytePairTokenizer.train(awkward_texts(Random(1), 400), size, SPECIALS)
