import pytest

from specchat.errors import ConfigError
from specchat.settings.chosen_theme import chosen_theme, remember_theme
from specchat.settings.paths import theme_file


def test_a_chosen_theme_is_read_back() -> None:
    assert chosen_theme() is None
    remember_theme("nord")
    remember_theme('a "strange" one')
    assert chosen_theme() == 'a "strange" one'
    assert [file.name for file in theme_file().parent.iterdir()] == ["theme.toml"]


@pytest.mark.parametrize("text", ["theme = 3", "theme =", "\xff", ""])
def test_an_unusable_theme_file_counts_as_no_choice(text: str) -> None:
    theme_file().parent.mkdir(parents=True)
    theme_file().write_bytes(text.encode("latin-1"))
    assert chosen_theme() is None


def test_an_unwritable_folder_is_reported_in_one_line() -> None:
    theme_file().parent.parent.mkdir(parents=True, exist_ok=True)
    theme_file().parent.write_text("a file")
    with pytest.raises(ConfigError, match=r"theme.toml cannot be written: .*; make its folder writable$"):
        remember_theme("nord")
