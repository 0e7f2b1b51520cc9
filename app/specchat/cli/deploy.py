"""`specchat deploy`: its flags. What it prints is in `deployments`."""

from __future__ import annotations

from typing import Annotated

import typer

from specchat.cli.reporting import one_line_errors
from specchat.cli.store import Debug

Tool = Annotated[str, typer.Argument(metavar="SERVER", help="vllm, sglang or llama-server.")]
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
    server: Tool,
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
        from specchat.cli.deployments import Request, print_deployment

        raise typer.Exit(print_deployment(Request(server, model, draft, k, form, gpus, ctx_size, port)))
