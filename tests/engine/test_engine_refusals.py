"""What cannot be loaded is refused in one line, and nothing stays behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from specchat_engine import (
    Engine,
    EngineError,
    LoadOptions,
    ModelFileError,
    SettingError,
    Settings,
    TemplateError,
)
from specchat_engine.llama.model import LlamaModel
from support.tiny_models import EngineFiles, write_tiny_model

ONE_THREAD = LoadOptions(threads=1)


def refusal(kind: type[EngineError], target: Path | str, draft: Path | str | None = None) -> str:
    with pytest.raises(kind) as caught:
        Engine.load(target, draft)
    message = str(caught.value)
    assert message.splitlines() == [message]
    return message


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.gguf"
    assert refusal(ModelFileError, path) == f"{path} does not exist: check the path"


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    assert "is a folder: name the .gguf file inside it" in refusal(ModelFileError, tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    path = tmp_path / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    assert "cannot be read: Permission denied" in refusal(ModelFileError, path)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "is not a GGUF file"),
        (b"PK\x03\x04 a zip file of some length", "is not a GGUF file: it starts with b'PK"),
        (b"<html>\n not found\n</html> and so on", "is not a GGUF file"),
        (b"GGUF\x03\x00\x00\x00", "is truncated: it has 8 bytes; download it again"),
        (b"GGUF\x01\x00\x00\x00" + b"\x00" * 40, "is GGUF version 1"),
        (b"GGUF\x00\x00\x00\x03" + b"\x00" * 40, "is GGUF version 50331648"),
        (b"GGUF\x03\x00\x00\x00" + b"\x00" * 16, "could not be loaded"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, "could not be loaded"),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes, named: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert named in refusal(ModelFileError, path)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_refused(files: EngineFiles, tmp_path: Path, share: float) -> None:
    data = files.target.read_bytes()
    path = tmp_path / "half.gguf"
    path.write_bytes(data[: int(len(data) * share)])
    assert str(path) in refusal(ModelFileError, path)


def test_strange_names_load_or_are_refused_in_one_line(files: EngineFiles, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.gguf")
    path.write_bytes(files.target.read_bytes())
    Engine.load(path).close()
    refusal(ModelFileError, tmp_path / "no\nsuch.gguf")
    refusal(ModelFileError, "no\0such.gguf")


def test_what_the_headers_rule_out_is_refused_before_any_model_is_loaded(
    files: EngineFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LlamaModel, "__init__", lambda *_, **__: pytest.fail("a model was loaded"))
    assert "missing.gguf does not exist" in refusal(ModelFileError, files.target, tmp_path / "missing.gguf")


def test_a_broken_chat_template_is_refused(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "broken.gguf", template="{% for %}")
    assert "chat template does not parse" in refusal(TemplateError, path)


def test_after_a_refusal_the_next_load_works(files: EngineFiles, tmp_path: Path) -> None:
    refusal(ModelFileError, files.target, tmp_path / "missing.gguf")
    with Engine.load(files.target, files.draft, ONE_THREAD) as engine:
        assert len(list(engine.session(seed=1, settings=Settings(k=0, max_tokens=5)).generate("hello"))) == 5


def test_a_failed_load_keeps_no_model_open(files: EngineFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = write_tiny_model(tmp_path / "broken.gguf", template="{% for %}")
    opened: list[str] = []
    closed: list[str] = []
    begin, end = LlamaModel.__init__, LlamaModel.close

    def note_begin(model: LlamaModel, path: Path, **options: Any) -> None:
        opened.append(path.name)
        begin(model, path, **options)

    def note_end(model: LlamaModel) -> None:
        closed.append(model.path.name)
        end(model)

    monkeypatch.setattr(LlamaModel, "__init__", note_begin)
    monkeypatch.setattr(LlamaModel, "close", note_end)
    refusal(TemplateError, broken, files.draft)
    assert sorted(closed) == opened == ["broken.gguf", "draft.gguf"]


def test_an_unknown_device_is_refused_with_those_that_are_there(files: EngineFiles) -> None:
    with pytest.raises(SettingError, match=r"no device 'warp': this build has .*cpu"):
        Engine.load(files.target, options=LoadOptions(devices=("warp",)))
