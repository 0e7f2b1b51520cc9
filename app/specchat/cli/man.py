"""`specchat man`: the manual page, written from the commands and their flags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from specchat import __version__


def man_page(command: Any) -> str:
    """The manual page of a command with its subcommands, in roff."""
    context = _context(command, "specchat")
    lines = [
        f'.TH SPECCHAT 1 "" "specchat {__version__}" "User Commands"',
        ".SH NAME",
        r"specchat \- chat with local GGUF models and see speculative decoding at work",
        ".SH SYNOPSIS",
        *_synopsis(context),
        ".SH DESCRIPTION",
        _text(command.help),
        ".PP",
        _text(command.epilog),
        ".SH OPTIONS",
        *_options(context),
        *_subcommands(context),
    ]
    return "\n".join(lines) + "\n"


def _context(command: Any, name: str, parent: typer.Context | None = None) -> typer.Context:
    return typer.Context(command, info_name=name, parent=parent, **command.context_settings)


def _subcommands(context: typer.Context) -> Iterator[str]:
    for name, command in getattr(context.command, "commands", {}).items():
        if command.hidden:
            continue
        inner = _context(command, name, context)
        yield f".SH {_text(inner.command_path.removeprefix('specchat ').upper())}"
        yield from _synopsis(inner)
        yield ".PP"
        for paragraph in (command.help or "").split("\n\n"):
            yield _text(" ".join(paragraph.split()))
            yield ".PP"
        yield from _options(inner)
        yield from _subcommands(inner)


def _synopsis(context: typer.Context) -> Iterator[str]:
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(context.command.collect_usage_pieces(context)))


def _options(context: typer.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            flags, about = record
            yield ".TP"
            yield rf"\fB{_text(flags)}\fR"
            yield _text(about)


def _text(text: str | None) -> str:
    """The text on one line, without a meaning in roff."""
    plain = " ".join((text or "").replace("\b", "").split()).replace("\\", r"\e").replace("-", r"\-")
    plain = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
