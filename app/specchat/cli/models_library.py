"""`specchat models ls`, `show`, `rm`, `alias`, `default` and `add-folder`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from specchat.cli.messages import print_json, print_rows, say
from specchat.errors import FAILED, WRONG_USAGE
from specchat.models.headers import ModelHeader, model_info
from specchat.models.labels import format_parameters, format_size
from specchat.models.library import LibraryModel, models
from specchat.models.names import find, find_path
from specchat.models.preferences import PairNames, read_preferences, write_preferences
from specchat.models.removal import check_removable, remove
from specchat.settings.paths import expanded
from specchat.terminal.filter import clean, clean_line
from specchat_engine.gguf import GgufHeader, TextArray, Value

_TEMPLATE_LINES = 12
_LONGEST_VALUE = 200
_FIRST_ELEMENTS = 8
_SPECIAL = ("bos", "eos", "eot", "padding", "unknown", "mask", "fim_pre", "fim_suf", "fim_mid")


def ls(*, as_json: bool) -> None:
    """Prints the models on this machine, usable ones first. Raises LibraryError."""
    entries = sorted(models(), key=lambda entry: bool(entry.problem))
    if as_json:
        print_json(*(_entry_json(entry) for entry in entries))
        return
    if not entries:
        say(
            "only the built-in pair is here: `specchat models search TEXT` finds models, `models add-folder` adds yours"
        )
        return
    print_rows(("name", "size", "quantisation", "parameters", "context", "about"), (_row(entry) for entry in entries))


def show(name: str, *, everything: bool, as_json: bool) -> None:
    """Prints the header. Raises LibraryError, HubError, or ModelFileError."""
    info = model_info(name)
    if as_json:
        print_json(_header_json(info, everything=everything))
        return
    for title, rows in _sections(info):
        _print(title, rows)
    _print_template(info.header, whole=everything)
    if everything:
        header = info.header
        _print("Values", ((key, _short(value)) for key, value in header.metadata.items()))
        shapes = (
            (tensor.name, f"{tensor.type_name} {' x '.join(map(str, tensor.shape))}") for tensor in header.tensors
        )
        _print("Tensors", shapes)


def rm(name: str, *, yes: bool) -> int:
    """Removes a model after a question and returns the exit code. Raises LibraryError."""
    model = find(name)
    check_removable(model)
    if not yes:
        if not sys.stdin.isatty():
            say(f"removing {model.name} has to be confirmed: add --yes")
            return WRONG_USAGE
        sys.stderr.write(f"remove {model.name} ({format_size(model.size)}) from {model.files[0].parent}? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            say("nothing was removed")
            return FAILED
    remove(model)
    say(f"removed {model.name}, {format_size(model.size)}")
    return 0


def alias(name: str, target: str, *, remove: bool) -> int:
    """Adds or removes an alias and returns the exit code. Raises LibraryError."""
    if bool(target) == remove:
        say("give an alias and a model's name, or an alias and --remove")
        return WRONG_USAGE
    preferences = read_preferences()
    write_preferences(preferences.without_alias(name) if remove else preferences.with_alias(name, _lasting(target)))
    return 0


def default(target: str, draft: str) -> None:
    """Sets the pair for commands without -m; without a target, the built-in one. Raises LibraryError."""
    pair = PairNames(_lasting(target), _lasting(draft) if draft else "") if target else None
    write_preferences(read_preferences().with_default(pair))
    say(f"commands without -m now use {pair.target if pair else 'the built-in pair'}")


def add_folder(folder: Path) -> None:
    """Adds a folder to search for models. Raises LibraryError."""
    write_preferences(read_preferences().with_folder(folder))
    inside = sum(expanded(folder).absolute() in entry.path.absolute().parents for entry in models())
    say(f"added {folder}: {inside} model{'' if inside == 1 else 's'}")


def _lasting(name: str) -> str:
    """A name that means the same in every folder. Raises LibraryError for one that means no model."""
    path = find_path(name)
    return str(path.absolute()) if path.is_file() and name.lower().endswith(".gguf") else find(name).name


def _row(entry: LibraryModel) -> tuple[str, ...]:
    about = entry.problem or entry.summary.title
    return (
        entry.name,
        format_size(entry.size),
        entry.quantisation,
        format_parameters(entry.summary.parameters),
        str(entry.summary.context or ""),
        f"({', '.join(entry.aliases)}) {about}" if entry.aliases else about,
    )


def _entry_json(entry: LibraryModel) -> dict[str, object]:
    return {
        "type": "model",
        "name": entry.name,
        "source": entry.found.source,
        "files": [str(file) for file in entry.found.files],
        "size": entry.size,
        "aliases": list(entry.aliases),
        **asdict(entry.summary),
        "quantisation": entry.quantisation,
        "problem": entry.problem,
    }


def _sections(info: ModelHeader) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    header = info.header
    yield "Model", _model(info)
    yield "Shape", _shape(header)
    yield "Tokens", _tokens(header)
    yield "Weights", ((name, format_size(size)) for name, size in header.bytes_per_type.items())
    if header.sampling:
        yield "Sampling that its authors recommend", ((name, f"{value:g}") for name, value in header.sampling.items())


def _model(info: ModelHeader) -> Iterator[tuple[str, str]]:
    header = info.header
    yield "name", header.name or ""
    yield "file" if info.is_here else "on the hub", info.place
    yield "architecture", header.architecture
    yield "parameters", format_parameters(header.n_params)
    yield "quantisation", header.quantisation
    yield "size", format_size(info.size) + (f" in {header.split_count} files" if header.split_count > 1 else "")
    yield "licence", header.text("general.license") or ""
    yield "derived from", header.text("general.base_model.0.name") or ""


def _shape(header: GgufHeader) -> Iterator[tuple[str, str]]:
    yield "context", f"{header.n_ctx_train} tokens" if header.n_ctx_train else ""
    yield "layers", str(header.layers or "")
    yield "width", str(header.width or "")
    yield "heads", _same(header.heads)
    yield "key/value heads", _same(header.kv_heads)
    yield "experts", str(header.experts or "")
    yield "sliding window", str(header.window or "")
    yield "drafts for itself", "yes (MTP layers)" if header.has_mtp else ""
    yield "draft head", f"yes ({header.architecture}): it cannot run alone" if header.is_head else ""


def _tokens(header: GgufHeader) -> Iterator[tuple[str, str]]:
    yield "vocabulary", f"{header.n_vocab} entries" if header.n_vocab else ""
    yield "tokenizer", " ".join(part for part in (header.tokenizer, header.pre_tokenizer) if part)
    for name in _SPECIAL:
        token = header.integer(f"tokenizer.ggml.{name}_token_id")
        if token is not None:
            known = 0 <= token < len(header.tokens)
            yield name, f"{token} {header.tokens[token]!r}" if known else str(token)


def _same(numbers: list[int]) -> str:
    """One number if all layers have the same, or else the smallest and the largest."""
    distinct = sorted(set(numbers))
    return " to ".join(str(number) for number in (distinct[:1] + distinct[1:][-1:]))


def _print(title: str, rows: Iterator[tuple[str, str]]) -> None:
    sys.stdout.write(f"{title}\n")
    for name, value in rows:
        if value:
            sys.stdout.write(f"  {clean_line(name):<26} {clean_line(value)}\n")


def _print_template(header: GgufHeader, *, whole: bool) -> None:
    template = clean(header.chat_template or "")
    lines = template.splitlines()
    sys.stdout.write(f"Chat template{'' if template else ': none'}\n")
    for line in lines if whole else lines[:_TEMPLATE_LINES]:
        sys.stdout.write(f"  {line if whole else line[:_LONGEST_VALUE]}\n")
    if not whole and len(lines) > _TEMPLATE_LINES:
        sys.stdout.write(f"  … {len(lines) - _TEMPLATE_LINES} more lines, all with --all\n")


def _short(value: Value) -> str:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}… ({len(value)} characters)"
    if isinstance(value, TextArray | np.ndarray):
        first = (
            ", ".join(str(element) for element in value[:_FIRST_ELEMENTS].tolist())
            if isinstance(value, np.ndarray)
            else ""
        )
        if isinstance(value, TextArray):
            first = ", ".join(repr(value[index][:40]) for index in range(min(_FIRST_ELEMENTS, len(value))))
        return f"{len(value)}: {first}{', …' if len(value) > _FIRST_ELEMENTS else ''}"
    return f"{len(value)} arrays" if isinstance(value, tuple) else str(value)


def _header_json(info: ModelHeader, *, everything: bool) -> dict[str, object]:
    header = info.header
    small = {key: value for key, value in header.metadata.items() if isinstance(value, str | int | float | bool)}
    arrays = {
        key: len(value) for key, value in header.metadata.items() if key not in small and hasattr(value, "__len__")
    }
    described: dict[str, object] = {
        "type": "header",
        "name": info.name,
        "place": info.place,
        "is_here": info.is_here,
        "size": info.size,
        "version": header.version,
        "parameters": header.n_params,
        "quantisation": header.quantisation,
        "metadata": small,
        "array_lengths": arrays,
        "bytes_per_type": header.bytes_per_type,
    }
    if everything:
        described["tensors"] = [
            {"name": tensor.name, "shape": tensor.shape, "type": tensor.type_name, "size": tensor.size}
            for tensor in header.tensors
        ]
    return described
