"""Requests of OpenAI's chat API: POST /v1/chat/completions."""

from __future__ import annotations

from pydantic import Field

from specchat.engine_process.protocol import Generate, Offer
from specchat.serve.api_errors import bad
from specchat.serve.requests.base import MaxTokens, ModelOffer, OpenaiSampling, Wire
from specchat.serve.requests.content import ContentPart, GivenMessage, check_last, check_messages, joined
from specchat.serve.requests.formats import ResponseFormat
from specchat.serve.requests.tools import Mode, NamedChoice, RequestedTool, allowed_tools, chosen_tools


class PredictedText(Wire):
    """A text that the answer will mostly repeat."""

    type: str = "content"
    content: str | list[ContentPart] = ""


class ChatRequest(OpenaiSampling):
    """A conversation to be answered."""

    messages: list[GivenMessage]
    max_tokens: MaxTokens = None
    max_completion_tokens: MaxTokens = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    response_format: ResponseFormat | None = None
    tools: list[RequestedTool] | None = None
    tool_choice: Mode | NamedChoice | None = None
    parallel_tool_calls: bool | None = None
    prediction: PredictedText | None = None
    reasoning_effort: str | None = None
    continue_final_message: bool | None = None

    def requests(self, offer: ModelOffer) -> tuple[Generate, ...]:
        """A request to the engine for each answer. Raises ApiError for what the models cannot serve."""
        check_messages(self.messages, "messages")
        tools = self._tools()
        grammar = self.response_format.grammar("response_format") if self.response_format else ""
        messages = tuple(message.for_engine(f"messages[{number}]") for number, message in enumerate(self.messages))
        request = Generate(
            messages,
            seed=self.first_seed,
            settings=self.settings(
                offer,
                max_tokens=self.max_completion_tokens or self.max_tokens,
                stop=self.stops,
                grammar=grammar,
            ),
            tools=tools,
            variables=self.variables(offer, self.reasoning_effort),
            prediction=joined(self.prediction.content, "prediction.content") if self.prediction else "",
            logprobs=self._logprobs(),
        )
        check_last(request, "messages", self.continue_final_message)
        return self.repeated(request)

    def _logprobs(self) -> int | None:
        if self.logprobs:
            return self.top_logprobs or 0
        if self.top_logprobs:
            raise bad("top_logprobs needs logprobs: true", "top_logprobs")
        return None

    def _tools(self) -> Offer:
        offered = [function for tool in self.tools or () if (function := tool.declared)]
        choice, named = self.tool_choice, None
        if isinstance(choice, NamedChoice) and choice.allowed_tools:
            names = [tool.chosen for tool in choice.allowed_tools.tools]
            offered = allowed_tools(offered, names, "tool_choice.allowed_tools")
            choice = choice.allowed_tools.mode
        elif isinstance(choice, NamedChoice):
            if not choice.chosen:
                raise bad("tool_choice names no function", "tool_choice.function")
            named, choice = choice.chosen, None
        parallel = self.parallel_tool_calls is not False
        return chosen_tools(offered, choice, named=named, parallel=parallel, param="tool_choice")
