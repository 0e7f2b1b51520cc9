"""`specchat models` and its commands. Each one imports its code when it runs, so that `--help` stays fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specchat.cli.flags import Debug, Json
from specchat.cli.messages import one_line_errors, say
from specchat.errors import WRONG_USAGE

models = typer.Typer(
    help="Find models on the hub, check a pair, download it, and list the models on this machine.",
    epilog="Names are those of `models ls`, aliases, paths, or USER/REPO:QUANT. HF_HOME, HF_TOKEN, HF_ENDPOINT and "
    "HF_HUB_OFFLINE are honoured.",
    rich_markup_mode=None,
)

NoXet = Annotated[bool, typer.Option("--no-xet", help="Use plain HTTPS only, as with HF_HUB_DISABLE_XET=1.")]
Limit = Annotated[int, typer.Option("-n", "--limit", min=1, max=100, help="Number of results. [20]")]
Words = Annotated[list[str], typer.Argument(metavar="TEXT", help="Words in the name of a repository.")]
Repository = Annotated[str, typer.Argument(metavar="USER/REPO", help="A repository of the hub.")]
References = Annotated[
    list[str],
    typer.Argument(metavar="USER/REPO[:QUANT]...", help="Models on the hub; QUANT is a quantisation. [Q4_K_M]"),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A model on this machine, or USER/REPO:QUANT on the hub.")]
Installed = Annotated[str, typer.Argument(metavar="NAME", help="A model on this machine; see `models ls`.")]
All = Annotated[bool, typer.Option("--all", help="Print every value and tensor of the header.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation.")]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="The model that answers.")]
Draft = Annotated[str, typer.Argument(metavar="DRAFT", help="The small model that drafts.", show_default=False)]
Bench = Annotated[bool, typer.Option("--bench", help="Time the drafts that fit, rank them, remember the best.")]
Seconds = Annotated[float, typer.Option("--seconds", min=1, max=3600, help="Seconds for each draft with --bench. [30]")]
Context = Annotated[int | None, typer.Option("-c", "--ctx-size", help="Context size in tokens; 0 is the model's. [0]")]
Alias = Annotated[str, typer.Argument(metavar="ALIAS", help="The new name.")]
Remove = Annotated[bool, typer.Option("--remove", help="Remove the alias.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder with .gguf files.")]


@models.command()
def search(text: Words, limit: Limit = 20, json: Json = False, debug: Debug = False) -> None:
    """Find GGUF repositories on the hub, most downloaded first."""
    with one_line_errors(debug):
        from specchat.cli.models_hub import search as run

        run(" ".join(text), limit, as_json=json)


@models.command()
def files(repository: Repository, json: Json = False, debug: Debug = False) -> None:
    """List the models of a repository with quantisation and size."""
    with one_line_errors(debug):
        from specchat.cli.models_hub import files as run

        run(repository, as_json=json)


@models.command()
def pull(models: References, no_xet: NoXet = False, json: Json = False, debug: Debug = False) -> None:
    """Download models into the Hugging Face cache. After an interruption, the same command continues."""
    with one_line_errors(debug):
        from specchat.cli.models_hub import pull as run

        raise typer.Exit(run(models, xet=not no_xet, as_json=json))


@models.command()
def ls(json: Json = False, debug: Debug = False) -> None:
    """List the models on this machine: hub cache, LM Studio, Ollama, llama.cpp, your own folders."""
    with one_line_errors(debug):
        from specchat.cli.models_library import ls as run

        run(as_json=json)


@models.command()
def show(name: Name, everything: All = False, json: Json = False, debug: Debug = False) -> None:
    """Print a model's header, on this machine or on the hub."""
    with one_line_errors(debug):
        from specchat.cli.models_library import show as run

        run(name, everything=everything, as_json=json)


@models.command()
def rm(name: Installed, yes: Yes = False, debug: Debug = False) -> None:
    """Remove a model from this machine."""
    with one_line_errors(debug):
        from specchat.cli.models_library import rm as run

        raise typer.Exit(run(name, yes=yes))


@models.command()
def pair(
    target: Target,
    draft: Draft = "",
    ctx_size: Context = None,
    bench: Bench = False,
    seconds: Seconds = 30.0,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Check whether a draft fits a target, even before a download. Exit code 1 if it does not.

    With --bench, time the draft, or all drafts on this machine that fit, and remember the best.
    """
    with one_line_errors(debug):
        from specchat.settings.config import read_config

        config = read_config({} if ctx_size is None else {"ctx_size": ctx_size})
        if bench:
            from specchat.cli.models_pair import bench_pairs

            raise typer.Exit(bench_pairs(target, draft, config, seconds, as_json=json))
        if not draft:
            say("name a draft to check the pair, or add --bench to time those on this machine")
            raise typer.Exit(WRONG_USAGE)
        from specchat.cli.models_pair import pair as run

        raise typer.Exit(run(target, draft, config, as_json=json))


@models.command()
def alias(
    name: Alias,
    target: Annotated[str, typer.Argument(metavar="NAME", help="The model that it stands for.")] = "",
    remove: Remove = False,
    debug: Debug = False,
) -> None:
    """Give a model another name."""
    with one_line_errors(debug):
        from specchat.cli.models_library import alias as run

        raise typer.Exit(run(name, target, remove=remove))


@models.command()
def default(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The target. Empty: the built-in pair.")] = "",
    draft: Annotated[str, typer.Argument(metavar="DRAFT", help="Its draft model.")] = "",
    debug: Debug = False,
) -> None:
    """Set the pair for commands without -m."""
    with one_line_errors(debug):
        from specchat.cli.models_library import default as run

        run(target, draft)


@models.command("add-folder")
def add_folder(folder: Folder, debug: Debug = False) -> None:
    """Search a folder of yours for models, too."""
    with one_line_errors(debug):
        from specchat.cli.models_library import add_folder as run

        run(folder)
