"""Continuing the training of the published pair."""

from __future__ import annotations

from pathlib import Path

import torch

from builtin_pair import publishing, stages
from builtin_pair.chats import SPECIALS
from specchat_assets import builtin_pair
from specchat_engine.training.gguf import read_gguf


def test_the_published_pair_replaces_the_earlier_lessons(tmp_path: Path) -> None:
    run = stages.Run(tmp_path, 1, None, None, "F16")
    publishing.adopt(run)
    target, draft = (read_gguf(path) for path in builtin_pair())
    for name, config, published in (("target-finished", stages.TARGET, target), ("draft", stages.DRAFT, draft)):
        model = stages.trained(run, name, config)
        assert (tmp_path / f"{name}.done").exists()
        for one, other in zip(model.parameters(), published.parameters(), strict=True):
            torch.testing.assert_close(one, other)
    assert run.tokenizer().encode("<|im_start|>user\n")[0] == SPECIALS.index("<|im_start|>")
