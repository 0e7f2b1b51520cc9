"""How models are loaded, and what is known of them then. A change of any option but threads needs a reload."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from specchat_engine.allowed import OneOf, Range, check, setting
from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, K_LIMIT

NORMED: Final = -1
"""Among the layers that a head reads: the output of the last one after the final norm."""

THREADS_LIMIT: Final = 512
CONTEXT_LIMIT: Final = 2**24
PARALLEL_LIMIT: Final = 64
FLASH_ATTENTION: Final = ("auto", "on", "off")
GIVEN: Final = "given"
"""The placement by the numbers of layers in the options."""
PLACEMENTS: Final = (GIVEN, AUTO)
CACHE_TYPES: Final = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "iq4_nl", "q4_1", "q4_0")
"""The types in which the cache can hold keys and values, by llama.cpp's names."""
PLAIN_CACHE_TYPES: Final = frozenset({"f32", "f16", "bf16"})
"""Those without blocks. All others need flash attention."""
HOST: Final = "CPU"
"""llama.cpp's name of the device whose memory is the computer's own."""

_EXPERTS: Final = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""The matrices of experts, as llama.cpp's `--n-cpu-moe` finds them."""

_SEVERAL = re.compile(r"=\w+,")
"""What a pattern has that is several overrides with commas between them."""

_THREADS = Range(0, THREADS_LIMIT, whole=True)
_LAYERS = Range(-1, 10_000, "-1 is all", whole=True)
_TOKENS_AT_A_TIME = Range(1, 2**16, whole=True)


def check_threads(name: str, threads: object) -> None:
    """Raises SettingError for a value that is not a number of threads."""
    if not _THREADS.allows(threads):
        raise SettingError(f"{name} is {threads!r}: {_THREADS.remedy}")


def check_override(override: object) -> str:
    """The same text. Raises SettingError for anything but PATTERN=DEVICE."""
    if isinstance(override, str):
        pattern, _, device = override.rpartition("=")
        with suppress(re.error):
            if pattern and device and re.compile(pattern) and not _SEVERAL.search(pattern):
                return override
    raise SettingError(
        f"tensor_overrides has {override!r}: use PATTERN=DEVICE, such as ffn_.*_exps=CPU, each by itself"
    )


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Context, offload and threads. `n_ctx` 0 is the model's own, `gpu_layers` -1 means all layers.

    `threads` 0 takes one for each core, and fewer while other programs keep cores busy; any other number is kept.
    `threads_draft` 0 takes as many as the target uses. Threads alone can change without a reload: see
    `Engine.use_threads`. A prompt is read `batch_size` tokens at a time and computed `ubatch_size` at a time.
    `flash_attention` and both cache types apply to both models. With `placement` "auto" both models are timed on the
    GPU and on the CPU, which decides how many of their layers go where. `devices` are llama.cpp's names, none meaning
    all; `tensor_split` divides the target between several of them. `n_cpu_moe` keeps the experts of the target's first
    N layers in main memory. `tensor_overrides` name devices for its tensors: "PATTERN=DEVICE", with a regular
    expression that is searched for in their names. Room is reserved for `k_max` + 1 rows of logits. `drafts` are the
    files of further draft models, which draft under the names "model-2", "model-3" and so on. With `hierarchy` on, a
    draft model is itself sped up by lookup. `parallel` answers can be given at the same time, each with a context of
    its own. `head` is the file of a head that drafts from the target's hidden states, "mtp" for the target's own layers
    for multi-token prediction, "none", or "auto", which takes the target's own if it has some. `mmproj` is the file of
    the projector with which the target sees images, "none", or "auto", which takes one in the target's folder at the
    first image; it excludes heads. With `exact` on, the target computes so that the number of tokens in a pass does not
    change a bit of its logits, and drafts are as long as that holds; see `Engine.exactness`. Raises SettingError for a
    value that is not allowed.
    """

    n_ctx: int = setting(0, Range(0, CONTEXT_LIMIT, "0 is the model's own", whole=True))
    gpu_layers: int = setting(-1, _LAYERS)
    gpu_layers_draft: int = setting(-1, _LAYERS)
    placement: str = setting(GIVEN, OneOf(PLACEMENTS))
    devices: tuple[str, ...] = ()
    devices_draft: tuple[str, ...] = ()
    tensor_split: tuple[float, ...] = ()
    main_gpu: int = setting(0, Range(0, 255, whole=True))
    n_cpu_moe: int = setting(0, _LAYERS)
    tensor_overrides: tuple[str, ...] = ()
    threads: int = setting(0, _THREADS)
    threads_draft: int = setting(0, _THREADS)
    batch_size: int = setting(512, _TOKENS_AT_A_TIME)
    ubatch_size: int = setting(512, _TOKENS_AT_A_TIME)
    flash_attention: str = setting("auto", OneOf(FLASH_ATTENTION))
    cache_type_k: str = setting("f16", OneOf(CACHE_TYPES))
    cache_type_v: str = setting("f16", OneOf(CACHE_TYPES))
    k_max: int = setting(32, Range(1, K_LIMIT, whole=True))
    head: str = AUTO
    drafts: tuple[str, ...] = ()
    hierarchy: str = setting("off", OneOf(("off", "on")))
    parallel: int = setting(1, Range(1, PARALLEL_LIMIT, whole=True))
    mmproj: str = AUTO
    exact: str = setting("off", OneOf(("off", "on")))

    def __post_init__(self) -> None:
        check(self)
        if any(not 0 <= share < float("inf") for share in self.tensor_split):
            raise SettingError(f"tensor_split is {self.tensor_split}: use shares of 0 or more")
        for override in self.tensor_overrides:
            check_override(override)
        if self.exact == "on" and self.parallel > 1:
            raise SettingError(f"parallel is {self.parallel}: with exact on answers cannot share passes, so use 1")
        if self.exact == "on" and self.flash_attention == "on" and self.cache_types <= PLAIN_CACHE_TYPES:
            raise SettingError("flash_attention is 'on': with exact on its passes over one token differ, so use auto")

    @property
    def cache_types(self) -> frozenset[str]:
        """The types of the cache's keys and values."""
        return frozenset({self.cache_type_k, self.cache_type_v})

    @property
    def overrides(self) -> tuple[tuple[str, str], ...]:
        """Patterns for names of the target's tensors, each with the device of those that match; the first counts."""
        pairs = [override.rpartition("=") for override in self.tensor_overrides]
        chosen = [(pattern, device) for pattern, _, device in pairs]
        if self.n_cpu_moe:
            layers = r"\d+" if self.n_cpu_moe < 0 else "|".join(map(str, range(self.n_cpu_moe)))
            chosen.append((rf"^blk\.({layers}){_EXPERTS}", HOST))
        return tuple(chosen)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model; sizes in bytes, contexts in tokens. `quantisation` is the type of most weights."""

    name: str
    path: str
    n_params: int = 0
    size_bytes: int = 0
    n_ctx: int = 0
    n_ctx_train: int = 0
    n_vocab: int = 0
    description: str = ""
    quantisation: str = ""
    experts: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """A head that fits its target.

    `name` is its drafter's. `layers` are those of the target whose inputs it reads, where the number of all layers
    stands for the output of the last, and NORMED for that after the final norm. `path` is its file, empty for layers
    of the target's own. It drafts at most `longest` tokens in a row.
    """

    name: str
    layers: tuple[int, ...]
    path: str = ""
    longest: int = 16


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes on all devices together for the cache and for the working memory of passes.

    None is what llama.cpp does not log.
    """

    cache: int | None = None
    compute: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of a loaded pair in bytes: 0 where nothing is loaded, None if llama.cpp does not report it.

    What is said of the draft includes a head.

    Weights count twice if they were copied to another layout beside the mapped file. A cache is reserved at load, for
    the whole context. `compute` is the scratch memory of both models' passes. Each buffer is exact to 0.01 MiB.
    """

    target_weights: int | None = None
    draft_weights: int | None = None
    target_cache: int | None = None
    draft_cache: int | None = None
    compute: int | None = None
