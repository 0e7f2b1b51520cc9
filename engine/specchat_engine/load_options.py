"""How models are loaded; a change needs a reload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, K_LIMIT

ThreadCount = int | Literal["auto"]
THREADS_LIMIT: Final = 512
FLASH_ATTENTION: Final = ("auto", "on", "off")
CACHE_TYPES: Final = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "iq4_nl", "q4_1", "q4_0")
"""What keys and values may be kept in, under llama.cpp's names."""


def check_threads(name: str, threads: object) -> None:
    """Raises SettingError for what is no number of threads."""
    if threads != AUTO and not (isinstance(threads, int) and 0 <= threads <= THREADS_LIMIT):
        raise SettingError(f"{name} is {threads!r}: use auto, or 0 to {THREADS_LIMIT}")


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Context, offload and threads. `n_ctx` 0 is the model's own, `gpu_layers` -1 all.

    `threads` are chosen by measuring where they are auto, 0 is one for each core; either way fewer compute while other
    programs keep cores busy. A number stays. `threads_draft` likewise, 0 being as many as the target's. Threads alone
    can change without a reload: see `Engine.use_threads`. A prompt is read `batch_size` tokens at a time, computed
    `ubatch_size` at a time. `flash_attention` and the `cache_type`s hold for both models. `devices` are names as
    llama.cpp lists them, none meaning all; `tensor_split` shares out the target over several. `k_max` rows of logits
    are reserved, plus one. Raises SettingError for a value out of range.
    """

    n_ctx: int = 0
    gpu_layers: int = -1
    gpu_layers_draft: int = -1
    devices: tuple[str, ...] = ()
    devices_draft: tuple[str, ...] = ()
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = 0
    threads: ThreadCount = 0
    threads_draft: ThreadCount = 0
    batch_size: int = 512
    ubatch_size: int = 512
    flash_attention: str = "auto"
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    k_max: int = 32

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_ctx", 0, 2**24),
            ("gpu_layers", -1, 10_000),
            ("gpu_layers_draft", -1, 10_000),
            ("main_gpu", 0, 255),
            ("batch_size", 1, 2**16),
            ("ubatch_size", 1, 2**16),
            ("k_max", 1, K_LIMIT),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingError(f"{name} is {value}: use {low} to {high}")
        for name in ("threads", "threads_draft"):
            check_threads(name, getattr(self, name))
        for name, choices in (
            ("flash_attention", FLASH_ATTENTION),
            ("cache_type_k", CACHE_TYPES),
            ("cache_type_v", CACHE_TYPES),
        ):
            if getattr(self, name) not in choices:
                raise SettingError(f"{name} is {getattr(self, name)!r}: use {', '.join(choices)}")
        if any(not 0 <= share < float("inf") for share in self.tensor_split):
            raise SettingError(f"tensor_split is {self.tensor_split}: use shares of 0 or more")
