from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.doctor.privacy import HIDDEN, TAIL, filtered, hidden, is_secret_name, log_tail


def test_home_folders_are_shortened_whoever_owns_them() -> None:
    assert hidden(f"{Path.home()}/models/a.gguf") == "~/models/a.gguf"
    assert hidden("/home/alice/a.gguf and /Users/bob/b.gguf") == "~/a.gguf and ~/b.gguf"
    assert hidden("C:\\Users\\carol\\c.gguf") == "~\\c.gguf"
    assert hidden(f"{Path.home()}less/a") == f"{Path.home()}less/a"


def test_the_users_name_in_other_paths_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "alice")
    assert hidden("/media/alice/disk") == "/media/<user>/disk"
    assert hidden("/media/malice/disk of alice") == "/media/malice/disk of alice"


@pytest.mark.parametrize(
    "text",
    [
        "hf_abcdEFGH12345678",
        "Authorization: Bearer abc.def-123SECRET",
        "https://user:SECRETpass@hub.example/x",
        "https://hub.example/x?token=SECRET1234&a=1",
        "token: SECRET12345",
        "password=SECRET12345",
        "sk-SECRETabcdefgh",
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str) -> None:
    shown = hidden({"deep": [text]})["deep"][0]
    assert HIDDEN in shown
    assert not any(part in shown for part in ("SECRET", "12345678"))


def test_names_of_secrets_are_distinguished_from_counts_of_tokens() -> None:
    assert all(is_secret_name(name) for name in ("hf_token", "API_KEY", "apikey", "password", "client_secret"))
    assert not any(is_secret_name(name) for name in ("max_tokens", "cache_type_k", "author", "k", "draft"))


def test_numbers_stay_and_an_ordinary_text_too() -> None:
    kept = {"a": [1, 2.5, None, True], "b": "loss 0.3, 12 tokens: fine, EOS token = 2"}
    assert hidden(kept) == kept


LOG = """\
llama_model_loader: failed to load 'my private model' from file
ggml.c:123: GGML_ASSERT(n_rows > 0) failed
Traceback (most recent call last):
  File "/x/specchat/engine_process/server.py", line 12, in _generate
    for event in rounds:
UnicodeEncodeError: 'utf-8' codec can't encode my secret words
my secret words, once more
specchat_engine.errors.DecodeError: my secret words
    my secret words, indented
"""


def test_native_lines_and_frames_stay_and_messages_go() -> None:
    lines = [*filtered(LOG.splitlines())]
    assert lines == [
        "llama_model_loader: failed to load '…' from file",
        "ggml.c:123: GGML_ASSERT(n_rows > 0) failed",
        "Traceback (most recent call last):",
        '  File "/x/specchat/engine_process/server.py", line 12, in _generate',
        "    for event in rounds:",
        "UnicodeEncodeError: (message left out)",
        "(26 characters left out)",
        "specchat_engine.errors.DecodeError: (message left out)",
        "(29 characters left out)",
    ]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=3))
def test_a_line_of_any_other_shape_does_not_pass(said: str) -> None:
    text = "Once " + said
    assert not any(said.strip() and line == text for line in filtered(text.splitlines()))


def test_only_whole_lines_of_the_end_are_read(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("".join(f"llama_{number:06}: x\n" for number in range(10_000)))
    lines = log_tail(log)
    assert lines[-1] == "llama_009999: x"
    assert len(lines) * 16 <= TAIL
    assert all(line.startswith("llama_") for line in lines)
    assert log_tail(tmp_path / "none.log") == []
