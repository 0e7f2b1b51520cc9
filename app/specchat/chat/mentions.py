"""Files and pages named in a text with `@`, and the files that a name can become."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from specchat.attachments.kinds import kind_of_name

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]*)("?)|([^\s"]\S*)?)')
_CODE = re.compile(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)|(`+)[^`\n]+\2")
_LOOK_AT = 50_000
_MOST = 500
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Mention:
    """A file named in a text: the name as written, and its position, including the `@`."""

    name: str
    start: int
    end: int
    quoted: bool = False
    closed: bool = True


def mentions(text: str) -> Iterator[Mention]:
    """All mentions, in order. A lone `@`, and one in Markdown code, is not a mention."""
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _MENTION.finditer(text):
        mention = _mention(match)
        if mention.name and not any(start <= mention.start < end for start, end in code):
            yield mention


def mention_at(text: str, cursor: int) -> Mention | None:
    """The mention at the cursor, which may be only an `@` so far."""
    start = text.rfind("\n", 0, cursor) + 1
    end = text.find("\n", cursor)
    matches = _MENTION.finditer(text, start, end if end >= 0 else len(text))
    return next((_mention(match) for match in matches if match.start() < cursor <= match.end()), None)


def written(name: str, *, closed: bool = True) -> str:
    """A file's name as a mention or an argument: in quotes if it contains spaces."""
    if not re.search(r"\s", name):
        return name
    return f'"{name}"' if closed else f'"{name}'


def pasted_mention(text: str, folder: Path) -> str | None:
    """A pasted path as a mention, if it is that of a document or a picture; None for any other text.

    Terminals paste the path of a file that is dropped on them: in quotes, with backslashes, or as a `file:` address.
    """
    line = text.strip()
    if "\n" in line or len(line) > _LONGEST_PATH or kind_of_name(line.strip("'\"")) is None:
        return None
    if line.startswith("file://"):
        name = unquote(line.removeprefix("file://").removeprefix("localhost"))
    elif line[0] == line[-1] and line[0] in "'\"":
        name = line[1:-1]
    else:
        name = re.sub(r"\\(.)", r"\1", line)
    try:
        is_file = '"' not in name and (folder / Path(name).expanduser()).is_file()
    except (OSError, RuntimeError, ValueError):
        return None
    return f"@{written(name)}" if is_file else None


def paths_beginning(typed: str, folder: Path) -> list[str]:
    """At most 500 files and folders whose path begins with what was typed. Folders come first and end with a slash.

    Hidden ones are left out unless the dot was typed; `~` is the home folder. Case is ignored. A folder that cannot be
    read counts as empty, and only a part of a very large one is examined.
    """
    if typed == "~":
        return ["~/"]
    parent, name = typed[: typed.rfind("/") + 1], typed[typed.rfind("/") + 1 :].casefold()
    try:
        path = folder / Path(parent).expanduser()
        entries = _listed(str(path), path.stat().st_mtime_ns)
    except (OSError, RuntimeError, ValueError):
        return []
    matches = (each for folded, each in entries if folded.startswith(name) and (name or not folded.startswith(".")))
    return [f"{parent}{each}" for each in islice(matches, _MOST)]


@lru_cache(maxsize=4)
def _listed(folder: str, changed_ns: int) -> tuple[tuple[str, str], ...]:
    """The names in a folder, each folded and as it is. Read again when the folder has changed."""
    del changed_ns
    with os.scandir(folder) as entries:
        usable = [
            (not entry.is_dir(), entry.name.casefold(), entry.name)
            for entry in islice(entries, _LOOK_AT)
            if entry.name.isprintable() and '"' not in entry.name
        ]
    return tuple((folded, name if is_file else f"{name}/") for is_file, folded, name in sorted(usable))


def _mention(match: re.Match[str]) -> Mention:
    if match[1] is not None:
        return Mention(match[1], match.start(), match.end(), quoted=True, closed=bool(match[2]))
    return Mention(match[3] or "", match.start(), match.end())
