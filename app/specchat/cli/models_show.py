"""`specchat models show`: a header in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from specchat.cli.models_tables import print_json
from specchat.models.headers import Described, describe
from specchat.models.sizes import count, in_words
from specchat.terminal.filter import clean, clean_line
from specchat_engine.gguf import Header, TextArray, Value

_TEMPLATE_LINES = 12
_LONGEST = 200
_FIRST = 8
_SPECIAL = ("bos", "eos", "eot", "padding", "unknown", "mask", "fim_pre", "fim_suf", "fim_mid")


def show(name: str, *, everything: bool, as_json: bool) -> None:
    """Prints it. Raises LibraryError, HubError, or ModelFileError."""
    described = describe(name)
    if as_json:
        print_json(_as_json(described, everything=everything))
        return
    for title, rows in _sections(described):
        _print(title, rows)
    _print_template(described.header, whole=everything)
    if everything:
        header = described.header
        _print("Values", ((key, _in_words(value)) for key, value in header.metadata.items()))
        shapes = ((one.name, f"{one.type_name} {' x '.join(map(str, one.shape))}") for one in header.tensors)
        _print("Tensors", shapes)


def _sections(described: Described) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    header = described.header
    yield "Model", _model(described)
    yield "Shape", _shape(header)
    yield "Tokens", _tokens(header)
    yield "Weights", ((name, in_words(size)) for name, size in header.bytes_per_type.items())
    if header.sampling:
        yield "Sampling, as its authors recommend", ((name, f"{value:g}") for name, value in header.sampling.items())


def _model(described: Described) -> Iterator[tuple[str, str]]:
    header = described.header
    yield "name", header.name or ""
    yield "file" if described.is_here else "on the hub", described.place
    yield "architecture", header.architecture
    yield "parameters", count(header.n_params)
    yield "quantisation", header.quantisation
    yield "size", in_words(described.size) + (f" in {header.split_count} files" if header.split_count > 1 else "")
    yield "licence", header.text("general.license") or ""
    yield "made of", header.text("general.base_model.0.name") or ""


def _shape(header: Header) -> Iterator[tuple[str, str]]:
    yield "context", f"{header.n_ctx_train} tokens" if header.n_ctx_train else ""
    yield "layers", str(header.layers or "")
    yield "width", str(header.width or "")
    yield "heads", _same(header.heads)
    yield "heads of keys and values", _same(header.kv_heads)
    yield "experts", str(header.experts or "")
    yield "sliding window", str(header.window or "")
    yield "predicts several tokens", "yes (MTP layers)" if header.has_mtp else ""
    yield "draft head", "yes (EAGLE): it cannot run alone" if header.is_eagle else ""


def _tokens(header: Header) -> Iterator[tuple[str, str]]:
    yield "vocabulary", f"{header.n_vocab} entries" if header.n_vocab else ""
    yield "tokenizer", " ".join(part for part in (header.tokenizer, header.pre_tokenizer) if part)
    for name in _SPECIAL:
        token = header.integer(f"tokenizer.ggml.{name}_token_id")
        if token is not None:
            known = 0 <= token < len(header.tokens)
            yield name, f"{token} {header.tokens[token]!r}" if known else str(token)


def _same(numbers: list[int]) -> str:
    """One number where all layers have it."""
    distinct = sorted(set(numbers))
    return " to ".join(str(number) for number in (distinct[:1] + distinct[1:][-1:]))


def _print(title: str, rows: Iterator[tuple[str, str]]) -> None:
    sys.stdout.write(f"{title}\n")
    for name, value in rows:
        if value:
            sys.stdout.write(f"  {clean_line(name):<26} {clean_line(value)}\n")


def _print_template(header: Header, *, whole: bool) -> None:
    template = clean(header.chat_template or "")
    lines = template.splitlines()
    sys.stdout.write(f"Chat template{'' if template else ': none'}\n")
    for line in lines if whole else lines[:_TEMPLATE_LINES]:
        sys.stdout.write(f"  {line if whole else line[:_LONGEST]}\n")
    if not whole and len(lines) > _TEMPLATE_LINES:
        sys.stdout.write(f"  … {len(lines) - _TEMPLATE_LINES} more lines, all with --all\n")


def _in_words(value: Value) -> str:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value)} characters)"
    if isinstance(value, TextArray | np.ndarray):
        first = ", ".join(str(one) for one in value[:_FIRST].tolist()) if isinstance(value, np.ndarray) else ""
        if isinstance(value, TextArray):
            first = ", ".join(repr(value[place][:40]) for place in range(min(_FIRST, len(value))))
        return f"{len(value)}: {first}{', …' if len(value) > _FIRST else ''}"
    return f"{len(value)} arrays" if isinstance(value, tuple) else str(value)


def _as_json(described: Described, *, everything: bool) -> dict[str, object]:
    header = described.header
    small = {key: value for key, value in header.metadata.items() if isinstance(value, str | int | float | bool)}
    arrays = {
        key: len(value) for key, value in header.metadata.items() if key not in small and hasattr(value, "__len__")
    }
    found: dict[str, object] = {
        "type": "header",
        "name": described.name,
        "place": described.place,
        "is_here": described.is_here,
        "size": described.size,
        "version": header.version,
        "parameters": header.n_params,
        "quantisation": header.quantisation,
        "metadata": small,
        "array_lengths": arrays,
        "bytes_per_type": header.bytes_per_type,
    }
    if everything:
        found["tensors"] = [
            {"name": one.name, "shape": one.shape, "type": one.type_name, "size": one.size} for one in header.tensors
        ]
    return found
