"""What a bug report must not contain: secrets, the user's name, and log lines that may repeat conversations."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from specchat.terminal.filter import clean_line
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import DraftedToken, LimitedBy, Round, TargetToken
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import TRACED, round_line
from specchat_engine.settings import DRAFTERS, FURTHER_MODEL

HIDDEN = "<hidden>"

_SECRET_NAME = re.compile(
    r"token(?!s)|secret|passw|api_?key|credential|auth(?!or)|private|bearer|cookie|(?:^|_)key$", re.IGNORECASE
)
_NAMES = r"(?:token|secret|passw\w*|api_?key|sig|signature|auth)"
_SECRETS = (
    re.compile(r"()\b(?:hf|sk|ghp|gho|github_pat|glpat|xox[a-z])[_-][\w-]{8,}"),
    re.compile(r"(bearer )[^\s\"']+", re.IGNORECASE),
    re.compile(r"(://)[^/\s@]+(?=@)"),
    re.compile(rf"({_NAMES}[\"']?\s*[=:]\s*[\"']?)[^\s,;&\"']{{8,}}", re.IGNORECASE),
)
"""Patterns of secrets. The first group is the text before the secret, which is kept."""

_HOMES = re.compile(r"(?:[A-Za-z]:)?[\\/](?:home|Users)[\\/][^\\/\s:'\"]+")


def is_secret_name(name: str) -> bool:
    """True if the name suggests that the setting or variable contains a secret."""
    return _SECRET_NAME.search(name) is not None


def hidden(value: Any) -> Any:
    """A text, or all texts in lists and mappings, without secrets, home folders (`~`) and the user's name (`<user>`).

    Secrets are recognised by their form. `is_secret_name` recognises those that only their name gives away.
    """
    if isinstance(value, str):
        return _hidden_text(value)
    if isinstance(value, dict):
        return {_hidden_text(str(key)): hidden(item) for key, item in value.items()}
    return [hidden(item) for item in value] if isinstance(value, list | tuple) else value


def _hidden_text(text: str) -> str:
    for home in {str(Path.home()), os.environ.get("USERPROFILE", ""), os.environ.get("HOME", "")}:
        if len(home) > 1:
            text = re.sub(re.escape(home.rstrip("/\\")) + r"(?![\w.-])", "~", text)
    text = _HOMES.sub("~", text)
    for secret in _SECRETS:
        text = secret.sub(rf"\1{HIDDEN}", text)
    for user in {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")} - {"root", ""}:
        text = re.sub(rf"(?<=[\\/]){re.escape(user)}(?=[\\/]|$)", "<user>", text)
    return text


TAIL = 64 * 1024
"""The number of bytes read from the end of the log."""

_NATIVE = re.compile(r"(?:llama|ggml|gguf|print_info|load|init|sched|graph|cuda|metal|vulkan)[\w.:~<>]*: ")
_ASSERTION = re.compile(r"\S+:\d+: GGML_(?:ASSERT|ABORT)\(.*\) failed|GGML_(?:ASSERT|ABORT)\(.*\) failed")
_FRAME = re.compile(r'  File "[^"]+", line \d+, in \S+')
_TITLE = re.compile(r"Traceback \(most recent call last\):|During handling of the above exception, another|\s*\^+\s*$")
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning))(?::|$)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def log_tail(path: Path) -> list[str]:
    """The last lines of a log without an incomplete first one; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return lines[1:] if size > TAIL else lines


def filtered(lines: Iterable[str]) -> Iterator[str]:
    """Lines of llama.cpp without quoted texts, and tracebacks without messages.

    Only the length is given of any other line, since it may repeat text of a conversation.
    """
    source_follows = False
    for line in lines:
        if source_follows and line.startswith("    "):
            yield line
            source_follows = False
            continue
        source_follows = _FRAME.fullmatch(line) is not None
        if source_follows or _TITLE.match(line) or not line.strip():
            yield line
        elif _NATIVE.match(line) or _ASSERTION.fullmatch(line):
            yield _QUOTED.sub("'…'", line)
        elif exception := _EXCEPTION.match(line):
            yield f"{exception.group(1)}: (message left out)"
        else:
            yield f"({len(line)} characters left out)"


_START = ("schema", "source", *TRACED, "lossless", "seed", "turn", "prompt_tokens", "versions", "machine")
_MODEL = ("name", "description", "architecture", "n_params", "size_bytes", "n_ctx", "n_ctx_train", "n_vocab")
_ENDINGS = ("end", "stop", "length", "context", "cancelled", "error")
_SOURCES = (*DRAFTERS, "translated", "remote", *(f"{FURTHER_MODEL}{number}" for number in range(2, 10)))
_REASON = 60
"""The most characters of a reason. Reasons are written by the engine and are short."""


def blanked(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The trace's lines without texts, token ids and messages; lines that cannot be read are left out."""
    for line in lines:
        try:
            fields = json.loads(line)
            if isinstance(fields, dict) and (blank := _blank(fields)):
                yield blank
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _blank(line: Mapping[str, Any]) -> dict[str, Any] | None:
    match line.get("type"):
        case "start":
            return _start(line)
        case "round":
            return round_line(_round(from_json(Round, line)))
        case "end":
            ending = str(line["reason"])
            return {
                "type": "end",
                "reason": ending if ending in _ENDINGS else "other",
                "text": "",
                "stats": _numbers({name: line["stats"].get(name) for name in TurnStats().to_json()}),
                "costs": _numbers({name: line.get("costs", {}).get(name) for name in ("verify", "draft_step")}),
            }
        case "error":
            return {"type": "error", "message": "(left out)"}
    return None


def _start(line: Mapping[str, Any]) -> dict[str, Any]:
    models = {
        name: {key: line[name][key] for key in _MODEL if key in line[name]} if line.get(name) else None
        for name in ("target", "draft")
    }
    messages = [
        {"role": clean_line(str(message["role"]))[:9], "content": "", "characters": len(message["content"])}
        for message in line.get("messages", ())
    ]
    params = {name: value for name, value in line.get("params", {}).items() if _is_number(value) or value == "auto"}
    start = {name: line[name] for name in _START if name in line}
    return {"type": "start", **start, **models, "params": params, "messages": messages}


def _round(event: Round) -> Round:
    return Round(
        index=int(event.index),
        source=event.source if event.source in _SOURCES else "other",
        k=int(event.k),
        reason=clean_line(str(event.reason))[:_REASON],
        drafted=tuple(
            DraftedToken(0, "", _number(token.q), _number(token.p), token.outcome) for token in event.drafted
        ),
        token=TargetToken(None if event.token.id is None else 0, "", _number(event.token.p), event.token.kind),
        top=(),
        ms=type(event.ms)(
            *(float(part) for part in (event.ms.draft, event.ms.verify, event.ms.other, event.ms.rollback))
        ),
        t_ms=float(event.t_ms),
        limited_by=event.limited_by if event.limited_by in get_args(LimitedBy) else "",
    )


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _numbers(value: Any) -> Any:
    """Numbers, and lists and mappings of numbers. Anything else becomes None."""
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value if _is_number(value) else None
