"""What is known of loaded models, of what was loaded with, and what their files recommend."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from typing import Any

from specchat_engine import __version__
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.devices import binding_version, llama_version
from specchat_engine.llama.model import LlamaModel
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.threads.in_force import ThreadsInForce

_RECOMMENDED = {
    "temp": ("temperature", float),
    "top_k": ("top_k", int),
    "top_p": ("top_p", float),
    "min_p": ("min_p", float),
    "penalty_last_n": ("penalty_last_n", int),
    "penalty_repeat": ("repeat_penalty", float),
}
"""The keys below `general.sampling.` and the parameters that they set."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a loaded model; sizes in bytes and tokens."""

    name: str
    path: str
    description: str
    n_params: int
    size_bytes: int
    n_vocab: int
    n_ctx: int
    n_ctx_train: int


def info_of(context: LlamaContext) -> ModelInfo:
    """What is known of the model behind a context."""
    model = context.model
    return ModelInfo(
        name=model.metadata("general.name") or model.path.stem,
        path=str(model.path),
        description=model.description,
        n_params=model.n_params,
        size_bytes=model.size_bytes,
        n_vocab=model.vocabulary.size,
        n_ctx=context.capacity,
        n_ctx_train=model.n_ctx_train,
    )


def template_of(model: LlamaModel) -> ChatTemplate:
    """The model's own chat template, ChatML where it has none. Raises TemplateError where it does not parse."""
    return ChatTemplate(model.chat_template or FALLBACK, bos=_text(model, "bos"), eos=_text(model, "eos"))


def _text(model: LlamaModel, name: str) -> str:
    token = model.vocabulary.special[name]
    return model.vocabulary.text(token) if token >= 0 else ""


def recommended_by(model: LlamaModel) -> SamplingParams:
    """llama.cpp's defaults with what the file recommends; a value out of range is left out."""
    params = SamplingParams()
    for key, (name, convert) in _RECOMMENDED.items():
        text = model.metadata(f"general.sampling.{key}")
        try:
            params = replace(params, **{name: convert(text)}) if text else params
        except ValueError:
            continue
    return params


def versions() -> dict[str, str]:
    """Of everything that a text may depend on."""
    return {
        "specchat": __version__,
        "llama-cpp-python": binding_version(),
        "llama.cpp": llama_version(),
        "python": platform.python_version(),
    }


def machine(threads: ThreadsInForce) -> dict[str, Any]:
    """Where, and on how many threads."""
    where = {"system": platform.platform(), "processor": platform.machine(), "cpus": os.cpu_count()}
    return where | threads.to_json()
