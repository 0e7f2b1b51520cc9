"""Chat templates: turn messages into a prompt with the Jinja template in a model's file.

A template comes from a downloaded file and is not trusted. It runs in a sandbox, with limits on its time and on what it
makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from types import FrameType
from typing import Any, Final, Literal

from jinja2 import TemplateError as JinjaError

from specchat_engine.errors import TemplateError
from specchat_engine.prompt.allowance import Allowance
from specchat_engine.prompt.sandbox import Sandbox

Role = Literal["system", "user", "assistant"]

SECONDS: Final = 2.0

FALLBACK: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML, for files without a template, as in llama.cpp."""

_FAILURES: Final = (
    JinjaError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    MemoryError,
    RuntimeError,
)
"""What a template can raise, including endless recursion."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


class ChatTemplate:
    """A compiled template. Raises TemplateError if it does not parse."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        self._sandbox = Sandbox()
        try:
            self._template = self._sandbox.from_string(self._sandbox.parsed(source))
        except (JinjaError, SyntaxError, RuntimeError, ValueError, MemoryError) as error:
            reason = _reason(error)
            raise TemplateError(f"the model's chat template does not parse: {reason}; try another file") from None
        self._tokens = {"bos_token": bos, "eos_token": eos}

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt that asks for the next answer. Raises TemplateError if the template fails or exceeds a limit."""
        values = [{"role": message.role, "content": message.content} for message in messages]
        self._sandbox.allowance = Allowance(values)
        stream = self._template.generate(messages=values, add_generation_prompt=True, **self._tokens)
        try:
            with _Deadline(SECONDS):
                return "".join(map(self._sandbox.allowance.made, stream))
        except TemplateError:
            raise
        except _FAILURES as error:
            raise TemplateError(f"the model's chat template failed: {_reason(error)}; try another file") from None


class _Deadline:
    """Stops a template after a while: a trace function looks at the clock at each of its lines, and at every call."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if monotonic() > self._end:
            raise TemplateError("the model's chat template took too long and was stopped; try another file")
        return self._trace if frame.f_code.co_filename == "<template>" else None


def _reason(error: Exception) -> str:
    return str(error)[:400] or type(error).__name__
