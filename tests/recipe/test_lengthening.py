"""The target's last lesson: long texts and long strings beside the mix."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from statistics import median

import pytest
import torch

from builtin_pair import copying, lengthening, stages
from builtin_pair.copying_exercises import LONGEST_TEXT
from builtin_pair.drills import Drills
from builtin_pair.lengthening import LongTexts
from builtin_pair.mixture import KINDS, ROW_LENGTHS
from builtin_pair.template import END_ID
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.model import LlamaModel
from specchat_engine.training.packing import Batch
from support.batches import rows


def test_long_chats_return_whole_texts_up_to_several_times_as_long() -> None:
    chats = list(islice(copying.long_chats(Random(1)), 400))
    usual = list(islice(copying.chats(Random(1)), 400))
    answers = [len(chat.turns[0].assistant) for chat in chats]
    assert LONGEST_TEXT < max(answers) < 1.2 * copying.LONGEST * LONGEST_TEXT
    assert median(answers) > 2 * median(len(chat.turns[0].assistant) for chat in usual)


def test_a_step_depends_only_on_its_seed_and_number(tokenizer: BytePairTokenizer) -> None:
    one, other = (LongTexts(tokenizer, 3, 2048, 1024) for _ in range(2))
    assert rows(one, 7) == rows(other, 7)
    assert rows(one, 7) != rows(one, 8)


def test_all_three_sorts_occur_and_some_rows_are_long(tokenizer: BytePairTokenizer) -> None:
    for shares in (lengthening.SHARES, lengthening.SETTLING_SHARES):
        assert sum(shares.values()) == pytest.approx(1.0)
    source = LongTexts(tokenizer, 3, 8192, 3072)
    batches: list[Batch] = [batch for step in range(4) for batch in source.batches(step, step / 4)]
    assert {group for batch in batches for group in batch.groups.flatten().tolist()} == set(range(len(KINDS) + 1))
    assert max(batch.ids.shape[1] for batch in batches) == ROW_LENGTHS[-1]


def test_a_repeated_string_is_requested_and_learned_completely(tokenizer: BytePairTokenizer) -> None:
    text = [9, 8, 9, 8, 9]
    drill = Drills(tokenizer).repeated(text, 6)
    assert [token for token, learned in zip(drill.ids, drill.learned, strict=True) if learned] == [*text, END_ID]
    assert tokenizer.decode(drill.ids[: -len(text) - 1]).count(tokenizer.decode(text)) == 1


def test_the_average_lies_between_the_target_before_and_after_its_last_lessons(tmp_path: Path) -> None:
    run = stages.Run(tmp_path, 1, None, None, "F16")
    before, after = (LlamaModel(stages.TARGET, seed).requires_grad_(False) for seed in (1, 2))
    for name, model in (("target", before), ("target-lengthening", after)):
        torch.save({"model": model.state_dict()}, tmp_path / f"{name}.pt")
    stages.average_target(run)
    averaged = stages.trained(run, "target-averaged", stages.TARGET)
    for one, other, mean in zip(before.parameters(), after.parameters(), averaged.parameters(), strict=True):
        torch.testing.assert_close(mean, 0.2 * one + 0.8 * other)
