from __future__ import annotations

from pathlib import Path

import pytest

from specchat.bench.prompts import read_prompts
from specchat.errors import ConfigError
from specchat_assets.benchmark import benchmark_prompts


def test_without_a_file_the_built_in_prompts_are_taken() -> None:
    assert read_prompts(None) == benchmark_prompts()


def test_copies_are_long_except_where_a_few_seconds_must_do() -> None:
    usual, short = benchmark_prompts(), benchmark_prompts(short=True)
    assert list(usual) == list(short)
    assert min(map(len, usual["copy"])) > 500
    assert max(len(prompt) for prompts in short.values() for prompt in prompts) < 300
    assert {kind for kind in usual if usual[kind] != short[kind]} == {"copy"}


def test_a_text_file_has_a_prompt_a_line_and_gives_its_name_to_their_kind(tmp_path: Path) -> None:
    file = tmp_path / "mail.txt"
    file.write_text("Answer this.\n\n  And this. \nAnswer this.\n", "utf-8")
    assert read_prompts(file) == {"mail": ("Answer this.", "And this.")}


def test_a_toml_file_has_kinds(tmp_path: Path) -> None:
    file = tmp_path / "prompts.toml"
    file.write_text('[mail]\nprompts = ["One", "Two\\nlines"]\n[code]\nprompts = ["Three"]\n', "utf-8")
    assert read_prompts(file) == {"mail": ("One", "Two\nlines"), "code": ("Three",)}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", b"\n  \n", "holds no prompts: write one a line"),
        ("empty.toml", b"", "holds no prompts"),
        ("kind.toml", b"[mail]\nprompts = []\n", "holds no prompts"),
        ("broken.toml", b"[mail\n", "is not valid TOML"),
        ("top.toml", b'prompts = ["One"]\n', r"prompts has no list of prompts: write \[prompts\]"),
        ("numbers.toml", b"[mail]\nprompts = [1]\n", "mail has no list of prompts"),
        ("latin.txt", b"caf\xe9\n", "is not UTF-8"),
    ],
)
def test_what_holds_no_prompts_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as refused:
        read_prompts(file)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.txt cannot be read: No such file"):
        read_prompts(tmp_path / "gone.txt")
