"""How models are loaded; a change needs a reload."""

from __future__ import annotations

from dataclasses import dataclass

from specchat_engine.errors import SettingError
from specchat_engine.settings import K_LIMIT


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Context, offload and threads. `n_ctx` 0 is the model's own, `gpu_layers` -1 all, `threads` 0 the physical cores.

    `devices` are names as llama.cpp lists them, none meaning all; `tensor_split` shares out the target over several.
    `k_max` rows of logits are reserved, plus one. Raises SettingError for a value out of range.
    """

    n_ctx: int = 0
    gpu_layers: int = -1
    gpu_layers_draft: int = -1
    devices: tuple[str, ...] = ()
    devices_draft: tuple[str, ...] = ()
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = 0
    threads: int = 0
    k_max: int = 32

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n_ctx", 0, 2**24),
            ("gpu_layers", -1, 10_000),
            ("gpu_layers_draft", -1, 10_000),
            ("main_gpu", 0, 255),
            ("threads", 0, 512),
            ("k_max", 1, K_LIMIT),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingError(f"{name} is {value}: use {low} to {high}")
        if any(not 0 <= share < float("inf") for share in self.tensor_split):
            raise SettingError(f"tensor_split is {self.tensor_split}: use shares of 0 or more")
