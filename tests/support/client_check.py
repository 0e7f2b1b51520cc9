"""Lets real clients of `specchat serve` do what their users do every minute, and prints what became of it.

    python -m support.client_check --folder FOLDER [--model FILE] [--only NAME]

Each client gets an environment of its own in FOLDER, from PyPI or npm, and runs one short script of `clients/`. A tiny
model with scripted answers answers them, or a real one with `--model`. Of a client that cannot be installed the table
says "not tried" and why. The exit code is 1 if a client fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.calling_models import DONE, HELLO, call_text, write_calling_model
from support.real_server import real_server

_SCRIPTS: Final = Path(__file__).parent / "clients"
_SECONDS: Final = 3600
"""The longest time for installing a client, and for its script."""

_CONTEXT: Final = "32768"
"""Agents send instructions of 10,000 tokens and more."""

_NODE: Final = "node@24"

_NOTE: Final = "echo noon > notes.txt"
_ANSWERS: Final = {
    "What is the weather in Rome?": call_text("get_weather", city="Rome"),
    "Describe Rome as JSON": json.dumps({"name": "Rome"}),
    "Which City": call_text("City", name="Rome"),
    "Which PartialCity": call_text("PartialCity", name="Rome"),
    "the final result": call_text("final_result", name="Rome"),
    "replace the word": "greeting.txt\n```\nGood noon\n```\n",
    "Use exec_command": call_text("exec_command", cmd=_NOTE),
    "Use bash": call_text("bash", command=_NOTE, description="Write a note"),
    "Use run_shell_command": call_text("run_shell_command", command=_NOTE, is_background=False),
}
"""The scripted answers to messages with these words."""

_WRITTEN: Final = {'"': 'Rome"'}
"""The only string of an answer whose other texts a schema dictates."""

_HIDDEN: Final = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_QUIET: Final = {
    "NO_COLOR": "1",
    "NO_PROXY": "127.0.0.1,localhost",
    "OPENAI_API_KEY": "none",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
"""Variables of all scripts. Clients of OpenAI want a key even where a server needs none."""


class NotTried(Exception):
    """A client cannot be installed here."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client: its package, which versions of it, its script, and what its users install beside it."""

    package: str
    versions: str
    script: str
    beside: tuple[str, ...] = ()

    @property
    def is_from_npm(self) -> bool:
        """True if npm has the package, and not PyPI."""
        return self.versions.startswith("@")

    @property
    def wanted(self) -> tuple[str, ...]:
        """What is installed."""
        return (self.package + self.versions, *self.beside)


CLIENTS: Final = (
    Client("openai", ">=3,<4", "openai_client.py"),
    Client("anthropic", ">=2,<3", "anthropic_client.py"),
    Client("llm", "", "llm_client.py"),
    Client("litellm", "", "litellm_client.py"),
    Client("langchain-openai", "", "langchain_client.py"),
    Client("instructor", "", "instructor_client.py"),
    Client("pydantic-ai-slim", "[openai]", "pydantic_ai_client.py"),
    Client("openai-agents", "", "agents_client.py"),
    Client("aider-chat", "", "aider_client.py"),
    Client("ai", "@latest", "ai_sdk_client.mjs", ("@ai-sdk/openai-compatible@latest", "zod@latest", _NODE)),
    Client("@openai/codex", "@latest", "codex_client.py"),
    Client("opencode-ai", "@latest", "opencode_client.py"),
    Client("@qwen-code/qwen-code", "@latest", "qwen_code_client.py", (_NODE,)),
)


@dataclass(frozen=True, slots=True)
class Environment:
    """A client and the folder that it is installed in."""

    client: Client
    home: Path

    @property
    def programs(self) -> Path:
        """The folder with the programs of the client."""
        return self.home / ("node_modules/.bin" if self.client.is_from_npm else "bin")

    @property
    def command(self) -> tuple[str, ...]:
        """What runs the script: the Python or node of the environment if it has one, else this Python."""
        program = self.programs / ("node" if self.client.script.endswith(".mjs") else "python")
        return (str(program if program.exists() else sys.executable), str(_SCRIPTS / self.client.script))

    @property
    def version(self) -> str:
        """The installed version of the client."""
        package = self.client.package
        if self.client.is_from_npm:
            described = self.home / "node_modules" / package / "package.json"
            return str(json.loads(described.read_text("utf-8"))["version"])
        printed = f"from importlib.metadata import version; print(version({package!r}))"
        return subprocess.check_output([self.programs / "python", "-c", printed], text=True).strip()

    def install(self) -> None:
        """Installs the client unless it is installed. Raises NotTried with the reason if that fails."""
        stamp, wanted = self.home / ".ready", " ".join(self.client.wanted)
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return
        print(f"== installing {wanted}", flush=True)  # noqa: T201
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        if self.client.is_from_npm:
            if shutil.which("npm") is None:
                raise NotTried("npm is not installed")
            _install("npm", "install", "--no-audit", "--no-fund", "--prefix", str(self.home), *self.client.wanted)
        else:
            _install(sys.executable, "-m", "venv", "--without-pip", str(self.home))
            pip = (sys.executable, "-m", "pip", "--python", str(self.programs / "python"))
            _install(*pip, "--disable-pip-version-check", "install", "--quiet", *self.client.wanted)
        stamp.write_text(wanted, "utf-8")


def _install(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS)
    if done.returncode:
        raise NotTried(_last_line(done.stderr or done.stdout))


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it printed no error"


def check(environment: Environment, values: Mapping[str, str]) -> tuple[str, str]:
    """Runs the script of a client. Returns what was tried, and "ok" or the line that failed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        home, project = Path(work) / "home", Path(work) / "project"
        home.mkdir()
        project.mkdir()
        variables = {name: value for name, value in os.environ.items() if name not in _HIDDEN} | _QUIET
        variables |= {f"CLIENT_CHECK_{name}": value for name, value in values.items()}
        variables |= {"CLIENT_CHECK_PROGRAMS": str(environment.programs), "HOME": str(home), "PWD": str(project)}
        try:
            done = subprocess.run(
                environment.command, cwd=project, env=variables, capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return "", f"FAILED: the script took more than {_SECONDS} seconds"
    tried = ", ".join(done.stdout.splitlines())
    return tried, "ok" if done.returncode == 0 else f"FAILED: {_last_line(done.stderr)}"


def row(environment: Environment, values: Mapping[str, str]) -> tuple[str, str, str]:
    """Installs and checks a client. Returns its version, what was tried, and how it ended."""
    try:
        environment.install()
    except NotTried as error:
        return "", "", f"not tried: {error}"
    return (environment.version, *check(environment, values))


def main() -> int:
    """Checks every client, or the one whose script has this name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="the folder with the environments of the clients")
    parser.add_argument("--model", type=Path, help="a real model that answers")
    parser.add_argument("--only", default="", help="how the names of the scripts that run begin")
    options = parser.parse_args()
    names = {client.script.partition("_client")[0]: client for client in CLIENTS}
    chosen = {name: client for name, client in names.items() if name.startswith(options.only)}
    if not chosen:
        parser.error(f"no client is called {options.only!r}: there are {', '.join(names)}")
    well = True
    with tempfile.TemporaryDirectory() as work:
        model = options.model or write_calling_model(Path(work) / "scripted.gguf", _ANSWERS, _WRITTEN)
        threads = () if options.model else ("-t", "1")
        with real_server("-m", model, "-c", _CONTEXT, *threads) as server:
            scripted = str(int(options.model is None))
            values = {"SERVER": server.url, "SCRIPTED": scripted, "HELLO": HELLO, "DONE": DONE}
            for name, client in chosen.items():
                version, tried, outcome = row(Environment(client, options.folder.absolute() / name), values)
                listed = f"{tried}: " if tried else ""
                print(f"{client.package:22}{version:11}{listed}{outcome}", flush=True)  # noqa: T201
                well &= not outcome.startswith("FAILED")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
