"""Trains a small pair on texts that the built-in pair has not seen, to measure a pair for which nothing was tuned.

The texts are functions, docstrings and comments of those parts of Python's standard library that the recipe leaves out,
mainly its tests; there are so few that the target knows them by heart in minutes. Prints a line for each file: path,
parameters, bytes. A file that exists is kept, and a training that was interrupted continues. It needs the recipe:
`PYTHONPATH=tests:assets/recipe python -m benchmarks.other_pair`. Do not commit these files.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import sysconfig
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from textwrap import dedent

import torch

from benchmarks.scaled_pair import finish
from builtin_pair.chats import SPECIALS, single
from builtin_pair.distillation import distillation_objective, teach
from builtin_pair.gguf_file import write_gguf
from builtin_pair.mixture import GROUPS, to_document
from builtin_pair.model_card import parameter_count
from builtin_pair.stages import describe
from builtin_pair.tokenizer import BytePairTokenizer
from specchat.settings.paths import cache_folder
from specchat_engine.training.gguf import read_gguf
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.optimizer import Schedule
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length, drawn
from specchat_engine.training.trainer import BatchSource, Budget, Trainer, TrainingPlan

FOLDERS = ("test", "idlelib", "lib2to3", "tkinter", "turtledemo")
TEXTS, VOCABULARY, LENGTHS, TARGET_STEP, DRAFT_STEP, SEED = 500, 2048, (256, 512), 2048, 768, 1
TARGET = ModelConfig(VOCABULARY, width=384, layers=4, heads=6, kv_heads=3, feed_forward=768)
DRAFT = ModelConfig(VOCABULARY, width=128, layers=3, heads=2, kv_heads=1, feed_forward=512)
TARGET_SHARE, NO_LIMIT = 0.64, 10**12


def questions() -> Iterator[tuple[str, str]]:
    """First lines and names, each with the text that belongs to it."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in (path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))):
        try:
            source = path.read_text("utf-8")
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        lines = source.splitlines()
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                code = dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
                yield code.partition("\n")[0], code
                if text := ast.get_docstring(node):
                    yield f"What is {node.name}?", text
        for block in re.findall(r"(?:^ *# .+\n){2,}", source, re.MULTILINE):
            text = re.sub(r"^ *# ", "", block, flags=re.MULTILINE).strip()
            yield " ".join(text.split()[:4]), text


@dataclass(frozen=True, slots=True)
class Answers(BatchSource):
    """Documents drawn at random. With a target, its distributions are what is learned."""

    documents: Sequence[TokenDocument]
    target: TorchLlama | None

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step. Prints the progress."""
        print(f"step {step}: {progress:.0%}", file=sys.stderr, flush=True)
        random = Random(f"{SEED} {step}")
        chosen = drawn(lambda: random.choice(self.documents), DRAFT_STEP if self.target else TARGET_STEP)
        batches = batches_by_length(chosen, LENGTHS, TARGET_STEP)
        return batches if self.target is None else [teach(self.target, batch) for batch in batches]


def train_pair(folder: Path, minutes: float) -> None:
    """Trains the target, then the draft on the target's distributions."""
    folder.mkdir(parents=True, exist_ok=True)
    chats = Random(SEED).sample(sorted({chat for chat in questions() if all(chat)}), TEXTS)
    tokenizer = BytePairTokenizer.train([answer for _, answer in chats], VOCABULARY, SPECIALS)
    whole = (to_document(single("other", *chat), tokenizer) for chat in chats)
    documents = [replace(one, ids=one.ids[: LENGTHS[-1]], learned=one.learned[: LENGTHS[-1]]) for one in whole]
    target: TorchLlama | None = None
    for config, name, share in ((TARGET, "other-target", TARGET_SHARE), (DRAFT, "other-draft", 1 - TARGET_SHARE)):
        path = folder / f"{name}.gguf"
        if not path.exists():
            model = TorchLlama(config, SEED)
            budget = Budget(NO_LIMIT, time.time() + 60 * minutes * share)
            plan = TrainingPlan(name, folder, budget, Schedule(10, 0.4), 0.02, 0.003, groups=GROUPS)
            Trainer(model, Answers(documents, target), distillation_objective, plan).run()
            about = describe(name, "A pair for which nothing was tuned.")
            finish(path, partial(write_gguf, model=model, tokenizer=tokenizer, description=about, precision="F16"))
        target = read_gguf(path)
        print(path, parameter_count(target), path.stat().st_size, sep="\t", flush=True)


def main() -> None:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=cache_folder() / "other-pair", metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=11, help="of training, both models together")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # on cores that others use, too, two threads wait for each other most of the time
    train_pair(options.out, options.minutes)


if __name__ == "__main__":
    main()
