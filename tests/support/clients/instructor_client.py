"""Instructor: objects from answers, by calls and by schemas."""

import instructor
from openai import OpenAI
from pydantic import BaseModel
from tries import API, SCRIPTED, tried


class City(BaseModel):
    """A city."""

    name: str


ROME = {"name": "Rome"}
TEXT = "Describe Rome as JSON with its name."
PROMPTS = {
    instructor.Mode.TOOLS: ("Which City is the capital of Italy?", "Which PartialCity is the capital of Italy?"),
    instructor.Mode.JSON: (TEXT, TEXT),
    instructor.Mode.JSON_SCHEMA: (TEXT, TEXT),
}
"""A prompt for an answer and one for a stream, in which the function to be called has another name."""


def asked(prompt):
    """The arguments that ask for a city."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": "any", "messages": messages, "response_model": City, "max_retries": 0, "max_tokens": 200}


for mode, (prompt, streamed) in PROMPTS.items():
    client = instructor.from_openai(OpenAI(base_url=API, api_key="none", max_retries=0), mode=mode)
    city, whole = client.create_with_completion(**asked(prompt))
    tried(f"mode {mode.value}", city.model_dump() == ROME if SCRIPTED else city, city)
    tried("usage", whole.usage.completion_tokens > 0, whole.usage)
    *_, city = client.create_partial(**asked(streamed))
    tried(f"mode {mode.value} in a stream", city.model_dump() == ROME if SCRIPTED else city, city)
