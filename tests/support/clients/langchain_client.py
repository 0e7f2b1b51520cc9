"""LangChain: ChatOpenAI with tools and structured output."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from tries import API, DONE, SCRIPTED, answered, tried


class City(BaseModel):
    """A city."""

    name: str


@tool
def get_weather(city: str) -> str:
    """Returns the weather in a city."""
    return "sunny"


model = ChatOpenAI(model="any", base_url=API, api_key="none", max_retries=0, max_tokens=200, stream_usage=True)
first = model.invoke("Say hello.")
answered("answer", first.text)
tried("usage", first.usage_metadata["output_tokens"] > 0, first.usage_metadata)
chunks = [*model.stream("Say hello.")]
answered("stream", "".join(chunk.text for chunk in chunks))
tried("usage of a stream", any(chunk.usage_metadata for chunk in chunks), chunks)

question = HumanMessage("What is the weather in Rome?")
asked = model.bind_tools([get_weather], tool_choice="any").invoke([question])
(call,) = asked.tool_calls
tried("call", call["name"] == "get_weather" and call["args"]["city"], asked)
result = ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])
answered("result", model.bind_tools([get_weather]).invoke([question, asked, result]).text, DONE)

describe = "Describe Rome as JSON with its name."
city = model.with_structured_output(City).invoke(describe)
tried("structured output", city == City(name="Rome") if SCRIPTED else city, city)
city = model.with_structured_output(City, method="function_calling").invoke("Which City is the capital of Italy?")
tried("structured output by a call", city == City(name="Rome") if SCRIPTED else city, city)
