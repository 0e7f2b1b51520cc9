"""Runs a head with random weights on tiny targets of any architecture: `python -m support.head_trial KIND DIR ARCH…`.

A process of its own, since llama.cpp ends it where it was misjudged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from specchat_engine import Engine, LoadOptions, Settings
from specchat_engine.analysis.audit import Case, audit
from specchat_engine.architectures import architecture_of
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import NORMED
from specchat_engine.training.head_files import write_eagle
from specchat_engine.training.heads import EagleHead
from specchat_engine.training.model import ModelConfig
from support.grown_models import CONTEXT, LAYERS, WIDTH, grow, grow_predicting

SIZES: Mapping[str, Any] = {
    "attention.key_length_mla": 32,
    "attention.key_length_swa": 16,
    "attention.kv_lora_rank": 16,
    "attention.q_lora_rank": 16,
    "attention.shared_kv_layers": 0,
    "attention.sliding_window": 32,
    "attention.sliding_window_pattern": [True, False] * (LAYERS // 2),
    "attention.value_length_mla": 16,
    "attention.value_length_swa": 16,
    "embedding_length_per_layer_input": 16,
    "expert_count": 4,
    "expert_feed_forward_length": 32,
    "expert_gating_func": 2,
    "expert_group_count": 1,
    "expert_group_used_count": 1,
    "expert_shared_count": 1,
    "expert_shared_feed_forward_length": 32,
    "expert_used_count": 2,
    "expert_weights_norm": True,
    "expert_weights_scale": 1.0,
    "full_attention_interval": 2,
    "kda.gate_lower_bound": -5.0,
    "kda.head_dim": 16,
    "leading_dense_block_count": 1,
    "logit_scale": 1.0,
    "rope.dimension_count_swa": 16,
    "rope.dimension_sections": (4, 4, 4, 4),
    "rope.freq_base_swa": 10000.0,
    "shortconv.l_cache": 3,
    "ssm.conv_kernel": 4,
    "ssm.group_count": 2,
    "ssm.inner_size": 64,
    "ssm.state_size": 16,
    "ssm.time_step_rank": 4,
}
"""Sizes of all architectures; each takes those that it knows."""


@dataclass(frozen=True)
class Special:
    """What an architecture needs besides: sizes of its own, and tensors that llama.cpp loads without but needs."""

    sizes: Mapping[str, Any] = field(default_factory=dict)
    tensors: tuple[str, ...] = ()
    layers: Iterable[int] = range(LAYERS)

    @property
    def names(self) -> list[str]:
        """The full names of those tensors."""
        return [f"blk.{layer}.{name}" for layer in self.layers for name in self.tensors]


_MIXED = {"attention.head_count_kv": [0, 2, 0, 2]}
_DENSE = ("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight")
_GATED = Special(tensors=("attn_qkv.weight", "attn_gate.weight"), layers=(0, 2))
_MAMBA = Special({**_MIXED, "feed_forward_length": [0, 0, 128, 0]}, ("ssm_conv1d.bias",), (0,))
SPECIAL = {
    "bailingmoe3": Special(
        {"attention.key_length": 32, "attention.value_length": 16, "attention.head_count_kv": [0, 1, 0, 1]}
    ),
    "glm4moe": Special({"rope.dimension_sections": (0, 0, 0, 0)}),
    "hy_v3": Special(tensors=_DENSE),
    "lfm2": Special(_MIXED),
    "mimo2": Special(tensors=_DENSE),
    "nemotron_h": _MAMBA,
    "nemotron_h_moe": _MAMBA,
    "qwen35": _GATED,
    "qwen35moe": _GATED,
    "qwen3next": _GATED,
    "step35": Special(tensors=_DENSE),
}

OF_ASSISTANT = {
    "attention.sliding_window_pattern": [True, False],
    "block_count": 2,
    "embedding_length": WIDTH // 2,
    "embedding_length_out": WIDTH,
    "nextn_predict_layers": 2,
}
TOKENS = [40, 41, 7, 99, 120, 8, 55, 61]


def grown(architecture: str, folder: Path, count: int = 0) -> Path:
    """A tiny target of an architecture, with `count` layers for multi-token prediction."""
    special = SPECIAL.get(architecture, Special())
    sizes, path = {**SIZES, **special.sizes}, folder / f"{architecture}-{count}.gguf"
    if not count:
        return grow(path, architecture, sizes, special.names)
    return grow_predicting(path, architecture, sizes, special.names, architecture_of(architecture).predicts, count)


def random_head(path: Path, layers: tuple[int, ...]) -> Path:
    """An EAGLE-3 head for a grown target."""
    config = ModelConfig(261, WIDTH, layers=1, heads=4, kv_heads=2, feed_forward=64, context=CONTEXT)
    unused = torch.zeros(config.vocab_size, WIDTH)
    write_eagle(path, EagleHead(config, unused, unused, WIDTH, 1), layers, WIDTH, "a random head", "F32")
    return path


@contextmanager
def opened(target: Path) -> Iterator[LlamaContext]:
    """A context of a target."""
    model = LlamaModel(target, gpu_layers=0)
    context = LlamaContext(NativeContext(model, n_ctx=CONTEXT, max_rows=len(TOKENS), threads=1))
    yield context
    context.close()
    model.close()


def check_states(target: Path, layers: tuple[int, ...]) -> None:
    """Each token has a state, the same one however many tokens a pass reads and how many rows it gives."""
    with opened(target) as context:
        states = context.hand_out(layers)
        for token in TOKENS:
            context.advance([token], 1)
        one_by_one = states.rows(0, len(TOKENS)).copy()
        ways = (len(TOKENS),) if NORMED in layers else (1, 3, len(TOKENS))
        for rows in ways:
            context.keep(())
            context.advance(TOKENS, rows)
            together = states.rows(0, len(TOKENS))
            assert np.abs(together - one_by_one).max() < 0.02 * np.abs(one_by_one).max(), (layers, rows)
    assert (np.abs(one_by_one).max(axis=1) > 0).all(), layers


def run(target: Path, head: Path | str, drafter: str) -> None:
    """Answers as plain decoding does, and drafts, in chains and in trees if the target's memory can branch."""
    with Engine.load(target, head, LoadOptions(threads=1, n_ctx=CONTEXT)) as engine:
        assert drafter in engine.drafters, engine.drafters
        texts = {}
        for name in ("none", drafter):
            session = engine.session(settings=Settings(drafter=name, k=3, max_tokens=24), seed=1)
            texts[name] = []
            for prompt in ("Hello", "And?"):
                for _ in session.generate(prompt):
                    pass
                texts[name].append(session.text)
        assert texts["none"] == texts[drafter]
        assert session.stats.num_draft_tokens > 0
        if engine.can_branch:
            case = Case("greeting", "Hello", Settings(drafter=drafter, k=3, tree=3, max_tokens=24))
            found = audit(lambda one: engine.session(settings=one, seed=1), engine.memory, engine.vocabulary, [case])
            assert not found.unexplained, [finding.reason for finding in found.unexplained]


def trial(architecture: str, kind: str, folder: Path) -> None:
    """Tries one kind of head on one architecture."""
    known = architecture_of(architecture)
    if kind == "mtp":
        for count in (1, 3) if known.several else (1,):
            run(grown(architecture, folder, count), "mtp", "mtp")
        return
    target = grown(architecture, folder)
    if kind == "assistant":
        run(target, grow(folder / "assistant.gguf", known.assistant, {**SIZES, **OF_ASSISTANT}), "mtp")
        return
    for last in (LAYERS - 1, LAYERS) if known.hands_out == "all" else (LAYERS - 1,):
        layers = (0, LAYERS // 2, last)
        check_states(target, layers)
        run(target, random_head(folder / "head.gguf", layers), "eagle3")
    check_states(target, (NORMED,))


if __name__ == "__main__":
    given_kind, given_folder, *architectures = sys.argv[1:]
    for name in architectures:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()  # llama.cpp may end the process: the last name is the one that failed
        trial(name, given_kind, Path(given_folder))
