"""specchat_engine: speculative decoding on GGUF models, with every round visible.

    from specchat_engine import Engine

    with Engine.load("target.gguf", "draft.gguf") as engine:
        session = engine.session(seed=7)
        for event in session.generate("Why is decoding memory-bound?"):
            print(event.text, end="", flush=True)
        print(session.stats.block_efficiency)

Names are imported when they are first used, so that reading a trace does not load llama.cpp.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from specchat_engine.version import __version__ as __version__

if TYPE_CHECKING:
    from specchat_engine.analysis.inspection import InspectedToken, Inspection
    from specchat_engine.decoding.costs import MeasuredCosts
    from specchat_engine.decoding.drafts import Context, Draft, Drafter
    from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, TargetToken, TokenKind
    from specchat_engine.decoding.stats import TurnStats
    from specchat_engine.decoding.verification import Verdict, Verifier
    from specchat_engine.drafters import ModelDrafter, PromptLookupDrafter
    from specchat_engine.engine import Engine
    from specchat_engine.errors import (
        Cancelled,
        ContextOverflowError,
        DecodeError,
        EngineError,
        HeaderError,
        ModelFileError,
        PairError,
        SettingError,
        TemplateError,
    )
    from specchat_engine.load_options import LoadOptions
    from specchat_engine.model_info import MemoryUse, ModelInfo
    from specchat_engine.prompt.template import Message
    from specchat_engine.sampling.params import SamplingParams
    from specchat_engine.session import Session
    from specchat_engine.settings import Settings

_HOMES = {
    "Cancelled": "errors",
    "Context": "decoding.drafts",
    "ContextOverflowError": "errors",
    "DecodeError": "errors",
    "Draft": "decoding.drafts",
    "DraftedToken": "decoding.rounds",
    "Drafter": "decoding.drafts",
    "Engine": "engine",
    "EngineError": "errors",
    "HeaderError": "errors",
    "InspectedToken": "analysis.inspection",
    "Inspection": "analysis.inspection",
    "LoadOptions": "load_options",
    "MeasuredCosts": "decoding.costs",
    "MemoryUse": "model_info",
    "Message": "prompt.template",
    "ModelDrafter": "drafters",
    "ModelFileError": "errors",
    "ModelInfo": "model_info",
    "Outcome": "decoding.rounds",
    "PairError": "errors",
    "PromptLookupDrafter": "drafters",
    "Round": "decoding.rounds",
    "SamplingParams": "sampling.params",
    "Session": "session",
    "SettingError": "errors",
    "Settings": "settings",
    "TargetToken": "decoding.rounds",
    "TemplateError": "errors",
    "TokenKind": "decoding.rounds",
    "TurnStats": "decoding.stats",
    "Verdict": "decoding.verification",
    "Verifier": "decoding.verification",
}

__all__ = [
    "Cancelled",
    "Context",
    "ContextOverflowError",
    "DecodeError",
    "Draft",
    "DraftedToken",
    "Drafter",
    "Engine",
    "EngineError",
    "HeaderError",
    "InspectedToken",
    "Inspection",
    "LoadOptions",
    "MeasuredCosts",
    "MemoryUse",
    "Message",
    "ModelDrafter",
    "ModelFileError",
    "ModelInfo",
    "Outcome",
    "PairError",
    "PromptLookupDrafter",
    "Round",
    "SamplingParams",
    "Session",
    "SettingError",
    "Settings",
    "TargetToken",
    "TemplateError",
    "TokenKind",
    "TurnStats",
    "Verdict",
    "Verifier",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"specchat_engine.{home}"), name)
