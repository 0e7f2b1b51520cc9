"""What is chosen at load reaches llama.cpp, and what cannot be is refused before anything is loaded."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions, SamplingParams, SettingError, Settings
from support.tiny_models import EngineFiles

USUAL = LoadOptions(n_ctx=512, threads=1)


def logits(options: LoadOptions) -> NDArray[np.float32]:
    """Those behind a few tokens, read in one pass."""
    with Engine.load(builtin_pair()[0], options=options) as engine:
        return engine.memory.advance(range(300, 308), 1).copy()


@pytest.mark.parametrize(
    "changed",
    [
        LoadOptions(n_ctx=512, threads=1, cache_type_k="q8_0", flash_attention="on"),
        LoadOptions(n_ctx=512, threads=1, cache_type_v="q8_0", flash_attention="on"),
    ],
    ids=["keys", "values"],
)
def test_a_coarser_cache_changes_the_logits_a_little(changed: LoadOptions) -> None:
    difference = float(np.abs(logits(changed) - logits(USUAL)).max())
    assert 0 < difference < 1


def test_every_way_of_loading_speculates_without_changing_the_text(files: EngineFiles) -> None:
    options = LoadOptions(
        n_ctx=512,
        threads=1,
        threads_draft=2,
        batch_size=40,
        ubatch_size=16,
        flash_attention="off",
        cache_type_k="bf16",
        cache_type_v="bf16",
    )
    texts = []
    with Engine.load(files.target, files.draft, options) as engine:
        for k in (0, 4, "auto"):
            settings = Settings(k=k, sampling=SamplingParams(temperature=0), max_tokens=40)  # type: ignore[arg-type]
            session = engine.session(settings=settings, seed=1)
            for _ in session.generate("What is speculative decoding? " * 4):
                pass
            texts.append(session.text)
            engine.forget()
    assert texts[0] == texts[1] == texts[2] != ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cache_type_k": "q3_k"}, "cache_type_k is 'q3_k': use f32, f16"),
        ({"cache_type_v": ""}, "cache_type_v is ''"),
        ({"flash_attention": "yes"}, "flash_attention is 'yes': use auto, on or off"),
        ({"batch_size": 0}, "batch_size is 0: use a whole number from 1 to 65536"),
        ({"threads_draft": -1}, "threads_draft is -1: use "),
        ({"threads": 10**6}, "threads is 1000000: use "),
        ({"n_ctx": -1}, "n_ctx is -1: use "),
        ({"gpu_layers": -2}, "gpu_layers is -2: use "),
        ({"main_gpu": -1}, "main_gpu is -1: use "),
        ({"k_max": 0}, "k_max is 0: use "),
        ({"k_max": 257}, "k_max is 257: use "),
        ({"tensor_split": (-1.0,)}, "tensor_split"),
        ({"tensor_split": (0.5, math.nan)}, "tensor_split"),
        ({"tensor_split": (math.inf,)}, "tensor_split"),
        ({"n_cpu_moe": -2}, "n_cpu_moe is -2"),
        ({"tensor_overrides": ("ffn",)}, "tensor_overrides has 'ffn': use PATTERN=DEVICE"),
        ({"tensor_overrides": ("(=CPU",)}, "tensor_overrides has '(=CPU'"),
        ({"tensor_overrides": ("ffn=CPU,attn=CUDA0",)}, "each by itself"),
    ],
)
def test_an_impossible_value_is_rejected(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=re.escape(words)):
        LoadOptions(**wrong)  # type: ignore[arg-type]


def test_the_experts_of_the_first_layers_go_to_main_memory_after_what_was_named() -> None:
    options = LoadOptions(n_cpu_moe=11, tensor_overrides=(r"blk\.3\.=CUDA1",))
    first = {
        name: next((device for pattern, device in options.overrides if re.search(pattern, name)), None)
        for name in (
            "blk.0.ffn_up_exps.weight",
            "blk.10.ffn_gate_up_exps.weight",
            "blk.3.ffn_down_exps.weight",
            "blk.11.ffn_down_exps.weight",
            "blk.1.ffn_up_shexp.weight",
            "blk.1.attn_q.weight",
        )
    }
    assert list(first.values()) == ["CPU", "CPU", "CUDA1", None, None, None]
    ((pattern, _),) = LoadOptions(n_cpu_moe=-1).overrides
    assert re.search(pattern, "blk.93.ffn_up_exps.weight")
