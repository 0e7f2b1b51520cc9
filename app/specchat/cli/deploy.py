"""`specchat deploy`: how a server is started with the drafts that suit a model. Nothing is executed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from specchat.cli.flags import Debug
from specchat.cli.messages import one_line_errors, say
from specchat.errors import ConfigError
from specchat_engine.settings import K_LIMIT

if TYPE_CHECKING:
    from specchat.remote.deploy.commands import Where
    from specchat.remote.deploy.plan import ServerPlan

FORMS = ("command", "compose", "kubernetes")
_MOST_PORTS = 65535

Server = Annotated[str, typer.Argument(metavar="SERVER", help="vllm, sglang or llama-server.")]
Model = Annotated[
    str | None, typer.Option("-m", "--model", metavar="NAME", help="Target: of the catalog, of the hub, or a file.")
]
Draft = Annotated[
    str | None,
    typer.Option("-d", "--draft", metavar="NAME", help="Draft model, head, lookup, mtp or none. [the catalog's]"),
]
Length = Annotated[int | None, typer.Option("-k", metavar="N", help="Most tokens in a draft. [the catalog's]")]
Form = Annotated[str, typer.Option("--as", metavar="FORM", help="command, compose or kubernetes.")]
Gpus = Annotated[int, typer.Option("--gpus", min=0, help="GPUs that share the model.")]
Context = Annotated[int, typer.Option("-c", "--ctx-size", min=0, help="Context in tokens; 0 is the model's own.")]
Port = Annotated[int | None, typer.Option("--port", help="Port of the server. [its usual one]")]


def deploy(
    server: Server,
    model: Model = None,
    draft: Draft = None,
    k: Length = None,
    form: Form = "command",
    gpus: Gpus = 1,
    ctx_size: Context = 0,
    port: Port = None,
    debug: Debug = False,
) -> None:
    """Print how to start a server with the drafts that suit a model.

    A command line, a compose file or a manifest for Kubernetes. Nothing is executed.
    """
    with one_line_errors(debug):
        from specchat.bench.exports import ExportTarget
        from specchat.remote.deploy.commands import PORTS, Where, command
        from specchat.remote.deploy.manifests import compose, kubernetes
        from specchat.remote.deploy.plan import plan

        tool, form = _one_of("deploy", server, [*ExportTarget]), _one_of("--as", form, FORMS)
        if model is None:
            raise ConfigError(f"name the target with -m: a repository, a file, or one of {', '.join(_with_drafts())}")
        if k is not None and not 0 <= k <= K_LIMIT:
            raise ConfigError(f"-k is {k}: use a whole number from 0 to {K_LIMIT}")
        if port is not None and not 0 < port <= _MOST_PORTS:
            raise ConfigError(f"--port is {port}: use a whole number from 1 to {_MOST_PORTS}")
        planned = plan(ExportTarget(tool), model, draft, k)
        where = Where("127.0.0.1", port or PORTS[planned.tool], gpus, ctx_size)
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


def _notes(planned: ServerPlan, where: Where, form: str) -> list[str]:
    """What one should know about it."""
    from specchat.bench.exports import ExportTarget
    from specchat.remote.deploy.commands import is_file
    from specchat.remote.deploy.plan import Method

    drafting = (
        "it does not draft" if planned.method is Method.NONE else f"it drafts with {planned.method}, k {planned.k}"
    )
    notes = [f"{drafting}{f': {planned.why}' if planned.why else ''}"]
    if planned.mixed:
        notes.append("the vocabularies differ in size, so it drafts with the tokens that both have")
    if planned.method is Method.EAGLE3 and planned.tool is ExportTarget.LLAMA_SERVER and not is_file(planned.draft):
        notes.append("llama-server needs the head as GGUF: convert it with convert_hf_to_gguf.py --target-model-dir")
    if planned.method is Method.MTP and planned.tool is ExportTarget.LLAMA_SERVER:
        notes.append("the GGUF file has to carry the MTP layers")
    if form == "kubernetes":
        notes.append("first: kubectl create secret generic specchat-target --from-literal=api-key=KEY")
    notes.append(f"then: specchat chat --remote http://localhost:{where.port}")
    return notes


def _with_drafts() -> list[str]:
    """The targets of the catalog for which it knows a draft."""
    from specchat_assets.catalog import catalog

    targets = [pair.target for pair in catalog().pairs] + [head.target for head in catalog().heads]
    return list(dict.fromkeys(target.id for target in targets))


def _one_of(what: str, given: str, names: Sequence[str]) -> str:
    if given.lower() in names:
        return given.lower()
    raise ConfigError(f"{what} is {given!r}: use {', '.join(names[:-1])} or {names[-1]}")
