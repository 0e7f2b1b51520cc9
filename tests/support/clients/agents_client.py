"""OpenAI's Agents SDK: an agent with a tool, through both APIs."""

import asyncio

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel
from tries import API, DONE, SCRIPTED, answered, tried


class City(BaseModel):
    """A city."""

    name: str


asked_cities = []


@function_tool
def get_weather(city: str) -> str:
    """Returns the weather in a city."""
    asked_cities.append(city)
    return "sunny"


async def main() -> None:
    """Tries both APIs."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=API, api_key="none", max_retries=0)
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        api = "chat" if kind is OpenAIChatCompletionsModel else "responses"
        common = {"model": kind("any", client), "model_settings": ModelSettings(max_tokens=200, include_usage=True)}
        agent = Agent("helper", instructions="Be brief.", tools=[get_weather], **common)
        done = await Runner.run(agent, "Say hello.")
        answered(f"{api}: answer", done.final_output)
        tried("usage", done.context_wrapper.usage.output_tokens > 0, done.context_wrapper.usage)
        asked_cities.clear()
        done = await Runner.run(agent, "What is the weather in Rome?")
        answered("call and result", done.final_output, DONE)
        tried("city", asked_cities == ["Rome"] or not SCRIPTED, asked_cities)
        streamed = Runner.run_streamed(agent, "What is the weather in Rome?")
        events = [event async for event in streamed.stream_events()]
        answered("stream", streamed.final_output, DONE)
        tried("events", len(events) > 3, events)
        typed = Agent("writer", output_type=City, **common)
        city = (await Runner.run(typed, "Describe Rome as JSON with its name.")).final_output
        tried("structured output", city == City(name="Rome") if SCRIPTED else city, city)


asyncio.run(main())
