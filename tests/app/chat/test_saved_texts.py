from pathlib import Path

import pytest

from specchat.chat.saved_texts import SavedTexts, saved_prompts, saved_roles
from specchat.errors import ConfigError
from specchat.settings.paths import config_file


def texts(folder: Path) -> SavedTexts:
    return SavedTexts(folder / "prompts", "prompt")


def test_a_saved_text_is_a_markdown_file_that_can_be_read_again(tmp_path: Path) -> None:
    file = texts(tmp_path).save("review", "Review this.\n\n- briefly\n")
    assert file == tmp_path / "prompts" / "review.md"
    assert texts(tmp_path).read("review") == "Review this.\n\n- briefly"
    assert texts(tmp_path).name_of(" Review this.\n\n- briefly") == "review"
    assert texts(tmp_path).name_of("Explain fast.") is None
    assert saved_prompts().save("a", "x") == config_file().parent / "prompts" / "a.md"
    assert saved_roles().save("a", "y") == config_file().parent / "roles" / "a.md"


def test_names_come_with_the_first_line(tmp_path: Path) -> None:
    for name, text in (("b", "# Title\nmore"), ("A", "\n\x1b[2Jbad"), ("c", "")):
        folder = tmp_path / "prompts"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.md").write_text(text)
    (tmp_path / "prompts" / "notes.txt").write_text("no prompt")
    assert texts(tmp_path).names() == [("A", "\ufffd[2Jbad"), ("b", "Title"), ("c", "")]
    assert texts(tmp_path / "missing").names() == []


def test_a_saved_text_is_never_overwritten(tmp_path: Path) -> None:
    texts(tmp_path).save("review", "first")
    with pytest.raises(ConfigError, match="there is a prompt review already: /prompt forget review"):
        texts(tmp_path).save("review", "second")
    assert texts(tmp_path).read("review") == "first"


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "save", "Forget", "none", "x" * 41, "a\nb"])
def test_a_name_that_is_no_name_of_a_file_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be named"):
        texts(tmp_path).save(name, "x")


def test_a_forgotten_text_is_gone(tmp_path: Path) -> None:
    texts(tmp_path).save("review", "x")
    texts(tmp_path).forget("review")
    assert texts(tmp_path).names() == []
    with pytest.raises(ConfigError, match="there is no prompt review"):
        texts(tmp_path).forget("review")
    with pytest.raises(ConfigError, match="there is no prompt review"):
        texts(tmp_path).read("review")


@pytest.mark.parametrize(
    ("content", "why"), [(b"\xff", "not text"), (b" \n", "is empty"), (b"x" * 300_000, "more than 256 KiB")]
)
def test_an_unusable_file_says_what_is_wrong(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "bad.md").write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        texts(tmp_path).read("bad")
