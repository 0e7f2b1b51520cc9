"""Files with Medusa heads or an MLPSpeculator: what fits is read, what does not is refused with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from specchat_engine import Engine, LoadOptions, ModelFileError, PairError, Settings
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.load_options import NORMED, Head
from specchat_engine.pairing import Grade, head_in, judge, read_state_head
from support.heads import random_medusa, random_speculator
from support.tiny_models import write_tiny_model

Tensors = dict[str, np.ndarray]
STATE = np.linspace(-2, 2, 64, dtype=np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("heads")
    write_tiny_model(folder / "target.gguf", layers=3)
    random_medusa(folder / "medusa.safetensors", folder / "target.gguf")
    random_speculator(folder / "mlp.safetensors", folder / "target.gguf")
    return folder


@pytest.fixture
def target(folder: Path) -> GgufHeader:
    return read_model(folder / "target.gguf")


def changed(path: Path, change: Callable[[Tensors], object], into: Path) -> Path:
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, into)
    return into


def state_head(target: GgufHeader, path: Path) -> Head:
    return head_in(target, read_model(path), path)


def rows(path: Path, target: GgufHeader) -> list[np.ndarray]:
    assert state_head(target, path)
    head = read_state_head(path, read_model(path))
    head.begin(STATE)
    return [head.logits(token) for token in (5, 9, 30, 7)]


def setting(name: str, *shape: int, dtype: type = np.float32) -> Callable[[Tensors], object]:
    return lambda tensors: tensors.update({name: np.zeros(shape, dtype)})


def dropping(*names: str) -> Callable[[Tensors], object]:
    return lambda tensors: [tensors.pop(name) for name in names]


def test_a_file_says_what_it_is(folder: Path, target: GgufHeader) -> None:
    for name in ("medusa", "mlp"):
        found = state_head(target, folder / f"{name}.safetensors")
        assert (found.name, found.layers, found.longest) == (name, (NORMED,), 4)


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("medusa", setting("0.0.linear.weight", 64, 32), r"its 0.0.linear.weight has the shape \(64, 32\), not"),
        ("medusa", setting("2.0.linear.bias", 63), r"its 2.0.linear.bias has the shape \(63,\)"),
        ("medusa", setting("0.1.weight", 262, 64), "its vocabulary has 262 tokens, the target's has 261"),
        ("medusa", setting("0.1.weight", 0, 64), "its 0.1.weight is empty"),
        ("mlp", setting("speculator.ln.0.bias", 0), "its speculator.ln.0.bias is empty"),
        ("medusa", dropping("0.1.weight"), "it has no 0.1.weight"),
        (
            "medusa",
            setting("0.0.linear.bias", 64, dtype=np.int64),
            "its 0.0.linear.bias is not of a type among F32, F16, BF16",
        ),
        ("mlp", setting("speculator.proj.0.weight", 48, 4096), r"its speculator.proj.0.weight has the shape"),
        ("mlp", setting("speculator.emb.0.weight", 9, 48), r"its speculator.emb.0.weight has the shape \(9, 48\)"),
        ("mlp", setting("speculator.head.0.weight", 261, 64), r"its speculator.head.0.weight has the shape"),
        ("mlp", dropping("speculator.ln.0.bias"), "it has no speculator.ln.0.bias"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_reason(
    folder: Path, target: GgufHeader, tmp_path: Path, file: str, change: Callable[[Tensors], object], reason: str
) -> None:
    broken = changed(folder / f"{file}.safetensors", change, tmp_path / "broken.safetensors")
    with pytest.raises(PairError, match=f"broken.safetensors is not a head for this target: {reason}") as caught:
        state_head(target, broken)
    assert "\n" not in str(caught.value)
    found = judge(target, read_model(broken), LoadOptions())
    assert (found.grade, found.lines[0].sentence.startswith(reason[:12])) == (Grade.BLOCKER, True)


def test_weights_of_a_model_are_no_head(folder: Path, tmp_path: Path) -> None:
    other = changed(folder / "mlp.safetensors", dropping("speculator.proj.0.weight"), tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="has neither Medusa heads nor an MLPSpeculator: use a GGUF file"):
        read_model(other)


def test_more_steps_than_can_be_run_are_refused(folder: Path, target: GgufHeader, tmp_path: Path) -> None:
    def add(tensors: Tensors) -> None:
        for step in range(4, 17):
            tensors |= {f"{step}.0.linear.weight": np.eye(64, dtype=np.float32)}

    broken = changed(folder / "medusa.safetensors", add, tmp_path / "long.safetensors")
    with pytest.raises(PairError, match="it predicts 17 tokens, 1 to 16 can be run"):
        state_head(target, broken)


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"\x04\0\0\0\0\0\0\0{}}}", b"GGUF" + b"\0" * 40])
def test_a_file_that_is_no_safetensors_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"broken.safetensors cannot be read: .*; get the file again") as caught:
        read_model(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_cut_off_or_missing_is_one_line(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "part.safetensors"
    path.write_bytes((folder / "mlp.safetensors").read_bytes()[:-100])
    for bad, reason in ((path, "cannot be read"), (tmp_path / "nowhere.safetensors", "does not exist")):
        with pytest.raises(ModelFileError, match=reason):
            Engine.load(folder / "target.gguf", None, LoadOptions(head=str(bad)))


def test_a_head_that_takes_more_memory_than_is_free_is_refused(folder: Path) -> None:
    path = folder / "medusa.safetensors"
    with pytest.raises(PairError, match=r"takes more memory than the 0\.0 GB that are free"):
        read_state_head(path, read_model(path), free=1000)
    assert read_state_head(path, read_model(path), free=10**9).size_bytes == 4 * (4 * 64 * 65 + 261 * 64)


def test_tied_matrices_may_be_written_once_or_for_each_step(folder: Path, target: GgufHeader, tmp_path: Path) -> None:
    def untie(tensors: Tensors) -> None:
        for name, value in [*tensors.items()]:
            part, step = name.split(".")[1:3]
            for other in range(int(step) + 1, 4):
                if part != "proj" or step == "1":
                    tensors[name.replace(f".{step}.", f".{other}.")] = value.copy()

    once = folder / "mlp.safetensors"
    each = changed(once, untie, tmp_path / "each.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"scale_input": True}))
    for one, other in zip(rows(once, target), rows(each, target), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_config_beside_the_file_says_what_tensors_cannot(folder: Path, target: GgufHeader, tmp_path: Path) -> None:
    bare = changed(folder / "mlp.safetensors", dropping(), tmp_path / "model.safetensors")
    assert state_head(target, bare).longest == 2
    unscaled = rows(bare, target)[0]
    (tmp_path / "config.json").write_text(json.dumps({"n_predict": 4, "scale_input": True}))
    assert state_head(target, bare).longest == 4
    scaled = rows(bare, target)[0]
    np.testing.assert_array_equal(scaled, rows(folder / "mlp.safetensors", target)[0])
    assert np.abs(scaled - unscaled).max() > 0.01
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ModelFileError, match=r"config.json cannot be read"):
        read_model(bare)


def test_half_precision_is_read_as_it_is_written(target: GgufHeader, folder: Path, tmp_path: Path) -> None:
    for precision in ("F16", "BF16"):
        random_speculator(tmp_path / "half.safetensors", folder / "target.gguf", precision)
        for exact, half in zip(
            rows(folder / "mlp.safetensors", target), rows(tmp_path / "half.safetensors", target), strict=True
        ):
            assert 0 < np.abs(exact - half).max() < 0.1 * np.abs(exact).max()


def test_an_output_for_the_first_ids_drafts_no_others(folder: Path, target: GgufHeader, tmp_path: Path) -> None:
    cut = changed(
        folder / "medusa.safetensors",
        lambda tensors: tensors.update({"0.1.weight": tensors["0.1.weight"][:150]}),
        tmp_path / "cut.safetensors",
    )
    with Engine.load(folder / "target.gguf", cut, LoadOptions(threads=1)) as engine:
        session = engine.session(settings=Settings(drafter="medusa", k=4, max_tokens=60), seed=3)
        drafted = {token.id for event in session.generate("Hello") for token in event.drafted}
        assert drafted
        assert max(drafted) < 150
        plain = engine.session(settings=Settings(drafter="none", max_tokens=60), seed=3)
        list(plain.generate("Hello"))
        assert plain.text == session.text
