"""Instructor: objects from answers, by calls and by schemas."""

import instructor
from openai import OpenAI
from pydantic import BaseModel
from tries import API, SCRIPTED, tried


class City(BaseModel):
    """A city."""

    name: str
    river: str


ROME = {"name": "Rome", "river": "Tiber"}
CALL = [{"role": "user", "content": "Which City is the capital of Italy?"}]
TEXT = [{"role": "user", "content": "Describe Rome as JSON with its name and its river."}]


def client(mode):
    """A client that asks in this mode."""
    return instructor.from_openai(OpenAI(base_url=API, api_key="none", max_retries=0), mode=mode)


for mode, messages in (
    (instructor.Mode.TOOLS, CALL),
    (instructor.Mode.JSON, TEXT),
    (instructor.Mode.JSON_SCHEMA, TEXT),
):
    asked = {"model": "any", "messages": messages, "response_model": City, "max_retries": 0, "max_tokens": 200}
    city, whole = client(mode).create_with_completion(**asked)
    tried(f"mode {mode.value}", city.model_dump() == ROME if SCRIPTED else city, city)
    tried("usage", whole.usage.completion_tokens > 0, whole.usage)
    *_, city = client(mode).create_partial(**asked)
    tried(f"mode {mode.value} in a stream", city.model_dump() == ROME if SCRIPTED else city, city)
