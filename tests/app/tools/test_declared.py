"""The servers of tools that config.toml declares."""

import pytest

from specchat.errors import ConfigError
from specchat.settings.config import read_config
from specchat.settings.paths import config_file
from specchat.tools.declared import ToolServer, read_servers


def declare(text: str) -> None:
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text(text)


def test_without_a_file_or_a_table_there_are_no_servers() -> None:
    assert read_servers() == ()
    declare("k = 4\n")
    assert read_servers() == ()


def test_servers_are_declared_beside_the_settings_and_change_none_of_them() -> None:
    declare(
        "k = 4\n"
        '[tools.time]\ncommand = ["mcp-server-time", "--local-timezone", "Europe/Rome"]\ntimeout = 5\n'
        'environment = { LANG = "C" }\n'
        '[tools.docs]\nurl = "https://user:secret@docs.org:8000/mcp"\nheaders = { Authorization = "Bearer x" }\n'
    )
    time, docs = read_servers()
    command = ("mcp-server-time", "--local-timezone", "Europe/Rome")
    assert time == ToolServer("time", command, environment={"LANG": "C"}, timeout=5.0)
    assert time.where == "mcp-server-time --local-timezone Europe/Rome"
    assert docs.headers == {"Authorization": "Bearer x"}
    assert docs.where == "docs.org:8000"
    assert read_config({}).k == 4


def test_a_command_may_be_one_text() -> None:
    declare("[tools.a]\ncommand = \"uvx 'my server' -v\"\n")
    assert read_servers()[0].command == ("uvx", "my server", "-v")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("tools = 3", "tools is 3"),
        ("[tools]\na = 3", "tools.a is 3"),
        ("[tools.a]", "no command and no url"),
        ('[tools.a]\ncommand = "x"\nurl = "http://h/"', "a command and a url"),
        ('[tools.a]\nurl = "file:///etc"', "http"),
        ("[tools.a]\ncommand = [1]", "list of words"),
        ('[tools.a]\ncommand = "a \'b"', "tools.a.command"),
        ('[tools.a]\ncmd = "x"', "tools.a.cmd"),
        ('[tools.a]\ncommand = "x"\ntimeout = 0', "timeout is 0"),
        ('[tools.a]\ncommand = "x"\nenvironment = { A = 1 }', "table of texts"),
        ('[tools.a]\ncommand = "x"\nheaders = { A = "1" }', "headers has no effect"),
        ('[tools."a b"]\ncommand = "x"', "cannot be a name"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused_in_one_line(table: str, why: str) -> None:
    declare(table)
    with pytest.raises(ConfigError) as refused:
        read_servers()
    assert why in str(refused.value)
    assert str(config_file()) in str(refused.value)
    assert "\n" not in str(refused.value)
