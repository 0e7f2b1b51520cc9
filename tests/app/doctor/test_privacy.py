from __future__ import annotations

from pathlib import Path

import pytest

from specchat.doctor.privacy import HIDDEN, hidden, is_secret_name


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


def test_names_of_secrets_are_told_from_counts_of_tokens() -> None:
    assert all(is_secret_name(name) for name in ("hf_token", "API_KEY", "apikey", "password", "client_secret"))
    assert not any(is_secret_name(name) for name in ("max_tokens", "cache_type_k", "author", "k", "draft"))


def test_numbers_stay_and_an_ordinary_text_too() -> None:
    kept = {"a": [1, 2.5, None, True], "b": "loss 0.3, 12 tokens: fine, EOS token = 2"}
    assert hidden(kept) == kept
