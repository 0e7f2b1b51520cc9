"""`specchat run` on tiny models, in this process and as a real one."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.conftest import Complaint, read_terminal
from specchat.cli import main
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Round
from specchat_engine.llama.mtmd import has_mtmd
from specchat_engine.memory.placement import DeviceMemory, Machine
from specchat_engine.threads.in_force import PairThreads
from support.tiny_models import TinyModels, write_tiny_model
from support.vision_models import png, write_projector

FLAGS = ["-t", "1", "-s", "7", "-n", "24"]
SPECCHAT = [sys.executable, "-m", "specchat"]


@pytest.fixture
def pair(tiny_models: TinyModels) -> list[str]:
    return ["-m", str(tiny_models.target), "-d", str(tiny_models.draft), *FLAGS]


def json_lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_json_is_a_start_rounds_and_an_end_and_a_pipe_gets_the_plain_text(
    capsys: pytest.CaptureFixture[str], pair: list[str]
) -> None:
    assert main(["run", "hello", *pair, "--json"]) == 0
    captured = capsys.readouterr()
    start, *rounds, end = [json.loads(line) for line in captured.out.splitlines()]
    assert captured.err == ""
    assert (start["type"], start["seed"], start["schema"]) == ("start", 7, 1)
    assert "".join(from_json(Round, line).text for line in rounds) == (text := end["text"])
    assert (end["type"], end["reason"], end["stats"]["num_tokens"]) == ("end", "length", 24)
    assert main(["run", "hello", *pair]) == 0
    captured = capsys.readouterr()
    assert captured.out == (text if text.endswith("\n") else f"{text}\n")
    assert captured.err.startswith("specchat: 24 tokens")
    assert captured.err.endswith("seed 7\n")
    assert captured.err.count("\n") == 1


def test_an_answer_that_repeats_itself_is_named_at_once_with_the_key_that_stops_it(
    capsys: pytest.CaptureFixture[str], pair: list[str]
) -> None:
    assert main(["run", "hello", *pair, "-n", "200", "--logit-bias", "100=10000"]) == 0
    named, statistics = capsys.readouterr().err.splitlines()
    assert named == "specchat: the answer repeats the same token: Ctrl+C stops it"
    assert statistics.startswith("specchat: 200 tokens")
    assert "repeats the same token" in statistics


def test_the_usual_limit_is_said_and_one_that_was_chosen_is_not(
    capsys: pytest.CaptureFixture[str], pair: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.stats.line.LONGEST_ANSWER", 24)
    assert main(["run", "hello", *pair]) == 0
    assert capsys.readouterr().err.endswith(
        "specchat: the answer ended after 24 tokens, the usual limit: -n 0 lifts it\n"
    )
    assert main(["run", "hello", *pair, "-n", "23"]) == 0
    assert "usual limit" not in capsys.readouterr().err


def test_a_notice_in_the_middle_of_an_answer_waits_for_its_end(
    capsys: pytest.CaptureFixture[str], pair: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_report = iter([False])
    monkeypatch.setattr(PairThreads, "passed", lambda *_: next(first_report, True))
    monkeypatch.setattr(PairThreads, "contended", property(lambda _: "other programs keep cores busy"))
    assert main(["run", "hello", *pair, "-k", "0", "-n", "80"]) == 0
    statistics, notice = capsys.readouterr().err.splitlines()
    assert statistics.startswith("specchat: 80 tokens")
    assert notice == "specchat: other programs keep cores busy"


def test_a_target_that_cannot_speculate_says_so_and_answers_plainly(
    capsys: pytest.CaptureFixture[str], pair: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_back = iter([False, True])
    monkeypatch.setattr("specchat_engine.llama.context.probe_rollback", lambda *_: next(goes_back))
    assert main(["run", "hello", *pair, "--json"]) == 0
    captured = capsys.readouterr()
    _, *rounds, _ = [json.loads(line) for line in captured.out.splitlines()]
    assert captured.err.startswith("specchat: speculation is off: ")
    assert not any(event["drafted"] for event in rounds)


@pytest.mark.parametrize(
    ("verifier", "lossless", "label"),
    [("rejection", True, "rejection · "), ("typical", False, "≈ typical (lossy) · ")],
)
def test_the_verifier_is_in_the_trace_and_the_last_line_labels_a_lossy_one(
    capsys: pytest.CaptureFixture[str], pair: list[str], verifier: str, lossless: bool, label: str
) -> None:
    flags = [*pair, "--verifier", verifier, "--drafter", "model", "-k", "4"]
    assert main(["run", "hello", *flags, "--json"]) == 0
    start = json_lines(capsys)[0]
    assert (start["verifier"], start["lossless"]) == (verifier, lossless)
    assert main(["run", "hello", *flags]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"specchat: 24 tokens · {label}")
    assert ("lossy" in said) is not lossless


def test_the_second_run_starts_from_what_the_first_learned(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    reasons = []
    for _ in range(2):
        assert main(["run", "hello", *pair, "--drafter", "hybrid", "-k", "auto", "--json"]) == 0
        reasons.append([line["reason"] for line in json_lines(capsys) if line["type"] == "round"])
    assert reasons[0][:2] == ["measures plain passes"] * 2
    assert "measures plain passes" not in reasons[1][:3]  # later it may measure them again


def test_a_context_that_memory_shortened_is_said_on_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = write_tiny_model(tmp_path / "long.gguf", n_ctx=2**24)
    small = Machine((DeviceMemory("CPU", "cpu", 2**28, 2**28),))
    monkeypatch.setattr("specchat_engine.engine.this_machine", lambda: small)
    assert main(["run", "hello", "-m", str(path), *FLAGS]) == 0
    assert "specchat: The context has " in capsys.readouterr().err


def test_a_piped_text_follows_the_prompt(
    capsys: pytest.CaptureFixture[str], pair: list[str], pipe_in: Callable[[bytes], None]
) -> None:
    pipe_in(b"piped \xff\n")
    assert main(["run", "Repeat:", *pair, "--system", "Be brief.", "--json"]) == 0
    assert json_lines(capsys)[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Repeat:\n\npiped \ufffd"},
    ]


def test_a_flag_overrides_the_models_recommendation(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    main(["run", "x", *pair, "--json"])
    assert json_lines(capsys)[0]["params"]["temperature"] == pytest.approx(0.7)
    main(["run", "x", *pair, "--json", "--temp", "0.3"])
    assert json_lines(capsys)[0]["params"]["temperature"] == pytest.approx(0.3)


def test_how_much_to_think_is_in_the_trace_and_a_model_without_a_switch_says_so(
    capsys: pytest.CaptureFixture[str], pair: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECCHAT_THINKING", "low")
    assert main(["run", "x", *pair, "--json", "--think", "off"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out.splitlines()[0])["params"]["thinking"] == "off"
    assert "specchat: thinking is off, which has no effect" in output.err


def test_an_answer_follows_the_schema(capsys: pytest.CaptureFixture[str], pair: list[str]) -> None:
    schema = '{"type": "array", "items": {"enum": ["é", 7]}, "minItems": 2, "maxItems": 2}'
    bias = ["--logit-bias", "2=3", "--logit-bias", "5-inf", "--logit-bias", "2+0.5"]
    assert main(["run", "hello", *pair, "-n", "100", "--json-schema", schema, *bias, "--json"]) == 0
    start, *_, end = json_lines(capsys)
    assert len(json.loads(end["text"])) == 2
    assert start["params"]["logit_bias"] == [[2, 3.5], [5, "-inf"]]
    assert start["params"]["grammar"] == schema


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--grammar", "root := x", "the grammar cannot be used: line 1: Expected ::= before ':= x'"),
        (
            "--json-schema",
            '{"items": {"not": {}}}',
            "#/items/not is {}: remove it",
        ),
        ("--logit-bias", "99999=1", "logit_bias names token 99999: this vocabulary has 0 to 260"),
    ],
)
def test_a_setting_that_the_vocabulary_cannot_serve_is_wrong_usage_in_one_line(
    complaint: Complaint, pair: list[str], flag: str, value: str, said: str
) -> None:
    assert said in complaint("run", "hello", *pair, flag, value)


def test_a_file_that_is_not_a_model_is_one_line(complaint: Complaint, tmp_path: Path, tiny_models: TinyModels) -> None:
    (tmp_path / "junk").write_bytes(b"junk that is not a model")
    (tmp_path / "short").write_bytes(b"GGUF\x03\x00\x00\x00")
    (tmp_path / "cut").write_bytes(tiny_models.target.read_bytes()[:20_000])
    for name in ("junk", "short", "cut", "missing", "."):
        path = tmp_path / name
        assert complaint("run", "x", "-m", str(path), code=1).startswith(f"specchat: {path}"), name


def test_a_pair_with_different_vocabularies_says_so_and_gives_the_same_answer(
    capsys: pytest.CaptureFixture[str], tiny_models: TinyModels
) -> None:
    target = ["run", "x", "-m", str(tiny_models.target), *FLAGS]
    assert main([*target, "-d", str(tiny_models.stranger)]) == 0
    through_text = capsys.readouterr()
    assert "the vocabularies differ from token 260 on" in through_text.err
    assert "drafting through text" in through_text.err
    assert main([*target, "-k", "0"]) == 0
    assert capsys.readouterr().out == through_text.out


def test_a_prompt_longer_than_the_context_is_one_line_or_a_json_error(
    capsys: pytest.CaptureFixture[str], pair: list[str]
) -> None:
    assert main(["run", "x" * 2000, *pair]) == 1
    err = capsys.readouterr().err
    assert "prompt of 2019 tokens" in err
    assert err.count("\n") == 1
    assert main(["run", "x" * 2000, *pair, "--json"]) == 1
    kinds = [line["type"] for line in json_lines(capsys)]
    assert kinds == ["start", "error", "end"]


@pytest.fixture
def endless(tiny_models: TinyModels) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose answer ends with the context only."""
    flags = ["-m", str(tiny_models.target), "-t", "1", "-c", "4096", "--temp", "0", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*SPECCHAT, "run", "hi", *flags], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as process:
        yield process


def test_ctrl_c_stops_the_answer_and_keeps_its_statistics(endless: subprocess.Popen[bytes]) -> None:
    assert endless.stdout is not None
    lines = [endless.stdout.readline() for _ in range(3)]
    endless.send_signal(signal.SIGINT)
    lines += endless.stdout.readlines()
    assert endless.wait(600) == 130
    end = json.loads(lines[-1])
    assert (end["type"], end["reason"]) == ("end", "cancelled")
    assert end["stats"]["num_tokens"] > 0


def test_a_closed_pipe_ends_the_command_quietly(endless: subprocess.Popen[bytes]) -> None:
    assert endless.stdout is not None
    assert endless.stderr is not None
    endless.stdout.readline()
    endless.stdout.close()
    assert endless.stderr.read() == b""
    assert endless.wait(600) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_one_line(pair: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*SPECCHAT, "run", "hi", *pair],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "specchat: No space left on device\n"


def test_without_colour_a_terminal_gets_the_shapes_of_tokens(pair: list[str]) -> None:
    environment = {**os.environ, "COLORTERM": "truecolor", "NO_COLOR": "1"}
    ours, theirs = pty.openpty()
    command = [*SPECCHAT, "run", "hello", *pair, "--temp", "1.5", "-k", "3", "-s", "1"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        shown = b""
        while chunk := read_terminal(ours):
            shown += chunk
        assert process.wait(600) == 0
    os.close(ours)
    assert b"38;2;" not in shown
    assert b"\x1b[2;9" in shown
    assert b"\x1b[4" in shown


def test_a_predicted_text_is_drafted_and_changes_no_token(
    capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path
) -> None:
    words = ["run", "hello", *pair, "--drafter", "lookup", "-k", "8", "--json"]
    assert main(words) == 0
    *_, end = plain = json_lines(capsys)
    predicted = tmp_path / "text.txt"
    predicted.write_text(end["text"])
    assert main([*words, "--prediction", str(predicted)]) == 0
    lines = json_lines(capsys)
    assert lines[-1]["text"] == end["text"]
    accepted = [run[-1]["stats"]["num_accepted_tokens"] for run in (plain, lines)]
    assert accepted[1] >= accepted[0] + 5
    assert lines[1]["drafted"]
    assert main([*words, "--prediction", str(tmp_path / "missing.txt")]) == 2
    assert "missing.txt cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")
def test_a_prompt_may_be_about_images(capsys: pytest.CaptureFixture[str], pair: list[str], tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    projector = write_projector(tmp_path / "mmproj.gguf")
    images = [tmp_path / "a.png", tmp_path / "b.png"]
    for seed, path in enumerate(images):
        path.write_bytes(png(seed))
    words = ["run", "What is this?", *pair, "--mmproj", str(projector), "--json"]
    starts, texts = [], []
    for flags in ((), ("--image", str(images[0])), ("--image", str(images[0]), "--image", str(images[1]))):
        assert main([*words, *flags]) == 0
        start, *_, end = json_lines(capsys)
        starts.append(start)
        texts.append(end["text"])
    assert len(set(texts)) == 3
    assert [len(start["messages"][-1].get("images", ())) for start in starts] == [0, 1, 2]


def test_what_is_no_image_is_one_line_before_anything_is_loaded(complaint: Complaint, tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    (tmp_path / "notes.txt").write_text("no picture")
    wrong = {"gone.png": ": correct its path", "gone": ": correct its path", "notes.txt": " is not a picture: use PNG"}
    for name, said in wrong.items():
        assert f"{name}{said}" in complaint(
            "run", "hello", "-m", "missing.gguf", "--image", str(tmp_path / name), code=1
        )


def test_a_model_that_sees_nothing_says_so(complaint: Complaint, pair: list[str], tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra specchat[files]")
    (tmp_path / "a.png").write_bytes(png(1))
    line = complaint("run", "hello", *pair, "--image", str(tmp_path / "a.png"), "--json")
    assert "has no projector for images beside it: name one with --mmproj FILE" in line
