"""`specchat train` from the command line: wrong use in one line, and a head that drafts."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from app.cli.conftest import Complaint
from specchat.bench.plan import PLAIN
from specchat.cli import main
from specchat.cli import train as train_module
from specchat.cli.train_check import BEST, LOOKUP, Result, check, check_seconds, gained
from specchat.models.last_pairs import last_draft, read_timings
from specchat_engine.training.texts import Chat, read_texts
from support.bench_samples import benchmark
from support.tiny_models import byte_vocabulary, write_tiny_model

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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small steps, so that seconds have to do."""
    from specchat_engine.training.pupils import LearningPace, Pupil

    monkeypatch.setattr(Pupil, "pace", LearningPace(0.01, 0.002, step_tokens=512))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["anything"], "there is no training for 'anything': use draft, eagle3, mtp, medusa, mlp, answers"),
        (["medusa"], "head.gguf cannot be a file of medusa: give -o a name that ends in .safetensors"),
        (["eagle3", "--type", "Q3"], "there is no precision 'Q3': use F32, F16, BF16, Q8_0"),
        (["eagle3", "--minutes", "0"], "minutes is 0: use more than 0"),
        (["eagle3", "--data", "missing"], "the data missing does not exist: name text files or folders with text"),
        (["eagle3", "-o", "nowhere/head.gguf"], "cannot be written: there is no folder nowhere"),
        (["eagle3", "--data", "chats"], "there are no stored chats yet: chat first, or name files with --data"),
        (["eagle3", "--init", "nowhere"], "nowhere does not exist: name a draft model, or the folder NAME.training"),
        (["eagle3", "--init", __file__], "is a file, and only a draft can start from one"),
        (["draft", "--lora", "0"], "there is no rank '0': use 1 to 256, auto or off"),
        (["draft", "--lora", "8"], "--lora 8 needs a draft model to adapt: name its file with --init"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(
    words: list[str], said: str, target: Path, data: Path, tmp_path: Path, complaint: Complaint
) -> None:
    usual = {"-m": str(target), "--data": str(data), "-o": str(tmp_path / "head.gguf")}
    given = [part for flag, value in usual.items() if flag not in words for part in (flag, value)]
    assert said in complaint("train", *words, *given)
    assert not (tmp_path / "head.gguf").exists()


def test_a_draft_starts_from_another_of_the_same_tokenizer(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_tiny_model(tmp_path / "other.gguf", vocabulary=[*byte_vocabulary(), "more"])
    words = ["train", "draft", "-m", str(target), "--data", str(data), "--minutes", "0.02", "--no-check"]
    for wrong, complaint in (
        (other, "other.gguf has 262 tokens, the target has 261"),
        (__file__, "is not a GGUF file"),
    ):
        assert main([*words, "-o", str(tmp_path / "no.gguf"), "--init", str(wrong)]) == 1
        assert complaint in capsys.readouterr().err
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    assert main([*words, "-o", str(first), "--share", "0.5"]) == 0
    assert "a draft of 50.0% of the target's size; --share chooses another: 1% 0.0M" in capsys.readouterr().err
    assert main([*words, "-o", str(second), "--init", str(first)]) == 0
    again = capsys.readouterr().err
    assert main([*words, "-o", str(tmp_path / "third.gguf"), "--init", f"{tmp_path}"]) == 2
    assert "cannot be started from: it needs a training.pt of the same kind and sizes" in capsys.readouterr().err
    assert "before" in again


def test_a_full_disk_is_one_line_and_leaves_the_last_checkpoint(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "head.gguf"
    words = ["train", "eagle3", "-m", str(target), "--data", str(data), "-o", str(out), "--minutes", "0.02"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        assert main(words) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith("specchat: training stopped: ")
    assert complaint.endswith(f"the same command goes on from {out}.training")
    assert not out.exists()
    assert main([*words, "--no-check"]) == 0
    assert out.exists()


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


@pytest.mark.usefixtures("quick")
def test_a_head_is_trained_and_drafts(
    target: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "head.gguf"
    words = ["train", "eagle3", "-m", str(target), "--data", str(data), "-o", str(out), "--minutes", "0.05"]
    assert main([*words, "--no-check"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{out}  0.")
    assert "left out because they are not text: 1 file\n" in captured.err
    assert "held-out acceptance: " in captured.err
    assert main(["run", "-m", str(target), "-d", str(out), "-k", "2", "--drafter", "eagle3", "-n", "8", "hello"]) == 0
    assert capsys.readouterr().out


@pytest.mark.usefixtures("quick")
def test_the_result_is_verified_measured_and_remembered_where_it_gains(
    target: Path, data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.cli.train_check._FEWEST_SECONDS", 6000.0)
    monkeypatch.setattr("specchat.cli.train_check._MAX_TOKENS", 8)
    monkeypatch.setenv("SPECCHAT_MAX_TOKENS", "8")
    out, target = tmp_path / "head.safetensors", write_tiny_model(tmp_path / "roomy.gguf", layers=3, n_ctx=2048)
    words = ["train", "mlp", "-m", str(target), "--data", str(data), "-o", str(out), "--minutes", "0.03"]
    assert main(words) == 0
    captured = capfd.readouterr()
    assert "0 unexplained" in captured.out
    assert "\nfacts\t" in captured.out
    assert "over all kinds: " in captured.err
    (timing,) = read_timings(target)
    assert timing.draft == str(out)
    assert last_draft(target) == (out if timing.speedup > 1 else None)
    assert timing.alphas
    assert all(0 <= alpha <= 1 for alpha in timing.alphas.values())


@pytest.mark.parametrize(
    ("best", "lookup", "speedup"),
    [
        pytest.param((150, 160, 155), (100, 99, 101), 1.55, id="a gain"),
        pytest.param((150, 160, 155), (160, 170, 165), 1.0, id="lookup gains more"),
        pytest.param((90, 131, 104), (100, 100, 100), 1.0, id="it may be chance"),
        pytest.param((80, 82, 81), (100, 100, 100), 0.81, id="a loss"),
        pytest.param((105,), (100,), 1.0, id="one answer of each kind"),
        pytest.param((150,), (100,), 1.5, id="one answer of each kind, much faster"),
    ],
)
def test_only_what_beats_chance_and_lookup_is_a_gain(
    best: tuple[float, ...], lookup: tuple[float, ...], speedup: float
) -> None:
    speeds = {PLAIN: (100.0,) * len(best), BEST: best, LOOKUP: lookup}
    overall = {row.arm: row.end_to_end_ratio for row in benchmark(speeds).overall(None)}
    assert gained(overall[BEST], overall[LOOKUP]) == pytest.approx(speedup)


def test_a_check_ends_when_its_time_is_over(
    target: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.cli.train_check._FEWEST_SECONDS", 0.0)
    assert check_seconds(20) == pytest.approx(180)
    assert check(Result(target, "nowhere.gguf", "draft"), 0.003) == 1
    assert "nothing was measured" in capfd.readouterr().err


def test_answers_are_written_without_torch_beside_which_llama_cpp_does_without_tiles() -> None:
    program = "import sys, specchat.cli.train, specchat.cli.train_answers, specchat.cli.train_data; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600)
    assert "specchat_engine.training.answers" in done.stdout.split()
    assert "torch" not in done.stdout.split()


def test_answers_are_written_one_a_line_and_go_on_where_they_stopped(
    target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, out = tmp_path / "prompts.txt", tmp_path / "answers.jsonl"
    asked.write_text("tell me a story\n\nhello there\nagain\n")
    words = ["train", "answers", "-m", str(target), "--data", str(asked), "-o", str(out), "--minutes"]
    assert main([*words, "0.000001"]) == 0
    assert not out.read_text()
    assert main([*words, "1"]) == 0
    assert capsys.readouterr().out.endswith(f"{out}  3 of 3 answers\n")
    lines = [json.loads(line)["messages"] for line in out.read_text("utf-8").splitlines()]
    assert [line[0]["content"] for line in lines] == ["tell me a story", "hello there", "again"]
    assert all([one["role"] for one in line] == ["user", "assistant"] for line in lines)
    kept = out.read_text("utf-8")
    assert main([*words, "1"]) == 0
    assert out.read_text("utf-8") == kept
    chats, _ = read_texts([out])
    assert all(isinstance(chat, Chat) for chat in chats)
