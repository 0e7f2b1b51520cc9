"""The flags that choose models and how they answer, declared once for every command that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFlags:
    """What stood on the command line, None where a flag did not. The names are the configuration's keys."""

    model: Annotated[
        Path | None, typer.Option("-m", "--model", help="Target: a GGUF file or a name of `models ls`. [built-in pair]")
    ] = None
    draft: Annotated[
        Path | None, typer.Option("-d", "--draft", help="Draft model, likewise; with the target's tokenizer.")
    ] = None
    k: Annotated[
        str | None,
        typer.Option("-k", metavar="N", help="Most tokens drafted in a round: auto, a number, 0 for plain. [auto]"),
    ] = None
    drafter: Annotated[
        str | None, typer.Option("--drafter", help="hybrid, model, lookup or none. [hybrid with a draft]")
    ] = None
    verifier: Annotated[
        str | None,
        typer.Option("--verifier", metavar="RULE", help="coupled, rejection, block, or typical (lossy). [coupled]"),
    ] = None
    temperature: Annotated[
        float | None, typer.Option("--temp", help="Temperature; 0 is greedy. [the model's, or 0.8]")
    ] = None
    top_k: Annotated[int | None, typer.Option("--top-k", help="Keep the k best tokens; 0 keeps all. [40]")] = None
    top_p: Annotated[float | None, typer.Option("--top-p", help="Keep the best tokens up to this mass. [0.95]")] = None
    min_p: Annotated[float | None, typer.Option("--min-p", help="Drop tokens below this share of the best. [0.05]")] = (
        None
    )
    typical_p: Annotated[float | None, typer.Option("--typical", help="Locally typical mass; 1 is off. [1]")] = None
    repeat_penalty: Annotated[
        float | None, typer.Option("--repeat-penalty", help="Repetition penalty; 1 is off. [1]")
    ] = None
    frequency_penalty: Annotated[float | None, typer.Option("--frequency-penalty", help="0 is off. [0]")] = None
    presence_penalty: Annotated[float | None, typer.Option("--presence-penalty", help="0 is off. [0]")] = None
    penalty_last_n: Annotated[
        int | None, typer.Option("--repeat-last-n", help="Tokens that penalties look at. [64]")
    ] = None
    logit_bias: Annotated[
        list[str] | None,
        typer.Option("--logit-bias", metavar="TOKEN=BIAS", help="Add to a token's logit; -inf bans it. Repeatable."),
    ] = None
    grammar: Annotated[str | None, typer.Option("--grammar", help="GBNF grammar that answers follow.")] = None
    grammar_file: Annotated[Path | None, typer.Option("--grammar-file", help="File with such a grammar.")] = None
    json_schema: Annotated[str | None, typer.Option("-j", "--json-schema", help="JSON schema that answers follow.")] = (
        None
    )
    json_schema_file: Annotated[
        Path | None, typer.Option("-jf", "--json-schema-file", help="File with such a schema.")
    ] = None
    seed: Annotated[int | None, typer.Option("-s", "--seed", help="Session seed; -1 is a new one. [-1]")] = None
    max_tokens: Annotated[int | None, typer.Option("-n", "--max-tokens", help="Longest answer; 0 is no limit. [0]")] = (
        None
    )
    system: Annotated[str | None, typer.Option("--system", help="System message.")] = None
    ctx_size: Annotated[
        int | None, typer.Option("-c", "--ctx-size", help="Context in tokens; 0 is the model's. [0]")
    ] = None
    gpu_layers: Annotated[
        int | None, typer.Option("-ngl", "--gpu-layers", help="Target layers on the GPU; -1 is all. [-1]")
    ] = None
    gpu_layers_draft: Annotated[
        int | None, typer.Option("-ngld", "--gpu-layers-draft", help="The same for the draft. [-1]")
    ] = None
    device: Annotated[
        str | None, typer.Option("--device", help="Devices of the target, with commas; see doctor. [all]")
    ] = None
    device_draft: Annotated[str | None, typer.Option("--device-draft", help="Devices of the draft model. [all]")] = None
    tensor_split: Annotated[str | None, typer.Option("--tensor-split", help="Shares of the devices, such as 3,1.")] = (
        None
    )
    main_gpu: Annotated[int | None, typer.Option("--main-gpu", help="GPU for what is not split. [0]")] = None
    threads: Annotated[
        str | None,
        typer.Option("-t", "--threads", metavar="N", help="Threads: auto measures, or a number; 0: free cores. [0]"),
    ] = None
    threads_draft: Annotated[
        str | None,
        typer.Option("-td", "--threads-draft", metavar="N", help="The same for the draft; 0 is the target's. [0]"),
    ] = None
    batch_size: Annotated[
        int | None, typer.Option("-b", "--batch-size", help="Tokens of a prompt read at a time. [512]")
    ] = None
    ubatch_size: Annotated[
        int | None, typer.Option("-ub", "--ubatch-size", help="Tokens computed at a time. [512, or what fits]")
    ] = None
    flash_attention: Annotated[str | None, typer.Option("-fa", "--flash-attn", help="auto, on or off. [auto]")] = None
    cache_type_k: Annotated[
        str | None, typer.Option("-ctk", "--cache-type-k", help="What keys are kept in, such as q8_0. [f16]")
    ] = None
    cache_type_v: Annotated[str | None, typer.Option("-ctv", "--cache-type-v", help="The same for values. [f16]")] = (
        None
    )

    def given(self) -> dict[str, Any]:
        """The flags that stood on the command line, by their key in the configuration."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def takes_model_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces a command's parameter `flags: ModelFlags` with one option for each of its fields."""
    return takes_model_flags_but()(command)


def takes_model_flags_but(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The same for a command that has no use for some of the fields, or asks for them in its own way."""
    names = [field.name for field in fields(ModelFlags) if field.name not in left_out]
    hints = get_type_hints(ModelFlags, include_extras=True)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**values: Any) -> None:
            command(flags=ModelFlags(**{name: values.pop(name) for name in names}), **values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[name])
            for name in names
        ]
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own if parameter.name != "flags"
        ]
        signature = inspect.Signature([*parameters, *options], return_annotation=None)
        vars(with_options)["__signature__"] = signature
        with_options.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
        return with_options

    return decorate
