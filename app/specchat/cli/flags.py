"""The flags of the settings, made from the schema for every command that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from specchat.settings.schema import SETTINGS
from specchat.settings.setting import Setting, SettingGroup
from specchat.settings.values import Choice, ListOf, Number, OnOff, ValueKind
from specchat_engine.allowed import AUTO

Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]
Target = Annotated[str | None, typer.Option("-m", "--model", metavar="FILE|NAME", help="Target. [built-in]")]

Flags = Mapping[str, object]
"""What stood on the command line, by the key of the setting; `read_config` checks it."""


def takes_settings(*left_out: str, serving: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replaces a command's parameter `flags: Flags` with one option for each setting that has a flag.

    `left_out` are the keys of settings that the command has no use for, or asks for in its own way. Only a command that
    is `serving` takes those of the server.
    """
    settings = [
        setting
        for setting in SETTINGS
        if setting.flags and setting.key not in left_out and (serving or setting.group is not SettingGroup.SERVING)
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**values: Any) -> None:
            given = {setting.key: values.pop(setting.key) for setting in settings}
            for setting in settings:
                if setting.more and given[setting.key]:
                    given[setting.key], *further = given[setting.key]
                    given |= {setting.more: further} if further else {}
            command(flags={key: value for key, value in given.items() if value is not None}, **values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [*(each for each in own if each.name != "flags"), *map(_option, settings)]
        signature = inspect.Signature([each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters])
        vars(with_options)["__signature__"] = signature
        with_options.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
        return with_options

    return decorate


def _option(setting: Setting) -> inspect.Parameter:
    repeated = bool(setting.more) or (isinstance(setting.kind, ListOf) and setting.kind.repeated)
    words = _words(setting.kind)
    option = typer.Option(
        *setting.flags,
        metavar=setting.kind.metavar,
        help=setting.help_line,
        autocompletion=lambda incomplete: [word for word in words if word.startswith(incomplete)],
    )
    annotation: Any = Annotated[list[str] | None if repeated else str | None, option]
    return inspect.Parameter(setting.key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _words(kind: ValueKind) -> tuple[str, ...]:
    """The words that the shell offers for a value."""
    match kind:
        case Choice():
            return kind.rule.names
        case OnOff():
            return ("on", "off")
        case Number() if kind.rule.auto:
            return (AUTO,)
    return ()
