"""llm, the command-line tool: an answer, a stream, usage, a tool and a schema."""

import json
from pathlib import Path

from tries import API, DONE, SCRIPTED, answered, run, tried

MODEL = f"""
- model_id: local
  model_name: any
  api_base: {API}
  supports_tools: true
  supports_schema: true
"""
WEATHER = "def get_weather(city: str) -> str:\n    'The weather in a city'\n    return 'sunny'\n"


def llm(*words: str) -> str:
    """What it prints for these words."""
    return run("llm", *words, LLM_USER_PATH=str(home))


home = Path("llm").absolute()
home.mkdir()
(home / "extra-openai-models.yaml").write_text(MODEL)
answered("answer", llm("-m", "local", "--no-stream", "Say hello."))
answered("stream", llm("-m", "local", "Say hello."))
tried("usage", json.loads(llm("logs", "--json", "-n", "1"))[0]["output_tokens"] > 0)
answered("tool", llm("-m", "local", "--functions", WEATHER, "What is the weather in Rome?"), DONE)
calls = json.loads(llm("logs", "--json", "-n", "0"))
tried("call", any(each["tool_calls"] for each in calls) or not SCRIPTED, calls)
city = json.loads(llm("-m", "local", "--schema", "name str", "Describe Rome as JSON with its name."))
tried("schema", city == {"name": "Rome"} if SCRIPTED else city, city)
