"""Chat templates: turn messages into a prompt with the Jinja template in a model's file.

A template comes from a downloaded file and is not trusted. It runs in a sandbox, with limits on its time and on what it
makes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from time import thread_time
from types import FrameType
from typing import Any, Final, Literal

from jinja2 import TemplateError as JinjaError
from jinja2 import meta, nodes

from specchat_engine.errors import TemplateError
from specchat_engine.prompt.allowance import Allowance
from specchat_engine.prompt.control_tokens import unused_sign
from specchat_engine.prompt.demands import Demands
from specchat_engine.prompt.messages import Asked, Message, Prompt, ToolCall, function_of
from specchat_engine.prompt.sandbox import Sandbox
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from specchat_engine.prompt.tools_as_text import with_calls_as_text, with_tools_as_text

SECONDS: Final = 2.0
"""The processor time that a template may take. What other programs use does not count."""

FALLBACK: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""ChatML, for files without a template whose vocabulary has its marks, as in llama.cpp."""

CHATML_MARK: Final = "<|im_start|>"

CONTINUED: Final = (
    "{% for message in messages %}{{ message.content }}"
    "{% if not loop.last and loop.nextitem.role != 'assistant' %}{{ '\\n\\n' }}{% endif %}{% endfor %}"
)
"""The text of the conversation, for other files without a template: base models, which know no turns."""

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


_Calls = Literal["as objects", "as JSON", "as text"]
"""What a template gets of calls: their arguments as objects or as texts of JSON, or only the content with all calls."""

_SIGN: Final = "end of the answer that is continued"
"""The key of a sign among the values of a template, which does not get it."""

_ARGUMENT: Final = "argument_of_a_probe"
_PROBE: Final = Prompt(
    (
        Message("user", "a"),
        Message("assistant", "", (ToolCall("f", f'{{"{_ARGUMENT}": 1}}', "call00001"),)),
        Message("tool", "b", tool_call_id="call00001", name="f"),
        Message("assistant", "c"),
        Message("user", "d"),
    ),
    ({"type": "function", "function": {"name": "f"}},),
)
"""A conversation with a call."""


class ChatTemplate:
    """A compiled template. Raises TemplateError if it does not parse. `knows_tools` says whether it mentions tools.

    A template that knows of no tools gets them as text. Some templates read the arguments of a call as an object,
    others as JSON. They get an object, as in transformers, unless a probe shows that it makes nothing useful, as in
    llama.cpp. If JSON does not either, calls become text. Arguments that are no JSON object, such as those of a call
    that was cut off, stay as they are, and become an empty object if the template would fail otherwise. Reasoning is in
    `reasoning_content`, and in `thinking` for templates that read that. Some templates of models that see images read
    contents as lists of parts alone, and get such lists. What else a template demands is met by `Demands`. If the last
    message is an answer, the prompt ends where it does, so that the model continues it.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        self._sandbox = Sandbox()
        try:
            self._tree = self._sandbox.parsed(source)
            self._template = self._sandbox.from_string(self._tree)
        except (JinjaError, SyntaxError, RuntimeError, ValueError, MemoryError) as error:
            reason = _reason(error)
            raise TemplateError(f"the model's chat template does not parse: {reason}; try another file") from None
        self._tokens = {"bos_token": bos, "eos_token": eos}
        self.knows_tools = re.search(r"\btools\b", source) is not None
        self._reads_thinking = "message.thinking" in source
        self._may_read_parts = re.search(r"""["'.]type\b""", source) is not None

    @cached_property
    def thinking(self) -> ThinkingSwitch:
        """The variables that say how much the model thinks, found in the template and by probes."""
        words = {node.value for node in self._tree.find_all(nodes.Const) if isinstance(node.value, str)}
        return ThinkingSwitch.of(meta.find_undeclared_variables(self._tree), words, self._probed)

    def render(self, request: Asked) -> str:
        """The prompt that asks for the next answer. Raises TemplateError if the template fails or exceeds a limit."""
        return self.rendered(self.values(request))

    def values(self, request: Asked) -> dict[str, Any]:
        """What the template gets of a prompt: everything that others than the model's makers wrote."""
        prompt = Prompt.of(request)
        if not self.knows_tools:
            prompt = with_tools_as_text(prompt)
        prompt = replace(prompt, messages=self._demands.met(prompt.messages))
        called = any(message.tool_calls for message in prompt.messages)
        return _continuing(self._values(prompt, self._calls if called else "as objects"))

    def rendered(self, values: Mapping[str, Any], seconds: float | None = None) -> str:
        """The prompt of these values. Raises TemplateError if the template fails or exceeds a limit, and if the answer
        that is to be continued is not in the prompt."""
        given = {**values, **self._tokens}
        sign = given.pop(_SIGN, "")
        try:
            self._sandbox.allowance = Allowance(values, len(values["messages"]))
            with _Deadline(SECONDS if seconds is None else seconds):
                prompt = "".join(map(self._sandbox.allowance.made, self._template.generate(given)))
            return _up_to(sign, prompt) if sign else prompt
        except TemplateError:
            raise
        except _FAILURES as error:
            raise TemplateError(f"the model's chat template failed: {_reason(error)}; try another file") from None

    def _values(self, prompt: Prompt, calls: _Calls) -> dict[str, Any]:
        written = with_calls_as_text(prompt.messages) if calls == "as text" else prompt.messages
        messages = [self._message(message, calls) for message in written]
        tools = {"tools": [*map(_completed, prompt.tools)]} if prompt.tools else {}
        return {"add_generation_prompt": True, **prompt.variables, "messages": messages, **tools}

    def _message(self, message: Message, calls: _Calls) -> dict[str, Any]:
        values = message.to_json()
        if self._reads_thinking and message.reasoning_content:
            values["thinking"] = message.reasoning_content
            if message.tool_calls:
                values["content"] = ""
        if self._reads_parts:
            values["content"] = [{"type": "text", "text": message.content}]
        for call in values.get("tool_calls", ()) if calls == "as objects" else ():
            arguments = _object_in(call["function"]["arguments"])
            call["function"]["arguments"] = {} if isinstance(arguments, str) and self._needs_objects else arguments
        return values

    @cached_property
    def _needs_objects(self) -> bool:
        """Whether arguments that are not an object make the template fail, found out by a probe."""
        values = self._values(_PROBE, "as objects")
        values["messages"][1]["tool_calls"][0]["function"]["arguments"] = _ARGUMENT
        with suppress(TemplateError):
            self.rendered(values, SECONDS / 2)
            return False
        return True

    @cached_property
    def _reads_parts(self) -> bool:
        """Whether the template reads contents as lists of parts alone, found out by a probe."""
        if not self._may_read_parts:
            return False
        parts = [{"type": "text", "text": _ARGUMENT}]
        return [_ARGUMENT in self._rendered_with(content) for content in (_ARGUMENT, parts)] == [False, True]

    def _rendered_with(self, content: Any) -> str:
        """The prompt of one message with this content; empty if the template fails."""
        values = {"add_generation_prompt": True, "messages": [{"role": "user", "content": content}]}
        with suppress(TemplateError):
            return self.rendered(values, SECONDS / 2)
        return ""

    @cached_property
    def _demands(self) -> Demands:
        return Demands(self._probed_talk)

    def _probed_talk(self, messages: Sequence[Message]) -> str | None:
        """The prompt of a conversation, maybe with calls; None if the template fails."""
        called = any(message.tool_calls for message in messages)
        prompt = Prompt(messages, _PROBE.tools if called else ())
        with suppress(TemplateError):
            return self.rendered(self._values(prompt, self._calls if called else "as objects"), SECONDS / 2)
        return None

    def _probed(self, variables: Mapping[str, Any], *messages: Message) -> str | None:
        """The prompt of a short conversation; None if the template fails."""
        prompt = Prompt(messages or (Message("user", "a"),), variables=variables)
        with suppress(TemplateError):
            return self.rendered(self._values(prompt, "as text"), SECONDS / 2)
        return None

    @cached_property
    def _calls(self) -> _Calls:
        """How the template reads calls, found out by a probe."""
        ways: tuple[_Calls, ...] = ("as objects", "as JSON")
        for calls in ways:
            with suppress(TemplateError):
                prompt = self.rendered(self._values(_PROBE, calls), SECONDS / 2)
                if _ARGUMENT in prompt and f"{{'{_ARGUMENT}'" not in prompt:
                    return calls
        return "as text"


def _continuing(values: dict[str, Any]) -> dict[str, Any]:
    """The same values; if the last message is an answer without calls, with a sign at its end, where the prompt ends.

    An empty one is left out.
    """
    *others, last = values["messages"] or [{}]
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return values
    if last["content"] in ("", [{"type": "text", "text": ""}]):
        return {**values, "messages": others}
    sign = unused_sign(values, ())
    content = last["content"]
    ended = content + sign if isinstance(content, str) else [{"type": "text", "text": content[0]["text"] + sign}]
    return {**values, "messages": [*others, {**last, "content": ended}], "add_generation_prompt": False, _SIGN: sign}


def _up_to(sign: str, prompt: str) -> str:
    beginning, *rest = prompt.split(sign)
    if len(rest) != 1:
        raise TemplateError(
            "the model's chat template does not end with the answer to be continued: ask with a message of the user"
        )
    return beginning


def _completed(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool with all that templates expect to be there."""
    function = function_of(tool)
    usual = {"description": "", "parameters": {"type": "object", "properties": {}}}
    missing = {key: value for key, value in usual.items() if function.get(key) is None}
    return {"type": "function", "function": {**function, **missing}}


def _object_in(arguments: str) -> Any:
    """The JSON object that a text is; the text itself if it isn't one."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


class _Deadline:
    """Stops a template after some processor time: a trace function looks at it at each of its lines, and at every
    call."""

    def __init__(self, seconds: float) -> None:
        self._end = thread_time() + seconds
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if thread_time() > self._end:
            raise TemplateError("the model's chat template took too long and was stopped; try another file")
        return self._trace if frame.f_code.co_filename == "<template>" else None


def _reason(error: Exception) -> str:
    return str(error)[:400] or type(error).__name__
