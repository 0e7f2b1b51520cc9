"""`specchat train` from the command line: wrong use in one line, and a head that drafts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from specchat.cli import main
from specchat.cli import train as train_module
from support.tiny_models import write_tiny_model

WORDS = ("hello", "there", "again", "tell", "me", "a", "story", "of", "old", "times")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write_tiny_model(tmp_path / "target.gguf", layers=3)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    random, folder = Random(0), tmp_path / "texts"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.txt").write_text(" ".join(random.choice(WORDS) for _ in range(90)))
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    return folder


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["anything"], "there is no training for 'anything': use draft, eagle3, mtp, medusa, mlp"),
        (["medusa"], "head.gguf cannot be a file of medusa: give -o a name that ends in .safetensors"),
        (["eagle3", "--type", "Q3"], "there is no precision 'Q3': use F32, F16, BF16, Q8_0"),
        (["eagle3", "--minutes", "0"], "minutes is 0: use more than 0"),
        (["eagle3", "--data", "missing"], "the data missing does not exist: name text files or folders with text"),
        (["eagle3", "-o", "nowhere/head.gguf"], "cannot be written: there is no folder nowhere"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(
    words: list[str], complaint: str, target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = {"-m": str(target), "--data": str(data), "-o": str(tmp_path / "head.gguf")}
    given = [part for flag, value in usual.items() if flag not in words for part in (flag, value)]
    assert main(["train", *words, *given]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "head.gguf").exists()


def test_a_file_is_not_overwritten_unless_asked_to(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "head.gguf"
    out.write_text("mine")
    assert main(["train", "eagle3", "-m", str(target), "--data", str(data), "-o", str(out)]) == 2
    assert "exists already: choose another -o, or overwrite it with --force" in capsys.readouterr().err
    assert out.read_text() == "mine"


def test_without_torch_it_says_what_to_install(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_module, "find_spec", lambda name: None if name == "torch" else name)
    assert main(["train", "eagle3", "-m", str(target), "--data", str(data), "-o", str(tmp_path / "head.gguf")]) == 2
    complaint = "training needs torch, which is not installed: pip install 'specchat[train]'"
    assert complaint in capsys.readouterr().err


def test_a_head_is_trained_and_drafts(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from specchat_engine.training import runs

    monkeypatch.setattr(runs, "_STEP_TOKENS", 512)
    monkeypatch.setattr(train_module, "_show", id)
    out = tmp_path / "head.gguf"
    words = ["train", "eagle3", "-m", str(target), "--data", str(data), "-o", str(out), "--minutes", "0.05"]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{out}  0.")
    assert "left out because they are no UTF-8 text: 1 file\n" in captured.err
    assert "held-out acceptance: " in captured.err
    assert main(["run", "-m", str(target), "-d", str(out), "-k", "2", "--drafter", "eagle3", "-n", "8", "hello"]) == 0
    assert capsys.readouterr().out
