"""The commands of `specchat`, their flags and exit codes. What they do is imported when one of them runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from specchat import __version__
from specchat.cli.flags import Flags, takes_settings
from specchat.cli.models import models
from specchat.cli.reporting import one_line_errors, say

app = typer.Typer(
    help="Chat with local GGUF models and see speculative decoding at work. Without a command it opens the chat.",
    epilog="`specchat COMMAND --help` lists its flags. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

app.add_typer(models, name="models")

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]
Prompt = Annotated[str | None, typer.Argument(help="What to ask. Standard input is read too when it is a pipe.")]

Plain = Annotated[
    bool, typer.Option("--plain", help="Line by line, without drawing: for screen readers, and through pipes.")
]
Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="[ID|last]", help="Go on with a stored session; without an id, with the last."),
]

Theme = Annotated[
    str | None, typer.Option("--theme", metavar="NAME", help="Colours for this time; /theme in the chat keeps them.")
]

Prompts = Annotated[int, typer.Option("--prompts", min=1, help="Prompts of each kind of text.")]

Arms = Annotated[
    str | None,
    typer.Option(
        "--arms", metavar="LIST", help="What takes turns, such as none,model:4,lookup:8,hybrid:auto. [usual k]"
    ),
]
Temperatures = Annotated[
    list[float] | None,
    typer.Option("--temp", metavar="FLOAT", help="Temperature; 0 is greedy. Repeatable. [0 and 0.8]"),
]
PromptsFile = Annotated[
    Path | None,
    typer.Option(
        "--prompts", help="One prompt a line; or .toml: for each kind a [kind] with prompts = [...]. [built in]"
    ),
]
Repeats = Annotated[int | None, typer.Option("--repeats", min=1, help="Answers to each prompt under each arm. [2]")]
Chart = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a chart.")]
Export = Annotated[
    str | None,
    typer.Option("--export", metavar="TOOL", help="End with a command line for llama-server or vllm, alone on stdout."),
]
Compare = Annotated[
    tuple[Path, Path] | None,
    typer.Option("--compare", metavar="A.json B.json", help="Measure nothing: compare what --json printed twice."),
]

TraceFile = Annotated[Path, typer.Argument(metavar="FILE", help="What `run --json` printed; - is standard input.")]
Speed = Annotated[str, typer.Option("--speed", metavar="FACTOR", help="How fast, such as 2 or 0.5, or max. [1]")]
Turn = Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn of several, from 1. [all]")]
ExportFile = Annotated[
    Path | None,
    typer.Option("-o", "--export", metavar="FILE", help="Write .html (plays it back), .svg, .md or .jsonl instead."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that exists.")]

OnScreen = Annotated[bool, typer.Option("--tui", help="Play it in the terminal app, with its figures and keys.")]

Bundle = Annotated[
    Path | None,
    typer.Option("--bundle", metavar="FILE.zip", help="Pack versions, findings, logs and a trace for a bug report."),
]
WithConversation = Annotated[
    bool, typer.Option("--with-conversation", help="Pack what was said, too; else no text of yours is in the bundle.")
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
    """Holds what stands before a command."""
    del version


@app.command()
@takes_settings()
def chat(
    plain: Plain = False, resume: Resume = None, theme: Theme = None, debug: Debug = False, *, flags: Flags
) -> None:
    """Open the terminal chat."""
    with one_line_errors(debug):
        from specchat.cli.chat import open_chat
        from specchat.settings.config import read_config

        raise typer.Exit(open_chat(read_config(flags), resume, plain=plain, theme=theme))


@app.command()
@takes_settings()
def run(prompt: Prompt = None, json: Json = False, debug: Debug = False, *, flags: Flags) -> None:
    """Stream one answer and its statistics."""
    with one_line_errors(debug):
        from specchat.cli.run import answer_once, read_prompt
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        text = read_prompt(prompt)
        if not text.strip():
            say("there is nothing to answer: give a prompt, or pipe one in")
            raise typer.Exit(2)
        raise typer.Exit(answer_once(text, chat_options(read_config(flags)), as_json=json))


@app.command()
@takes_settings()
def verify(prompts: Prompts = 2, json: Json = False, debug: Debug = False, *, flags: Flags) -> None:
    """Check that speculation leaves the text of your pair as it is. --temp, -k, --drafter and --verifier narrow it."""
    with one_line_errors(debug):
        from specchat.cli.verify import verify as verify_pair
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        raise typer.Exit(verify_pair(chat_options(read_config(flags)), flags.keys(), prompts, as_json=json))


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
    *,
    flags: Flags,
) -> None:
    """Measure what each drafter and k gains over plain decoding on your pair, and say which settings to use."""
    with one_line_errors(debug):
        from specchat.cli.bench import Request, compare_files
        from specchat.cli.bench import bench as bench_pair
        from specchat.models.chosen_pair import chat_options
        from specchat.settings.config import read_config

        if compare:
            if flags or any((arms, temperatures, prompts, repeats, svg, export)):
                say("--compare reads two files and measures nothing: leave all other flags but --json away")
                raise typer.Exit(2)
            raise typer.Exit(compare_files(*compare, as_json=json))
        request = Request(arms or "", temperatures or (), prompts, repeats or 2, svg, export or "", json)
        raise typer.Exit(bench_pair(chat_options(read_config(flags)), request))


@app.command()
def replay(
    file: TraceFile,
    speed: Speed = "1",
    turn: Turn = None,
    export: ExportFile = None,
    force: Force = False,
    tui: OnScreen = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Play a recorded answer back, as it came or at another speed, or export it. No model is needed."""
    with one_line_errors(debug):
        from specchat.cli.replay import export_traces, read_speed, read_turns
        from specchat.cli.replay import replay as replay_turns

        if tui:
            from specchat.cli.replay import replay_on_screen
            from specchat.settings.config import read_config

            if export or json or speed != "1":
                say("--tui plays on the screen, where + and - turn the speed: leave --speed, --export and --json away")
                raise typer.Exit(2)
            raise typer.Exit(replay_on_screen(read_turns(file, turn), read_config({}), file.name))
        factor = read_speed(speed)
        traces = read_turns(file, turn)
        if export:
            export_traces(traces, export, overwrite=force)
            raise typer.Exit(0)
        raise typer.Exit(replay_turns(traces, factor, as_json=json))


@app.command()
def doctor(
    bundle: Bundle = None, with_conversation: WithConversation = False, json: Json = False, debug: Debug = False
) -> None:
    """Say what this machine and installation can do, and what to do about each lack; or pack that for a bug report."""
    with one_line_errors(debug):
        if bundle:
            from specchat.doctor.bundle import pack, print_packed

            print_packed(bundle, pack(bundle, with_conversation=with_conversation), as_json=json)
            return
        if with_conversation:
            say("--with-conversation says what goes into a bundle: give --bundle FILE as well")
            raise typer.Exit(2)
        from specchat.doctor import examine
        from specchat.doctor.report import print_report

        raise typer.Exit(print_report(examine(), as_json=json))


def run_command(words: Sequence[str]) -> int:
    """Reads the words of a command line, runs the command and returns its exit code."""
    words = list(words)
    if not words or (words[0].startswith("-") and words[0] not in {"-h", "--help", "--version"}):
        words.insert(0, "chat")
    words = _with_resumed(words)
    command = typer.main.get_command(app)
    try:
        return int(command.main(words, prog_name="specchat", standalone_mode=False) or 0)
    except typer.TyperException as wrong:
        known = isinstance(command, TyperGroup) and words[0] in command.commands
        say(f"{wrong.format_message().rstrip('.')}; see `specchat {f'{words[0]} ' if known else ''}--help`")
        return wrong.exit_code


def _with_resumed(words: Sequence[str]) -> list[str]:
    """The words, with `last` behind a `--resume` that names no session: typer knows no value that may be left away."""
    if words[0] != "chat" or "--resume" not in words:
        return list(words)
    at = words.index("--resume") + 1
    alone = at == len(words) or words[at].startswith("-")
    return [*words[:at], *(["last"] if alone else []), *words[at:]]
