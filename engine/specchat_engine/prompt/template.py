"""Chat templates: turn messages into a prompt with the Jinja template in a model's file.

A template comes from a downloaded file and is not trusted. It runs in Jinja's sandbox with limits on its time and on
the size of its output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from types import FrameType
from typing import Any, Final, Literal, NoReturn

from jinja2 import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from specchat_engine.errors import TemplateError

Role = Literal["system", "user", "assistant"]

SECONDS: Final = 2.0
CHARACTERS: Final = 8_000_000

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
    MemoryError,
    RuntimeError,
)
"""What a template can raise, including endless recursion."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which products and powers cannot fill the memory either."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not all(isinstance(side, int | float) for side in (left, right)):
            raise TemplateError(f"the chat template uses {operator} on {type(left).__name__}: refused as unsafe")
        return super().call_binop(context, operator, left, right)


class ChatTemplate:
    """A compiled template. Raises TemplateError if it does not parse."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now().astimezone().strftime(form)
        try:
            self._template = environment.from_string(source)
        except (JinjaError, SyntaxError, RuntimeError, ValueError, MemoryError) as error:
            reason = _reason(error)
            raise TemplateError(f"the model's chat template does not parse: {reason}; try another file") from None
        self._tokens = {"bos_token": bos, "eos_token": eos}

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt that asks for the next answer. Raises TemplateError if the template fails or exceeds a limit."""
        values = [{"role": message.role, "content": message.content} for message in messages]
        stream = self._template.generate(messages=values, add_generation_prompt=True, **self._tokens)
        parts: list[str] = []
        size = 0
        try:
            with _Deadline(SECONDS):
                for part in stream:
                    parts.append(part)
                    size += len(part)
                    if size > CHARACTERS:
                        raise TemplateError(f"the model's chat template made more than {CHARACTERS} characters")
        except TemplateError:
            raise
        except _FAILURES as error:
            raise TemplateError(f"the model's chat template failed: {_reason(error)}; try another file") from None
        return "".join(parts)


class _Deadline:
    """Stops Python code after a while, even a loop without output: a trace function looks at the clock."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, _frame: FrameType, _event: str, _argument: object) -> Callable[..., Any]:
        if monotonic() > self._end:
            raise TemplateError("the model's chat template took too long and was stopped; try another file")
        return self._trace


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(f"the model's chat template refuses the conversation: {message}")
