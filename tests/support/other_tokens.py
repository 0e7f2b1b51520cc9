"""Files whose vocabularies differ: models with tokenizers of their own, and the built-in draft with other token ids."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gguf
import torch

from builtin_pair.gguf_file import Description, Sampling, write_gguf
from builtin_pair.tokenizer import BytePairTokenizer, awkward_texts
from specchat_assets import builtin_pair
from specchat_engine.training.gguf import read_gguf
from support.tiny_models import SPECIALS, TEMPLATE, write_tiny_model

PROSE = (
    "A draft model proposes some tokens, and the target checks them all in one pass over its weights.",
    "The harbour was quiet that morning; three small boats lay by the wall, and a man was mending a net.",
    "Whatever is proposed, the text stays the same: what the target would have said is what is shown.",
)


class OtherTokens(NamedTuple):
    """Models with random weights and different vocabularies. That of `letters` has little more than bytes."""

    target: Path
    draft: Path
    letters: Path


def write_other_tokens(folder: Path) -> OtherTokens:
    """Writes the models. Their tokenizers are trained on prose, and on mixes of scripts, emoji and code."""
    prose = BytePairTokenizer.train(PROSE * 3, 380, SPECIALS)
    mixed = BytePairTokenizer.train([*awkward_texts(Random(3), 300), *PROSE], 700, SPECIALS)
    paths = []
    for name, tokenizer, seed in (("target", prose, 1), ("draft", mixed, 2)):
        path = folder / f"other-{name}.gguf"
        tokens, merges = tokenizer.tokens, tokenizer.merges
        write_tiny_model(path, seed=seed, vocabulary=tokens, merges=merges, sharpness=0.15, n_ctx=1024)
        paths.append(path)
    letters = write_tiny_model(folder / "other-letters.gguf", seed=4, layers=1, sharpness=0.15, n_ctx=1024)
    return OtherTokens(*paths, letters)


@dataclass
class _Tokens:
    """A tokenizer as it is stored in a file."""

    tokens: list[str]
    merges: list[str]
    specials: list[str]


def write_shuffled_draft(path: Path) -> Path:
    """Writes the built-in draft with permuted token ids: it says the same texts in other ids."""
    draft = builtin_pair()[1]
    reader = gguf.GGUFReader(draft)
    tokens = _field(reader, "tokenizer.ggml.tokens")
    order = [*range(len(SPECIALS)), *Random(5).sample(range(len(SPECIALS), len(tokens)), len(tokens) - len(SPECIALS))]
    model = read_gguf(draft)
    model.embedding.weight = torch.nn.Parameter(model.embedding.weight.detach()[order], requires_grad=False)
    listed: Any = _Tokens([tokens[token] for token in order], _field(reader, "tokenizer.ggml.merges"), [*SPECIALS])
    about = Description(
        "shuffled", "Other ids.", "", "", TEMPLATE, SPECIALS[2], SPECIALS[0], Sampling(0.8, 40, 0.95, 0.05)
    )
    write_gguf(path, model, listed, about, "F16")
    return path


def _field(reader: gguf.GGUFReader, key: str) -> list[str]:
    field = reader.get_field(key)
    assert field is not None
    found: list[str] = field.contents()
    return found
