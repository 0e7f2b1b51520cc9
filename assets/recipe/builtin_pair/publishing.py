"""Exports the finished pair, publishes it in the package, and takes it back for more training."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from builtin_pair import help_search
from builtin_pair.gguf_file import read_tokenizer, write_gguf
from builtin_pair.stages import DRAFT, FINISHED_TARGET, TARGET, Run, describe, trained
from builtin_pair.thinking import THINKING_TEMPLATE
from specchat_assets import HEAD_NAMES, MODELS, guide
from specchat_engine.training.gguf import read_gguf

_ASSETS = Path(__file__).parents[2]


def export(run: Run) -> None:
    """Writes both models as GGUF files."""
    for path, name, config, title, text in (
        (run.target_file, FINISHED_TARGET, TARGET, "specchat-guide", "The small built-in guide of specchat."),
        (run.draft_file, "draft", DRAFT, "specchat-draft", "The draft model of specchat's small built-in guide."),
    ):
        description = describe(title, text)
        write_gguf(path, trained(run, name, config), run.tokenizer(), description, run.precision)


def export_thinking(run: Run) -> None:
    """Writes the pair that learned to think."""
    target, draft = run.thinking_files
    for path, name, config, text in (
        (target, "target-thinking", TARGET, "specchat's small guide, which thinks before it answers."),
        (draft, "draft-thinking", DRAFT, "The draft model of specchat's guide that thinks."),
    ):
        description = describe(path.stem, text, THINKING_TEMPLATE)
        write_gguf(path, trained(run, name, config), run.tokenizer(), description, run.precision)


def make_help(run: Run) -> None:
    """Writes the passages that the guide quotes, and the index that finds them."""
    (run.work / guide.PASSAGES.name).write_text(help_search.passages_text(), encoding="utf-8")
    help_search.train(run.seed).save(run.work / guide.INDEX.name)


def publish(run: Run) -> None:
    """Copies the pair, its heads and its help into the package and the model card beside the recipe."""
    for path in (guide.PASSAGES, guide.INDEX):
        shutil.copyfile(run.work / path.name, path)
    for path in (run.target_file, run.draft_file, *(run.work / name for name in HEAD_NAMES)):
        shutil.copyfile(path, MODELS / path.name)
    shutil.copyfile(run.work / "MODEL_CARD.md", _ASSETS / "MODEL_CARD.md")


def adopt(run: Run) -> None:
    """Uses the published pair as the result of all stages before the lesson in quoting, which can then be repeated."""
    read_tokenizer(MODELS / run.target_file.name).save(run.tokenizer_file)
    for path, name in ((run.target_file, "target-finished"), (run.draft_file, "draft")):
        torch.save({"model": read_gguf(MODELS / path.name).state_dict()}, run.work / f"{name}.pt")
        (run.work / f"{name}.done").touch()
        shutil.copyfile(MODELS / path.name, path)
