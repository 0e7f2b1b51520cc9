"""A draft learns through adapters: its own weights stay, and the file with merged adapters computes the same."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest
import torch
from torch import Tensor

from specchat_engine import Engine, LoadOptions, SettingError, Settings
from specchat_engine.gguf import read_model
from specchat_engine.training import draft_pupils
from specchat_engine.training.draft_pupils import AdaptedPupil, DraftPupil, draft_from
from specchat_engine.training.gguf import Precision, read_gguf, write_draft
from specchat_engine.training.lora import adapt
from specchat_engine.training.model import TorchLlama
from specchat_engine.training.runs import needed_bytes
from support.tiny_models import write_tiny_model
from support.trainings import train

RANK = 4


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("lora") / "draft.gguf", seed=7, sharpness=0.2)


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes in float32, whatever this processor is faster with."""
    monkeypatch.setattr(draft_pupils, "matrix_precision", lambda _: torch.float32)


def logits(model: TorchLlama) -> Tensor:
    ids = torch.tensor([[5, 200, 17, 3, 3, 251, 40]])
    with torch.no_grad():
        return model.logits(model(ids, torch.arange(ids.shape[1])[None]))


def changed(pupil: DraftPupil) -> DraftPupil:
    """The pupil with adapters as if it had learned."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in pupil.model.parameters():
            weight.normal_(std=0.1, generator=generator)
    return pupil


def test_adapters_change_nothing_before_the_first_step(target: Path, draft: Path) -> None:
    pupil = draft_from(target, draft, RANK)
    torch.testing.assert_close(logits(pupil.model), logits(read_gguf(draft)), rtol=0, atol=0)


def test_only_adapters_are_trained_and_the_weights_of_the_file_stay(target: Path, draft: Path, tmp_path: Path) -> None:
    pupil = draft_from(target, draft, RANK)
    held = {name: weight.clone() for name, weight in pupil.model.named_buffers()}
    before = [weight.detach().clone() for weight in pupil.model.parameters()]
    train(pupil, tmp_path, 4)
    assert len(held) == len(read_gguf(draft).state_dict())
    assert all(torch.equal(weight, held[name]) for name, weight in pupil.model.named_buffers())
    assert {name.split(".")[-1] for name, _ in pupil.model.named_parameters()} == {"inward", "outward"}
    checkpoint = torch.load(tmp_path / "training.pt", weights_only=True)["model"]
    assert len(checkpoint) == len(before)
    assert not all(torch.equal(weight, old) for weight, old in zip(checkpoint.values(), before, strict=True))


@pytest.mark.parametrize("precision", ["F32", "BF16", "Q8_0"])
def test_the_written_file_computes_what_the_adapted_model_does(
    precision: Precision, target: Path, draft: Path, tmp_path: Path
) -> None:
    pupil, out = changed(draft_from(target, draft, RANK)), tmp_path / "out.gguf"
    pupil.write(out, "adapted", precision)
    merged = read_gguf(out)
    tolerance = {"F32": 1e-5, "BF16": 0.2, "Q8_0": 0.2}[precision]
    torch.testing.assert_close(logits(merged), logits(pupil.model), rtol=0, atol=tolerance)
    assert (logits(merged) - logits(read_gguf(draft))).abs().max() > 10 * tolerance
    assert read_model(out).quantisation == precision
    with Engine.load(target, out, LoadOptions(threads=1)) as engine:
        session = engine.session(settings=Settings(k=2, drafter="model", max_tokens=20), seed=1)
        assert len([*session.generate("hello there")]) > 0
        assert session.stats.num_draft_tokens > 0


def test_what_has_no_adapter_is_copied_as_it_is(target: Path, draft: Path, tmp_path: Path) -> None:
    model, rounded, out = read_gguf(draft), tmp_path / "rounded.gguf", tmp_path / "out.gguf"
    write_draft(rounded, model, target, "rounded", "Q8_0")
    changed(draft_from(target, rounded, RANK)).write(out, "adapted", "Q8_0")
    before, after = ({t.name: t for t in gguf.GGUFReader(path).tensors} for path in (rounded, out))
    assert before.keys() == after.keys()
    same = {name for name, tensor in after.items() if tensor.data.tobytes() == before[name].data.tobytes()}
    assert same == {name for name in before if "norm" in name or "token_embd" in name}


def test_adapters_are_added_to_what_the_file_holds_not_to_what_training_rounded(
    target: Path, draft: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_pupils, "matrix_precision", lambda _: torch.bfloat16)
    out = tmp_path / "out.gguf"
    draft_from(target, draft, RANK).write(out, "not changed yet", "F16")
    before, after = ({t.name: t.data.tobytes() for t in gguf.GGUFReader(path).tensors} for path in (draft, out))
    assert after == before


def test_a_training_goes_on_with_the_same_file_only(target: Path, draft: Path, tmp_path: Path) -> None:
    train(draft_from(target, draft, RANK), tmp_path, 2)
    train(draft_from(target, draft, RANK), tmp_path, 1)
    assert torch.load(tmp_path / "training.pt", weights_only=True)["step"] == 3
    other = write_tiny_model(tmp_path / "other.gguf", seed=8, sharpness=0.2)
    for stranger in (draft_from(target, other, RANK), draft_from(target, draft, RANK + 1)):
        with pytest.raises(SettingError, match="has the checkpoints of another training"):
            train(stranger, tmp_path, 1)


def test_large_drafts_get_adapters_unless_told_otherwise(
    target: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not isinstance(draft_from(target, draft), AdaptedPupil)
    monkeypatch.setattr(draft_pupils, "LARGE", read_model(draft).n_params - 1)
    assert isinstance(draft_from(target, draft), AdaptedPupil)
    assert not isinstance(draft_from(target, draft, 0), AdaptedPupil)


def test_only_what_is_trained_needs_gradients_and_moments(target: Path, tmp_path: Path) -> None:
    draft = write_tiny_model(tmp_path / "wide.gguf", width=512)
    whole, adapted = draft_from(target, draft, 0), draft_from(target, draft, RANK)
    assert adapted.frozen
    saved = needed_bytes(whole) - needed_bytes(adapted)
    trained = sum(weight.numel() for weight in adapted.model.parameters())
    passes = whole.pass_bytes(1024, 512) - adapted.pass_bytes(1024, 512)
    assert saved == 20 * read_model(draft).n_params - 24 * trained + passes


def test_frozen_weights_may_be_held_in_half_the_memory(draft: Path) -> None:
    model = read_gguf(draft, torch.bfloat16)
    adapt(model, RANK, seed=1)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    assert {weight.dtype for weight in model.buffers() if weight.dim() == 2} == {torch.bfloat16}
    with torch.autocast("cpu", torch.bfloat16):
        rounded = logits(model)
    torch.testing.assert_close(rounded.float(), logits(read_gguf(draft)), rtol=0, atol=0.1)
