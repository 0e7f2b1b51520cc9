"""The commands of `specchat`, their flags and exit codes. The module of a command is imported when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from specchat import __version__
from specchat.cli.deploy import deploy
from specchat.cli.flags import Debug, Flags, Json, Target, takes_settings
from specchat.cli.learn import learn
from specchat.cli.messages import one_line_errors, say
from specchat.cli.models import models
from specchat.cli.sessions import sessions
from specchat.cli.store import store
from specchat.errors import ConfigError
from specchat.settings.constraints import GRAMMAR_KEYS

if TYPE_CHECKING:
    from specchat.cli.remote import RemoteChat


class Commands(TyperGroup):
    """The commands. The flags of `chat` are completed with them, as they need no command."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What the shell offers for the first word."""
        words: list[Any] = [*super().shell_complete(ctx, incomplete)]
        chat = self.get_command(ctx, "chat")
        if chat is not None and incomplete.startswith("-"):
            words += chat.shell_complete(typer.Context(chat, info_name="chat", parent=ctx), incomplete)
        return words


app = typer.Typer(
    cls=Commands,
    help="Chat with local GGUF models and see speculative decoding at work. Without a command it opens the chat.",
    epilog="`specchat COMMAND --help` lists its flags. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

app.add_typer(models, name="models")
app.add_typer(store, name="store")
app.add_typer(sessions, name="sessions")
app.add_typer(learn, name="learn")

Prompt = Annotated[str | None, typer.Argument(metavar="PROMPT", help="What to ask. A pipe is read, too.")]
Prediction = Annotated[
    Path | None,
    typer.Option("--prediction", metavar="FILE", help="Text that the answer will mostly repeat: lookup drafts it."),
]

Remote = Annotated[
    str | None,
    typer.Option("--remote", metavar="URL", help="Answer with a server: vLLM, SGLang, llama-server, OpenAI's API."),
]
RemoteModel = Annotated[
    str | None, typer.Option("--remote-model", metavar="NAME", help="Which of its models. [the first]")
]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", metavar="KEY", envvar="SPECCHAT_API_KEY", help="Key for the server; it is never stored."),
]
Attach = Annotated[
    str | None,
    typer.Option("--attach", metavar="URL", help="Ask nothing; watch the answers of a `specchat serve --watch on`."),
]
NoRemote = Annotated[str | None, typer.Option("--remote", hidden=True)]

Plain = Annotated[bool, typer.Option("--plain", help="Chat line by line: for screen readers and pipes.")]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="[ID|last]", help="Continue a stored session; without an id, the last."),
]

Theme = Annotated[
    str | None, typer.Option("--theme", metavar="NAME", help="Colours for this run; /theme in the chat keeps them.")
]

Vi = Annotated[bool, typer.Option("--vi", help="vi's keys in the prompt; /vi in the chat switches them.")]

Prompts = Annotated[int, typer.Option("--prompts", min=1, help="Number of prompts for each kind of text.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Kind of text, repeatable, such as code, thoughts or calls.", metavar="NAME"),
]

ShownImage = Annotated[
    Path | None,
    typer.Option("--image", metavar="FILE", help="Ask after a message with this PNG or JPEG, which the model sees."),
]
Images = Annotated[
    list[Path] | None,
    typer.Option("--image", metavar="FILE", help="Picture that the prompt is about; repeatable."),
]
Arms = Annotated[
    str | None,
    typer.Option(
        "--arms", metavar="LIST", help="What to compare, such as none,model:4,lookup:8,hybrid:auto. [usual k]"
    ),
]
Temperatures = Annotated[
    list[float] | None,
    typer.Option("--temp", metavar="FLOAT", help="Temperature; 0 is greedy. Repeatable. [0 and 0.8]"),
]
PromptsFile = Annotated[
    Path | None,
    typer.Option(
        "--prompts", help="File with one prompt a line, or .toml with prompts = [...] under each [kind]. [built in]"
    ),
]
Repeats = Annotated[int | None, typer.Option("--repeats", min=1, help="Answers to each prompt with each arm. [2]")]
Chart = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a chart.")]
Export = Annotated[
    str | None,
    typer.Option("--export", metavar="TOOL", help="Print only a command line for llama-server or vllm on stdout."),
]
Compare = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--compare", metavar="A.json B.json", help="Measure nothing; compare two files that --json printed."),
]

TraceFile = Annotated[Path, typer.Argument(metavar="FILE", help="File that `run --json` printed; - is standard input.")]
Speed = Annotated[str, typer.Option("--speed", metavar="FACTOR", help="Speed, such as 2 or 0.5, or max. [1]")]
Turn = Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn, counted from 1. [all]")]
ExportFile = Annotated[
    Path | None,
    typer.Option("-o", "--export", metavar="FILE", help="Write .html (plays it back), .svg, .md or .jsonl."),
]
Raw = Annotated[bool, typer.Option("--raw", help="Keep control characters when the output is a pipe or a file.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]

OnScreen = Annotated[bool, typer.Option("--tui", help="Play it in the terminal app, with figures and keys.")]

Bundle = Annotated[
    Path | None,
    typer.Option("--bundle", metavar="FILE.zip", help="Pack versions, findings, logs and a trace for a bug report."),
]
WithConversation = Annotated[
    bool,
    typer.Option("--with-conversation", help="Pack the conversation, too; otherwise no text of yours."),
]


Examined = Annotated[
    str | None, typer.Option("-m", "--model", metavar="FILE|NAME", help="Measure this model instead of the machine.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"specchat {__version__}")
        raise typer.Exit


@app.callback()
def specchat(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Takes the flags before a command."""
    del version


def _remote_chat(flags: Flags, remote: str | None, remote_model: str | None, api_key: str | None) -> RemoteChat | None:
    """The chat with a server; None without one."""
    if remote is None:
        if remote_model is not None:
            raise ConfigError("--remote-model names a model of a server: give --remote URL as well")
        return None
    from specchat.cli.remote import remote_chat

    return remote_chat(flags, remote, remote_model, api_key)


def _refuse_remote(command: str, remote: str | None) -> None:
    if remote is not None:
        raise ConfigError(f"`{command}` needs a model on this machine: omit --remote")


@app.command()
@takes_settings()
def chat(
    plain: Plain = False,
    resume: Resume = None,
    theme: Theme = None,
    vi: Vi = False,
    remote: Remote = None,
    remote_model: RemoteModel = None,
    attach: Attach = None,
    api_key: ApiKey = None,
    debug: Debug = False,
    *,
    flags: Flags,
) -> None:
    """Open the terminal chat."""
    with one_line_errors(debug):
        if attach is not None:
            from specchat.cli.attach import attach as attach_to

            others = {"--remote": remote, "--remote-model": remote_model, "--resume": resume}
            raise typer.Exit(attach_to(attach, api_key, flags, others, plain=plain, theme=theme))
        from specchat.cli.chat import open_chat
        from specchat.settings.config import read_config

        flags = {**flags, "vi_keys": True} if vi else flags
        server = _remote_chat(flags, remote, remote_model, api_key)
        raise typer.Exit(open_chat(read_config(flags), resume, plain=plain, theme=theme, remote=server))


@app.command()
@takes_settings()
def run(
    prompt: Prompt = None,
    images: Images = None,
    prediction: Prediction = None,
    json: Json = False,
    remote: Remote = None,
    remote_model: RemoteModel = None,
    api_key: ApiKey = None,
    debug: Debug = False,
    *,
    flags: Flags,
) -> None:
    """Stream one answer and its statistics."""
    with one_line_errors(debug):
        from specchat.chat.attachments import images_in_files
        from specchat.cli.run import answer_once, read_prediction, read_prompt
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        text = read_prompt(prompt)
        if not text.strip():
            say("there is nothing to answer: give a prompt, or pipe one in")
            raise typer.Exit(2)
        predicted, shown = read_prediction(prediction), images_in_files(images or ())
        if (server := _remote_chat(flags, remote, remote_model, api_key)) is not None:
            from specchat.cli.run_remote import answer_remotely

            raise typer.Exit(answer_remotely(text, server, as_json=json, prediction=predicted, images=shown))
        options = chat_options(read_config(flags))
        raise typer.Exit(answer_once(text, options, as_json=json, prediction=predicted, images=shown))


@app.command()
@takes_settings()
def verify(
    prompts: Prompts = 2,
    kinds: Kinds = None,
    image: ShownImage = None,
    json: Json = False,
    debug: Debug = False,
    remote: NoRemote = None,
    *,
    flags: Flags,
) -> None:
    """Check that speculation does not change texts.

    Compares plain and speculative decoding with your pair. --kind, --temp, -k, --drafter and --verifier narrow it.
    """
    with one_line_errors(debug):
        _refuse_remote("verify", remote)
        from specchat.cli.verify import verify as verify_pair
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        options = chat_options(read_config(flags))
        raise typer.Exit(verify_pair(options, flags.keys(), prompts, as_json=json, kinds=kinds or (), image=image))


@app.command()
@takes_settings("temperature", "k", "drafter", "lookup")
def bench(
    arms: Arms = None,
    temperatures: Temperatures = None,
    prompts: PromptsFile = None,
    repeats: Repeats = None,
    svg: Chart = None,
    export: Export = None,
    compare: Compare = None,
    json: Json = False,
    debug: Debug = False,
    remote: NoRemote = None,
    *,
    flags: Flags,
) -> None:
    """Measure what drafting gains on your pair.

    Compares each drafter and k with plain decoding and says which settings to use.
    """
    with one_line_errors(debug):
        _refuse_remote("bench", remote)
        from specchat.cli.bench import BenchRequest, compare_files
        from specchat.cli.bench import bench as bench_pair
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        if compare:
            if flags or any((arms, temperatures, prompts, repeats, svg, export)):
                say("--compare reads two files and measures nothing: omit all other flags but --json")
                raise typer.Exit(2)
            raise typer.Exit(compare_files(*compare, as_json=json))
        request = BenchRequest(arms or "", temperatures or (), prompts, repeats or 2, svg, export or "", json)
        raise typer.Exit(bench_pair(chat_options(read_config(flags)), request))


@app.command()
def replay(
    file: TraceFile,
    speed: Speed = "1",
    turn: Turn = None,
    export: ExportFile = None,
    force: Force = False,
    raw: Raw = False,
    tui: OnScreen = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Play back or export a recorded answer.

    It plays as it was decoded or at another speed. No model is needed.
    """
    with one_line_errors(debug):
        from specchat.cli.replay import export_traces, read_speed, read_turns
        from specchat.cli.replay import replay as replay_turns

        if tui:
            from specchat.cli.replay import replay_on_screen
            from specchat.settings.config import read_config

            if export or json or speed != "1":
                say("--tui plays on the screen, where + and - change the speed: omit --speed, --export and --json")
                raise typer.Exit(2)
            raise typer.Exit(replay_on_screen(read_turns(file, turn), read_config({}), file.name))
        factor = read_speed(speed)
        traces = read_turns(file, turn)
        if export:
            export_traces(traces, export, overwrite=force)
            raise typer.Exit(0)
        raise typer.Exit(replay_turns(traces, factor, as_json=json, raw=raw))


TrainKind = Annotated[str, typer.Argument(metavar="KIND", help="draft, eagle3, mtp, medusa, mlp, answers or online.")]
Data = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="PATH|chats|hub:NAME",
        help="Text or JSON file, or folder of them; chats for your own; hub:NAME for a dataset. Repeatable.",
    ),
]
TrainOut = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="File to write.")]
TrainBegin = Annotated[
    Path | None, typer.Option("--init", metavar="PATH", help="Draft model, or folder NAME.training, to start from.")
]
TrainDraft = Annotated[
    str | None, typer.Option("-d", "--draft", metavar="FILE|NAME", help="Draft model that learns online.")
]
Checked = Annotated[bool, typer.Option("--check/--no-check", help="Verify, measure and remember the result.")]
Minutes = Annotated[float, typer.Option("--minutes", metavar="N", help="How long to train.")]
Share = Annotated[float, typer.Option("--share", min=0.001, max=0.5, help="Size of a draft, relative to the target.")]
Precision = Annotated[str, typer.Option("--type", metavar="TYPE", help="F32, F16, BF16 or Q8_0.")]
Lora = Annotated[
    str,
    typer.Option(
        "--lora",
        metavar="RANK|auto|off",
        help="Train adapters of this rank instead of all weights, for an existing draft. auto: if it is large.",
    ),
]


@app.command()
def train(
    kind: TrainKind,
    data: Data = None,
    out: TrainOut = None,
    model: Target = None,
    draft: TrainDraft = None,
    minutes: Minutes = 20.0,
    share: Share = 0.05,
    precision: Precision = "F16",
    init: TrainBegin = None,
    lora: Lora = "auto",
    check: Checked = True,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Train a draft model or a head for a target, or have it answer prompts to train on.

    `online` has a draft model learn from the turns that were recorded since `specchat learn on`, together with data if
    some is named. All but `answers` need torch: pip install 'specchat[train]'. Run the same command again to go on
    where it was stopped.
    """
    with one_line_errors(debug):
        from specchat.cli.train import TrainingRequest, read_precision, read_rank
        from specchat.cli.train import train as train_drafter
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        given = {"model": model, "draft": draft}
        options = chat_options(read_config({key: value for key, value in given.items() if value}))
        precise, rank = read_precision(precision), read_rank(lora)
        request = TrainingRequest(kind, data or (), out or Path(), minutes, share, precise, init, rank, check, force)
        raise typer.Exit(train_drafter(options, request))


NoAuth = Annotated[bool, typer.Option("--no-auth", help="Let other machines in without a key.")]
LogPrompts = Annotated[bool, typer.Option("--log-prompts", help="Print requests and answers, one JSON object a line.")]


@app.command()
@takes_settings("seed", "system", "context_full", *GRAMMAR_KEYS, serving=True)
def serve(no_auth: NoAuth = False, log_prompts: LogPrompts = False, debug: Debug = False, *, flags: Flags) -> None:
    """Serve the model to other programs over HTTP.

    Speaks the APIs of OpenAI and Anthropic. Needs more packages: pip install 'specchat[serve]'.
    """
    with one_line_errors(debug):
        from specchat.cli.serve import serve as serve_models
        from specchat.settings.config import read_config

        raise typer.Exit(serve_models(read_config(flags), no_auth=no_auth, log_prompts=log_prompts))


@app.command()
def doctor(
    bundle: Bundle = None,
    with_conversation: WithConversation = False,
    model: Examined = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Check this machine and installation.

    Says what is missing and what to do about it, or packs the findings for a bug report. With a model it measures how
    exactly that is computed, and what --exact costs.
    """
    with one_line_errors(debug):
        if bundle:
            from specchat.doctor.bundle import pack, print_packed

            print_packed(bundle, pack(bundle, with_conversation=with_conversation), as_json=json)
            return
        if with_conversation:
            say("--with-conversation only adds to a bundle: give --bundle FILE as well")
            raise typer.Exit(2)
        from specchat.doctor.report import print_report

        if model is not None:
            from specchat.cli.messages import one_line_from_native_code
            from specchat.doctor.exactness import exactness_findings
            from specchat.models.chosen_pair import chat_options
            from specchat.settings.config import read_config

            one_line_from_native_code()
            raise typer.Exit(
                print_report(exactness_findings(chat_options(read_config({"model": model})).target), as_json=json)
            )
        from specchat.doctor import examine

        raise typer.Exit(print_report(examine(), as_json=json))


app.command()(deploy)


@app.command()
def man() -> None:
    """Print the manual page, which `specchat man | man -l -` shows."""
    from specchat.cli.man import man_page

    typer.echo(man_page(typer.main.get_command(app)), nl=False)


_OF_NO_COMMAND = {"-h", "--help", "--version", "--install-completion", "--show-completion"}
"""Flags before a command, which are not those of `chat`."""


def run_command(words: Sequence[str]) -> int:
    """Runs the command that the words name and returns its exit code. Flags without a command belong to `chat`."""
    words = list(words)
    if not words or (words[0].startswith("-") and words[0] not in _OF_NO_COMMAND):
        words.insert(0, "chat")
    words = _with_values(_with_resumed(words))
    command = typer.main.get_command(app)
    try:
        return int(command.main(words, prog_name="specchat", standalone_mode=False) or 0)
    except SystemExit as done:  # typer ends the process after completion
        return int(done.code or 0)
    except typer.TyperException as wrong:
        known = isinstance(command, TyperGroup) and words[0] in command.commands
        say(f"{wrong.format_message().rstrip('.')}; see `specchat {f'{words[0]} ' if known else ''}--help`")
        return wrong.exit_code


def _with_values(words: list[str]) -> list[str]:
    """The words, with `on` after an `--exact` that says neither on nor off, and -1 after `--cpu-moe`."""
    words = [word for each in words for word in ([each, "-1"] if each == "--cpu-moe" else [each])]
    if "--exact" not in words:
        return words
    at = words.index("--exact") + 1
    return [*words[:at], *([] if words[at : at + 1] in (["on"], ["off"]) else ["on"]), *words[at:]]


def _with_resumed(words: Sequence[str]) -> list[str]:
    """The words, with `last` after a `--resume` that names no session: typer has no optional values."""
    if words[0] != "chat" or "--resume" not in words:
        return list(words)
    at = words.index("--resume") + 1
    alone = at == len(words) or words[at].startswith("-")
    return [*words[:at], *(["last"] if alone else []), *words[at:]]
