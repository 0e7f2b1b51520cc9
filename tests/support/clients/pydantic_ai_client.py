"""Pydantic AI: an agent with a tool, a stream, and objects by calls and by schemas."""

import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tries import API, DONE, SCRIPTED, answered, tried


class City(BaseModel):
    """A city."""

    name: str


def get_weather(city: str) -> str:
    """Returns the weather in a city."""
    return "sunny"


async def main() -> None:
    """Tries an agent."""
    model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=API, api_key="none"))
    agent = Agent(model, tools=[get_weather], model_settings={"max_tokens": 200})
    done = await agent.run("Say hello.")
    answered("answer", done.output)
    tried("usage", done.usage.output_tokens > 0, done.usage)
    done = await agent.run("What is the weather in Rome?")
    answered("call and result", done.output, DONE)
    tried("both messages", len(done.all_messages()) == 4 or not SCRIPTED, done.all_messages())
    async with agent.run_stream("What is the weather in Rome?") as stream:
        answered("stream", await stream.get_output(), DONE)
    rome = City(name="Rome")
    city = (
        await Agent(model, output_type=City, retries=0).run("Give me the final result: the capital of Italy.")
    ).output
    tried("output by a call", city == rome if SCRIPTED else city, city)
    native = Agent(model, output_type=NativeOutput(City), retries=0)
    city = (await native.run("Describe Rome as JSON with its name.")).output
    tried("output by a schema", city == rome if SCRIPTED else city, city)


asyncio.run(main())
