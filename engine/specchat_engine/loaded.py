"""What the engine reads from loaded models: sizes, chat template, recommended sampling, and the machine they run on."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import replace
from typing import Any

from specchat_engine.drafters import Translation
from specchat_engine.errors import TemplateError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import binding_version, llama_version
from specchat_engine.llama.model import LlamaModel
from specchat_engine.load_options import ModelInfo
from specchat_engine.prompt.template import CHATML_MARK, CONTINUED, FALLBACK, ChatTemplate
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.threads.in_force import ThreadsInForce
from specchat_engine.version import __version__

_RECOMMENDED = {
    "temp": ("temperature", float),
    "top_k": ("top_k", int),
    "top_p": ("top_p", float),
    "min_p": ("min_p", float),
    "penalty_last_n": ("penalty_last_n", int),
    "penalty_repeat": ("repeat_penalty", float),
}
"""The keys of a model file after `general.sampling.`, and the parameters that they set."""


def info_of(context: LlamaContext) -> ModelInfo:
    """The description of a context's model."""
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
        quantisation=model.header.quantisation,
        experts=model.header.experts,
    )


def template_of(model: LlamaModel) -> ChatTemplate:
    """The model's own chat template, else ChatML, or for a base model one that continues the text.

    Raises TemplateError if it does not parse.
    """
    fallback = CONTINUED if is_base(model) else FALLBACK
    return ChatTemplate(model.chat_template or fallback, bos=_text(model, "bos"), eos=_text(model, "eos"))


def is_base(model: LlamaModel) -> bool:
    """Whether a model knows no turns: its file has no chat template, and its vocabulary no marks of ChatML."""
    return not model.chat_template and CHATML_MARK not in model.vocabulary.special_texts


def translation_between(target: LlamaModel, draft: LlamaModel) -> Translation:
    """The translation between two vocabularies. A draft model's template that does not parse is ignored."""
    own = None
    if draft.chat_template:
        with suppress(TemplateError):
            own = template_of(draft)
    return Translation(target.vocabulary, draft.vocabulary, own)


def _text(model: LlamaModel, name: str) -> str:
    token = model.vocabulary.special[name]
    return model.vocabulary.text(token) if token >= 0 else ""


def recommended_by(model: LlamaModel) -> SamplingParams:
    """llama.cpp's defaults, changed as the file recommends. Values out of range are ignored."""
    params = SamplingParams()
    for key, (name, convert) in _RECOMMENDED.items():
        text = model.metadata(f"general.sampling.{key}")
        try:
            params = replace(params, **{name: convert(text)}) if text else params
        except ValueError:
            continue
    return params


def versions() -> dict[str, str]:
    """The versions of everything that the text may depend on."""
    return {
        "specchat": __version__,
        "llama-cpp-python": binding_version(),
        "llama.cpp": llama_version(),
        "python": platform.python_version(),
    }


def machine(threads: ThreadsInForce) -> dict[str, Any]:
    """The machine, and the thread counts in force."""
    where = {"system": platform.platform(), "processor": platform.machine(), "cpus": os.cpu_count()}
    return where | threads.to_json()
