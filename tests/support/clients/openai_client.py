"""OpenAI's own client: chat completions and responses."""

from openai import OpenAI
from pydantic import BaseModel
from tries import API, DONE, SCRIPTED, answered, tried

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "The weather in a city", "parameters": PARAMETERS}


class City(BaseModel):
    """A city."""

    name: str


client = OpenAI(base_url=API, api_key="none", max_retries=0)
chat, responses = client.chat.completions, client.responses
model = client.models.list().data[0].id
hello = [{"role": "user", "content": "Say hello."}]

first = chat.create(model=model, messages=hello, max_tokens=64)
answered("answer", first.choices[0].message.content)
tried("usage", first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens > 0, first.usage)
chunks = [*chat.create(model=model, messages=hello, max_tokens=64, stream=True, stream_options={"include_usage": True})]
answered("stream", "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
tried("usage of a stream", chunks[-1].usage.completion_tokens > 0, chunks[-1])

question = [{"role": "user", "content": "What is the weather in Rome?"}]
tools = [{"type": "function", "function": WEATHER}]
asked = chat.create(
    model=model, messages=question, tools=tools, tool_choice="required", parallel_tool_calls=False
).choices[0]
(call,) = asked.message.tool_calls
tried("call", asked.finish_reason == "tool_calls" and call.function.name == "get_weather", asked)
result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
last = chat.create(model=model, messages=[*question, asked.message, result], tools=tools, max_tokens=64)
answered("result", last.choices[0].message.content, DONE)
with chat.stream(
    model=model, messages=question, tools=tools, tool_choice="required", parallel_tool_calls=False
) as stream:
    (call,) = stream.get_final_completion().choices[0].message.tool_calls
tried(
    "call in a stream",
    call.function.name == "get_weather" and (not SCRIPTED or "Rome" in call.function.arguments),
    call,
)

describe = [{"role": "user", "content": "Describe Rome as JSON with its name."}]
city = chat.parse(model=model, messages=describe, response_format=City).choices[0].message.parsed
tried("parse", city == City(name="Rome") if SCRIPTED else city, city)

answered("responses", responses.create(model=model, input="Say hello.", max_output_tokens=64).output_text)
with responses.stream(model=model, input="Say hello.", max_output_tokens=64) as stream:
    answered("responses stream", stream.get_final_response().output_text)
items = [{"role": "user", "content": "What is the weather in Rome?"}]
tools = [{"type": "function", "strict": False, **WEATHER}]
asked = responses.create(model=model, input=items, tools=tools, tool_choice="required", parallel_tool_calls=False)
(call,) = (item for item in asked.output if item.type == "function_call")
tried("responses call", call.name == "get_weather", call)
items += [*asked.output, {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}]
answered("responses result", responses.create(model=model, input=items, tools=tools).output_text, DONE)
city = responses.parse(model=model, input=describe, text_format=City).output_parsed
tried("responses parse", city == City(name="Rome") if SCRIPTED else city, city)
