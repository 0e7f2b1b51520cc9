"""Writes two parts of the built-in pair's corpus, code and prose, and trains a draft model on each.

Then the pair of them can be measured, the bandit's choice against each alone:

    PYTHONPATH=tests:assets/recipe python -m benchmarks.two_drafts FOLDER --minutes 6
    specchat bench -d FOLDER/code.gguf -d FOLDER/prose.gguf --arms none,model:auto,model-2:auto,hybrid:auto
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

from builtin_pair import facts, python_library, stories, structured
from builtin_pair.chats import ChatSource
from specchat_assets import builtin_pair

PARTS: dict[str, Sequence[ChatSource]] = {
    "code": (python_library.chats, structured.chats),
    "prose": (facts.chats, stories.chats),
}


def write_part(path: Path, sources: Sequence[ChatSource], each: int) -> None:
    """Writes so many chats of each source as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for number, source in enumerate(sources):
            for chat in islice(source(Random(number)), each):
                messages = [
                    {"role": role, "content": text}
                    for turn in chat.turns
                    for role, text in (("user", turn.user), ("assistant", turn.assistant))
                ]
                file.write(json.dumps({"messages": messages}) + "\n")


def main() -> int:
    """Writes and trains."""
    parser = argparse.ArgumentParser(prog="two_drafts", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--chats", type=int, default=2500, help="of each source")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    target, _ = builtin_pair()
    for name, sources in PARTS.items():
        data, out = asked.folder / f"{name}.jsonl", asked.folder / f"{name}.gguf"
        write_part(data, sources, asked.chats)
        command = [sys.executable, "-m", "specchat", "train", "draft", "-m", str(target), "--data", str(data)]
        command += ["-o", str(out), "--share", "0.1", "--minutes", str(asked.minutes), "--no-check", "--type", "F32"]
        if code := subprocess.run(command, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
