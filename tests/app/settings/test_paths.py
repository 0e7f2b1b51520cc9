"""Paths as users write them."""

from pathlib import Path

from specchat.models.names import find_path
from specchat.settings.config import read_config
from specchat.settings.paths import expanded


def test_a_tilde_stands_for_the_home_folder(isolated_machine: Path) -> None:
    assert expanded(Path("~/a.gguf")) == isolated_machine / "a.gguf"


def test_the_home_of_an_unknown_user_is_an_ordinary_name() -> None:
    written = Path("~nobody-of-that-name/a.gguf")
    assert expanded(written) == find_path(str(written)) == Path.cwd() / written
    assert read_config({"model": written}).model == Path.cwd() / written
