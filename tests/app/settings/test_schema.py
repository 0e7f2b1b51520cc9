"""The schema of settings, and what is made from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specchat.bench.plan import Arm
from specchat.cli import main
from specchat.errors import ConfigError
from specchat.settings.config import read_config
from specchat.settings.paths import config_file
from specchat.settings.schema import SETTINGS, Config
from specchat.settings.server import Serving
from specchat.settings.setting import Setting, SettingGroup
from specchat.settings.values import Choice, Number
from specchat_engine.allowed import default_of
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.installed import install_drafter
from support.settings_page import PAGE, page

NUMBERS_AND_NAMES = [setting for setting in SETTINGS if isinstance(setting.kind, Number | Choice)]


def other_value(setting: Setting) -> Any:
    """A value that the setting can have and does not have by default."""
    if isinstance(setting.kind, Choice):
        return setting.kind.rule.names[-1]
    assert isinstance(setting.kind, Number)
    return 2 if setting.kind.rule.whole else 0.5


def key(setting: Setting) -> str:
    return setting.key


def test_the_documentation_has_the_table_of_all_settings() -> None:
    assert PAGE.read_text("utf-8") == page(), "run PYTHONPATH=tests python -m support.settings_page"


@pytest.mark.parametrize("home", [Settings, SamplingParams, LoadOptions, Serving])
def test_the_defaults_are_the_engines(home: type) -> None:
    assert home(**Config().of(home)) == home()


@pytest.mark.parametrize("setting", NUMBERS_AND_NAMES, ids=key)
def test_each_setting_can_be_set_in_each_place(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    value = other_value(setting)
    assert getattr(read_config({setting.key: str(value)}), setting.key) == value
    monkeypatch.setenv(setting.variable, str(value))
    assert getattr(read_config({}), setting.key) == value
    monkeypatch.delenv(setting.variable)
    config_file().parent.mkdir(parents=True)
    config_file().write_text(f"{setting.key} = {value!r}\n")
    assert getattr(read_config({}), setting.key) == value


@pytest.mark.parametrize("setting", [each for each in NUMBERS_AND_NAMES if each.home is not None], ids=key)
def test_each_setting_reaches_the_engine(setting: Setting) -> None:
    assert setting.home is not None
    changed = setting.home(**read_config({setting.key: str(other_value(setting))}).of(setting.home))
    assert getattr(changed, setting.name) == other_value(setting) != default_of(setting.home, setting.name)


@pytest.mark.parametrize("command", ["chat", "run", "verify"])
def test_the_help_of_a_command_names_every_flag(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    asked = [setting for setting in SETTINGS if setting.group is not SettingGroup.SERVING]
    assert all(flag in shown for setting in asked for flag in setting.flags)
    assert "--queue" not in shown, "the server's flags are its own"


def test_an_installed_drafter_can_be_chosen_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install_drafter(tmp_path, "parrot", "raise RuntimeError('not to be imported yet')"))
    assert read_config({"drafter": "parrot"}).drafter == "parrot"
    assert Arm.parse("parrot:4") == Arm("parrot", 4)
    with pytest.raises(
        ConfigError,
        match=r"'carrot': use hybrid, model, .*, lookup, store, .*, none or parrot",
    ):
        read_config({"drafter": "carrot"})
