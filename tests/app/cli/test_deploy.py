from __future__ import annotations

import shlex

import pytest

from specchat.cli import main


def test_a_command_line_goes_to_standard_output_and_all_else_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["deploy", "vllm", "-m", "llama-3.1-8b"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert shlex.split(captured.out)[:3] == ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"]
    assert "1.71 × plain" in captured.err
    assert "specchat chat --remote http://localhost:8000" in captured.err


@pytest.mark.parametrize(("form", "begin"), [("compose", "services:\n"), ("kubernetes", 'apiVersion: "apps/v1"\n')])
def test_other_forms_are_files(form: str, begin: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "sglang", "-m", "qwen3-8b", "--as", form, "--gpus", "2", "--port", "9000"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(begin)
    assert "http://localhost:9000" in captured.err
