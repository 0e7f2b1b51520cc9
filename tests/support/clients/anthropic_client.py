"""Anthropic's own client: messages."""

from anthropic import Anthropic
from pydantic import BaseModel
from tries import DONE, SCRIPTED, SERVER, answered, tried

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"name": "get_weather", "description": "The weather in a city", "input_schema": PARAMETERS}]


class City(BaseModel):
    """A city."""

    name: str


messages = Anthropic(base_url=SERVER, api_key="none", max_retries=0).messages
hello = [{"role": "user", "content": "Say hello."}]
answer = messages.create(model="any", max_tokens=64, messages=hello)
answered("answer", answer.content[0].text)
tried("usage", answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0, answer.usage)
with messages.stream(model="any", max_tokens=64, messages=hello) as stream:
    answered("stream", "".join(stream.text_stream))
    tried("usage of a stream", stream.get_final_message().usage.output_tokens > 0)
tried("count", messages.count_tokens(model="any", messages=hello).input_tokens > 0)

question = [{"role": "user", "content": "What is the weather in Rome?"}]
asked = messages.create(model="any", max_tokens=200, messages=question, tools=TOOLS, tool_choice={"type": "any"})
(call,) = (block for block in asked.content if block.type == "tool_use")
tried("call", asked.stop_reason == "tool_use" and call.name == "get_weather" and call.input["city"], asked)
result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]}
said = [*question, {"role": "assistant", "content": asked.content}, result]
last = messages.create(model="any", max_tokens=64, messages=said, tools=TOOLS)
answered("result", "".join(block.text for block in last.content if block.type == "text"), DONE)
with messages.stream(
    model="any", max_tokens=200, messages=question, tools=TOOLS, tool_choice={"type": "any"}
) as stream:
    (call,) = (block for block in stream.get_final_message().content if block.type == "tool_use")
tried("call in a stream", call.name == "get_weather" and call.input["city"], call)

describe = [{"role": "user", "content": "Describe Rome as JSON with its name."}]
city = messages.parse(model="any", max_tokens=200, messages=describe, output_format=City).parsed_output
tried("parse", city == City(name="Rome") if SCRIPTED else city, city)
