"""LiteLLM: what programs send that speak to any provider."""

import json

from litellm import completion
from tries import API, DONE, SCRIPTED, answered, tried

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "The weather in a city", "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": WEATHER}]
CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


def ask(*messages, **more):
    """An answer to messages."""
    return completion(model="openai/any", api_base=API, api_key="none", messages=[*messages], max_tokens=200, **more)


def user(text):
    """A message."""
    return {"role": "user", "content": text}


first = ask(user("Say hello."))
answered("answer", first.choices[0].message.content)
tried("usage", first.usage.completion_tokens > 0, first.usage)
chunks = [*ask(user("Say hello."), stream=True, stream_options={"include_usage": True})]
answered("stream", "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
tried("usage of a stream", any(getattr(chunk, "usage", None) for chunk in chunks), chunks[-1])

question = user("What is the weather in Rome?")
asked = ask(question, tools=TOOLS, tool_choice="required").choices[0].message
(call,) = asked.tool_calls
tried("call", call.function.name == "get_weather" and json.loads(call.function.arguments)["city"], asked)
result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
answered("result", ask(question, asked.model_dump(), result, tools=TOOLS).choices[0].message.content, DONE)

form = {"type": "json_schema", "json_schema": {"name": "city", "schema": CITY, "strict": True}}
described = ask(user("Describe Rome as JSON with its name."), response_format=form)
city = json.loads(described.choices[0].message.content)
tried("schema", city == {"name": "Rome"} if SCRIPTED else city, city)
