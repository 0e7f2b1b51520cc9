"""What `specchat deploy` prints: how a server is started with the drafts that suit a model. Nothing is executed."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

from specchat.bench.exports import Tool
from specchat.cli.reporting import say
from specchat.errors import ConfigError
from specchat.remote.deploy.commands import PORTS, Where, command, is_file
from specchat.remote.deploy.manifests import compose, kubernetes
from specchat.remote.deploy.planning import Method, Plan, plan
from specchat_assets.catalog import catalog
from specchat_engine.settings import K_LIMIT

FORMS = ("command", "compose", "kubernetes")
_MOST_PORTS = 65535


@dataclass(frozen=True, slots=True)
class Request:
    """What to print: for which server, model and draft, in which form, and where the server will run."""

    tool: str
    model: str | None
    draft: str | None
    k: int | None
    form: str
    gpus: int
    n_ctx: int
    port: int | None


def print_deployment(request: Request) -> int:
    """Prints it and returns the exit code. Raises ConfigError for what cannot be."""
    tool = _one_of("deploy", request.tool, [one.value for one in Tool])
    form = _one_of("--as", request.form, FORMS)
    if request.model is None:
        raise ConfigError(f"name the target with -m: a repository, a file, or one of {', '.join(_with_drafts())}")
    if request.k is not None and not 0 <= request.k <= K_LIMIT:
        raise ConfigError(f"-k is {request.k}: use a whole number from 0 to {K_LIMIT}")
    if request.port is not None and not 0 < request.port <= _MOST_PORTS:
        raise ConfigError(f"--port is {request.port}: use a whole number from 1 to {_MOST_PORTS}")
    planned = plan(Tool(tool), request.model, request.draft, request.k)
    port = request.port or PORTS[planned.tool]
    where = Where("127.0.0.1", port, request.gpus, request.n_ctx)
    match form:
        case "command":
            text = shlex.join(command(planned, where)) + "\n"
        case "compose":
            text = compose(planned, where)
        case _:
            text = kubernetes(planned, where)
    sys.stdout.write(text)
    for note in _notes(planned, where, form):
        say(note)
    return 0


def _notes(planned: Plan, where: Where, form: str) -> list[str]:
    """What one should know about it."""
    drafting = (
        "it does not draft" if planned.method is Method.NONE else f"it drafts with {planned.method}, k {planned.k}"
    )
    notes = [f"{drafting}{f': {planned.why}' if planned.why else ''}"]
    if planned.mixed:
        notes.append("the vocabularies differ in size, so it drafts with the tokens that both have")
    if planned.method is Method.EAGLE3 and planned.tool is Tool.LLAMA_SERVER and not is_file(planned.draft):
        notes.append("llama-server needs the head as GGUF: convert it with convert_hf_to_gguf.py --target-model-dir")
    if planned.method is Method.MTP and planned.tool is Tool.LLAMA_SERVER:
        notes.append("the GGUF file has to carry the MTP layers")
    if form == "kubernetes":
        notes.append("first: kubectl create secret generic specchat-target --from-literal=api-key=KEY")
    notes.append(f"then: specchat chat --remote http://localhost:{where.port}")
    return notes


def _with_drafts() -> list[str]:
    """The targets of the catalog for which it knows a draft."""
    targets = [pair.target for pair in catalog().pairs] + [head.target for head in catalog().heads]
    return list(dict.fromkeys(target.id for target in targets))


def _one_of(what: str, given: str, names: list[str] | tuple[str, ...]) -> str:
    if given.lower() in names:
        return given.lower()
    raise ConfigError(f"{what} is {given!r}: use {', '.join(names[:-1])} or {names[-1]}")
