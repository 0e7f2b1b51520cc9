import pytest

from specchat.errors import ConfigError
from specchat.settings.chosen_theme import chosen_theme, remember_theme
from specchat.settings.paths import theme_file


def test_a_theme_that_was_chosen_is_there_again() -> None:
    assert chosen_theme() is None
    remember_theme("nord")
    remember_theme('a "strange" one')
    assert chosen_theme() == 'a "strange" one'
    assert [file.name for file in theme_file().parent.iterdir()] == ["theme.toml"]


@pytest.mark.parametrize("text", ["theme = 3", "theme =", "\xff", ""])
def test_a_file_that_cannot_be_used_is_as_if_nothing_was_chosen(text: str) -> None:
    theme_file().parent.mkdir(parents=True)
    theme_file().write_bytes(text.encode("latin-1"))
    assert chosen_theme() is None


def test_a_folder_that_cannot_be_written_is_said_in_one_line() -> None:
    theme_file().parent.parent.mkdir(parents=True, exist_ok=True)
    theme_file().parent.write_text("a file")
    with pytest.raises(ConfigError, match=r"theme.toml cannot be written: .*; make its folder writable$"):
        remember_theme("nord")
