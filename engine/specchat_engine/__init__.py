"""specchat_engine: speculative decoding on GGUF models, with every round visible.

    from specchat_engine import Engine

    with Engine.load("target.gguf", "draft.gguf") as engine:
        session = engine.session(seed=7)
        for event in session.generate("Why is decoding memory-bound?"):
            print(event.text, end="", flush=True)
        print(session.stats.block_efficiency)

Names from slow modules are imported on first use, so that reading a trace does not load llama.cpp.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from specchat_engine.load_options import LoadOptions, MemoryUse, ModelInfo
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from specchat_engine.version import __version__ as __version__

if TYPE_CHECKING:
    from specchat_engine.analysis.inspection import InspectedToken, Inspection
    from specchat_engine.answers.format import AnswerFormat
    from specchat_engine.answers.grammar import tool_grammar
    from specchat_engine.answers.parser import Answer, AnswerParser, parse_answer
    from specchat_engine.answers.parts import AnswerPart, PartKind
    from specchat_engine.decoding.costs import MeasuredCosts
    from specchat_engine.decoding.drafts import Context, Draft, Drafter
    from specchat_engine.decoding.logprobs import LogProbs, ScoredToken
    from specchat_engine.decoding.rounds import DraftedToken, Outcome, PromptProgress, Round, TargetToken, TokenKind
    from specchat_engine.decoding.stats import TurnStats
    from specchat_engine.decoding.verification import Verdict, Verifier
    from specchat_engine.drafters import MakeDrafter, ModelDrafter, PromptLookupDrafter
    from specchat_engine.engine import Engine
    from specchat_engine.prompt.images import Image
    from specchat_engine.prompt.messages import Message, Prompt, ToolCall
    from specchat_engine.session import Session


_LAZY = {
    "analysis.inspection": ("InspectedToken", "Inspection"),
    "answers.format": ("AnswerFormat",),
    "answers.grammar": ("tool_grammar",),
    "answers.parser": ("Answer", "AnswerParser", "parse_answer"),
    "answers.parts": ("AnswerPart", "PartKind"),
    "decoding.costs": ("MeasuredCosts",),
    "decoding.drafts": ("Context", "Draft", "Drafter"),
    "decoding.logprobs": ("LogProbs", "ScoredToken"),
    "decoding.rounds": ("DraftedToken", "Outcome", "PromptProgress", "Round", "TargetToken", "TokenKind"),
    "decoding.stats": ("TurnStats",),
    "decoding.verification": ("Verdict", "Verifier"),
    "drafters": ("MakeDrafter", "ModelDrafter", "PromptLookupDrafter"),
    "engine": ("Engine",),
    "prompt.images": ("Image",),
    "prompt.messages": ("Message", "Prompt", "ToolCall"),
    "session": ("Session",),
}

__all__ = [
    "Answer",
    "AnswerFormat",
    "AnswerParser",
    "AnswerPart",
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
    "Image",
    "InspectedToken",
    "Inspection",
    "LoadOptions",
    "LogProbs",
    "MakeDrafter",
    "MeasuredCosts",
    "MemoryUse",
    "Message",
    "ModelDrafter",
    "ModelFileError",
    "ModelInfo",
    "Outcome",
    "PairError",
    "PartKind",
    "Prompt",
    "PromptLookupDrafter",
    "PromptProgress",
    "Round",
    "SamplingParams",
    "ScoredToken",
    "Session",
    "SettingError",
    "Settings",
    "TargetToken",
    "TemplateError",
    "TokenKind",
    "ToolCall",
    "TurnStats",
    "Verdict",
    "Verifier",
    "parse_answer",
    "tool_grammar",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"specchat_engine.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
