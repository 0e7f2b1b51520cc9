"""`specchat models`, in this process and in one of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import scan_cache_dir

from specchat.cli import main
from specchat.models.cache import place_of
from specchat.models.environment import hub_environment
from specchat.models.preferences import read_preferences
from support.hub_faults import Fault, Wrong
from support.hub_samples import MODEL, REPOSITORY, listed, tiny_repository
from support.hub_server import Hub, Repository
from support.tiny_models import TinyModels

SPECCHAT = [sys.executable, "-m", "specchat"]


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(capsys)]


def test_a_search_says_which_known_models_draft_for_themselves(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("unsloth/Qwen3.5-27B-GGUF", "someone/else-GGUF"):
        hub.repositories[name] = Repository({"model.gguf": b"GGUF"})
    assert main(["models", "search", "GGUF"]) == 0
    found = [line.split("\t") for line in lines(capsys)]
    assert {line[0]: line[-1] for line in found} == {"unsloth/Qwen3.5-27B-GGUF": "for itself", "someone/else-GGUF": ""}


def test_a_model_is_found_downloaded_listed_used_and_removed(
    hub: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "search", "tiny"]) == 0
    assert lines(capsys) == [f"{REPOSITORY}\t0\t1k\tllama\t\t"]
    assert main(["models", "files", REPOSITORY]) == 0
    assert lines(capsys) == [f"F16\t188.0 kB\t1\t*\t{MODEL}"]
    assert main(["models", "pull", REPOSITORY]) == 0
    captured = capsys.readouterr()
    [path] = captured.out.splitlines()
    assert Path(path).read_bytes() == tiny.files[MODEL]
    assert "100 % of 188.0 kB" in captured.err
    assert main(["models", "ls"]) == 0
    assert lines(capsys) == [f"{REPOSITORY}:F16\t188.0 kB\tF16\t90.8k\t512\ttiny"]
    assert main(["run", "hello", "-m", REPOSITORY, "-t", "1", "-n", "2", "-s", "1", "--json"]) == 0
    assert objects(capsys)[-1]["stats"]["num_tokens"] == 2
    assert main(["models", "rm", f"{REPOSITORY}:F16", "--yes"]) == 0
    assert main(["models", "ls"]) == 0
    assert lines(capsys) == []
    assert not [*hub_environment().cache.rglob("*.gguf")]
    assert not scan_cache_dir(hub_environment().cache).repos


def test_each_command_prints_json(hub: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "search", "tiny", "--json"]) == 0
    [found] = objects(capsys)
    assert (found["type"], found["id"], found["gated"]) == ("repository", REPOSITORY, False)
    assert main(["models", "files", REPOSITORY, "--json"]) == 0
    [model] = objects(capsys)
    assert (model["usual"], model["files"][0]["path"], model["commit"]) == (True, MODEL, tiny.commit)
    assert main(["models", "pull", f"{REPOSITORY}:F16", "--json"]) == 0
    *progress, pulled = objects(capsys)
    assert {line["type"] for line in progress} == {"progress"}
    assert pulled["type"] == "model"
    assert main(["models", "ls", "--json"]) == 0
    [listed] = objects(capsys)
    assert (listed["files"], listed["problem"], listed["layers"]) == ([pulled["path"]], "", 2)
    assert main(["models", "show", REPOSITORY, "--json"]) == 0
    [header] = objects(capsys)
    assert header["metadata"]["general.architecture"] == "llama"
    assert header["array_lengths"]["tokenizer.ggml.tokens"] == 261


def test_show_reads_a_model_that_is_still_on_the_hub(
    hub: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "show", f"{REPOSITORY}:F16"]) == 0
    shown = capsys.readouterr().out
    for words in ("on the hub                 tests/tiny-GGUF/tiny-F16.gguf", "512 tokens", "gpt2 qwen2", "temp"):
        assert words in shown
    assert "eos                        2 '<|im_end|>'" in shown
    assert not [*hub_environment().cache.rglob("*.gguf")]


def test_show_all_prints_every_value_and_tensor(tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", str(tiny_models.target), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "tokenizer.ggml.merges" in shown
    assert "blk.1.ffn_down.weight" in shown


def test_a_hostile_header_cannot_write_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hub: Hub
) -> None:
    from support.tiny_models import write_tiny_model

    path = write_tiny_model(tmp_path / "evil.gguf", template="\x1b]0;owned\x07\n\x9b2J{{ messages }}")
    hub.repositories["a/b"] = Repository({"\u202eevil-Q4_0.gguf": b""})
    for arguments in (["show", str(path), "--all"], ["files", "a/b"]):
        assert main(["models", *arguments]) == 0
        shown = capsys.readouterr().out
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["pull", "no repo"], 1, "is not a repository: use USER/REPO"),
        (["pull", "a/b"], 1, "there is no repository a/b on the hub"),
        (["pull", f"{REPOSITORY}:Q2_K"], 1, "has no Q2_K: there are F16"),
        (["files", "tests/text"], 1, "tests/text has no GGUF file: search for one whose name ends in GGUF"),
        (["show", "nothing"], 1, "there is no model nothing on this machine"),
        (["rm", "x"], 1, "there is no model x"),
        (["alias", "a/b", "none.gguf"], 1, "there is no model none.gguf"),
        (["alias", "a"], 2, "give an alias and a model's name"),
        (["alias", "a", "--remove"], 1, "there is no alias 'a': known are none"),
        (["add-folder", "/none"], 1, "/none is not a folder"),
        (["frob"], 2, "No such command 'frob'; see `specchat models --help`"),
        ([], 2, "Missing command; see `specchat models --help`"),
    ],
)
def test_an_error_is_one_line(
    hub: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    hub.repositories["tests/text"] = Repository({"README.md": b"# nothing"})
    assert main(["models", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1


def test_ollamas_models_are_not_removed(
    isolated_machine: Path, tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]
) -> None:
    from app.models.test_library import put_into_ollama

    blob = put_into_ollama(tiny_models.target, isolated_machine / ".ollama/models", "library/x", "1b")
    assert main(["models", "rm", "ollama:x:1b", "--yes"]) == 1
    assert "remove it with `ollama rm x:1b`" in capsys.readouterr().err
    assert blob.exists()


def test_removing_asks_first(tmp_path: Path, tiny_models: TinyModels, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "m.gguf").write_bytes(tiny_models.draft.read_bytes())
    assert main(["models", "add-folder", str(own)]) == 0
    assert "1 model" in capsys.readouterr().err
    assert main(["models", "rm", "m"]) == 2
    assert "add --yes" in capsys.readouterr().err
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, b"n\n")
        answered = subprocess.run([*SPECCHAT, "models", "rm", "m"], stdin=terminal, capture_output=True, text=True)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert answered.returncode == 1
    assert "remove m (" in answered.stderr
    assert "nothing was removed" in answered.stderr
    assert (own / "m.gguf").exists()
    assert main(["models", "rm", "m", "-y"]) == 0
    assert not (own / "m.gguf").exists()


def test_of_two_quantisations_only_the_named_one_is_removed(
    hub: Hub, tiny: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.files["tiny-Q8_0.gguf"] = tiny_repository(seed=5).files[MODEL]
    tiny.files["same-Q4_0.gguf"] = tiny.files[MODEL]
    names = [f"{REPOSITORY}:{one}" for one in ("F16", "Q8_0", "Q4_0")]
    assert main(["models", "pull", *names]) == 0
    assert main(["models", "rm", names[0], "-y"]) == 0
    capsys.readouterr()
    assert main(["models", "ls"]) == 0
    left = {line.split("\t")[0] for line in lines(capsys)}
    assert left == {f"{REPOSITORY}:Q8_0", f"{REPOSITORY}:Q4_0"}
    scanned = scan_cache_dir(hub_environment().cache)
    assert not scanned.warnings
    assert {file.file_name for repo in scanned.repos for rev in repo.revisions for file in rev.files} == {
        "tiny-Q8_0.gguf",
        "same-Q4_0.gguf",
    }


def test_an_alias_a_default_and_a_path_choose_the_model(
    tiny_models: TinyModels, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_models.target.parent)
    assert main(["models", "alias", "big", "target.gguf"]) == 0
    assert main(["models", "alias", "small", str(tiny_models.draft)]) == 0
    monkeypatch.chdir("/")
    flags = ["-t", "1", "-n", "2", "-s", "1", "--json"]
    assert main(["run", "hello", "-m", "big", "-d", "small", *flags]) == 0
    named = objects(capsys)
    assert (named[0]["target"]["path"], named[0]["draft"]["path"]) == (str(tiny_models.target), str(tiny_models.draft))
    assert main(["models", "default", "big", "small"]) == 0
    capsys.readouterr()
    assert main(["run", "hello", *flags]) == 0
    assert objects(capsys)[-1]["text"] == named[-1]["text"]
    assert main(["models", "default"]) == 0
    assert read_preferences().default is None
    assert main(["models", "alias", "big", "--remove"]) == 0
    assert main(["run", "hello", "-m", "big", *flags]) == 1
    assert "there is no model big on this machine" in capsys.readouterr().err


def test_the_configuration_may_contain_a_models_name(
    tiny_models: TinyModels, isolated_machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "alias", "big", str(tiny_models.target)]) == 0
    folder = isolated_machine / ".config" / "specchat"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('model = "big"\n')
    assert main(["run", "hello", "-t", "1", "-n", "2", "-s", "1", "--json"]) == 0
    assert objects(capsys)[0]["target"]["path"] == str(tiny_models.target)


def test_ctrl_c_keeps_what_arrived_and_says_so(hub: Hub, tiny: Repository) -> None:
    [file] = listed()
    place = place_of(file, hub_environment())
    hub.slow = 0.1
    child = subprocess.Popen(
        [*SPECCHAT, "models", "pull", REPOSITORY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not place.part.exists() or place.part.stat().st_size < 20_000:
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=600)
    assert (child.returncode, out) == (130, "")
    last = err.splitlines()[-1]
    assert last.startswith("specchat: stopped; ")
    assert "are kept, and the same command downloads the rest" in last
    assert "Traceback" not in err
    hub.slow = 0
    assert main(["models", "pull", REPOSITORY]) == 0
    assert hub.transfers()[-1].headers["Range"].startswith("bytes=")


def read_from(screen: int) -> str:
    """What comes next from a terminal; empty at its end."""
    try:
        return os.read(screen, 100_000).decode(errors="replace")
    except OSError:
        return ""


def test_a_terminal_gets_bars_and_standard_output_only_the_path(hub: Hub, tiny: Repository) -> None:
    screen, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [*SPECCHAT, "models", "pull", REPOSITORY], stdout=subprocess.PIPE, stderr=terminal, text=True, timeout=600
        )
    finally:
        os.close(terminal)
        shown = "".join(iter(lambda: read_from(screen), ""))
        os.close(screen)
    assert done.returncode == 0
    assert Path(done.stdout.strip()).is_file()
    assert MODEL in shown
    assert "━" in shown
    assert "188.0 kB of 188.0 kB" in shown


def test_a_failed_pull_is_one_line_and_exit_code_1(
    hub: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.misbehave(Fault(Wrong.STATUS, 404))
    assert main(["models", "pull", REPOSITORY]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "is refused with status 404" in captured.err.splitlines()[-1]
