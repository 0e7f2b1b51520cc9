import pytest
from textual.binding import Binding
from textual.widgets import Static, TextArea

from app.tui.chatting import chat, prompt
from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.errors import ConfigError
from specchat.tui.app import SpecchatApp
from specchat.tui.appearance import Appearance, _holders, all_bindings, read_appearance
from specchat.tui.keymap import read_keymap
from specchat.tui.theme import DARK_NAME, LIGHT_NAME
from specchat.tui.widgets.knobs import Knobs


def test_without_a_configuration_the_theme_is_our_dark_one() -> None:
    assert read_appearance(None, {}) == Appearance(DARK_NAME, {})


@pytest.mark.parametrize(("ground", "name"), [("0;15", LIGHT_NAME), ("15;0", DARK_NAME), ("0;default;15", LIGHT_NAME)])
def test_a_terminal_that_says_how_light_it_is_is_believed(
    ground: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", ground)
    assert read_appearance(None, {}).theme == name
    assert read_appearance("nord", {}).theme == "nord"


@pytest.mark.parametrize("name", ["nord", "textual-light", LIGHT_NAME])
def test_textuals_themes_and_ours_can_be_configured(name: str) -> None:
    assert read_appearance(name, {}).theme == name


def test_a_theme_that_there_is_not_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^theme is 'nrod': did you mean nord\?$"):
        read_appearance("nrod", {})


def test_a_key_for_something_that_there_is_not_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^keys has 'chat.knob': did you mean chat.knobs\?$"):
        read_appearance(None, {"chat.knob": "f4"})


def test_all_screens_and_widgets_are_known_by_their_keys() -> None:
    known = all_bindings()
    assert known["app.quit"] == "ctrl+q"
    assert known["chat.take_advice"] == "ctrl+t"
    assert known["figures.up"] == "up,left"


def test_every_key_of_ours_can_be_given_to_another_one() -> None:
    textuals = {id(binding) for binding in TextArea.BINDINGS}
    nameless = [
        (holder.__name__, binding)
        for holder in dict.fromkeys(_holders())
        for binding in vars(holder).get("BINDINGS", [])
        if id(binding) not in textuals and not (isinstance(binding, Binding) and binding.id)
    ]
    assert nameless == []


def test_the_usual_keys_may_be_written_down_as_they_are() -> None:
    known = all_bindings()
    for name, keys in known.items():
        read_keymap({name: keys}, known)


async def test_a_configured_theme_and_key_are_in_force() -> None:
    appearance = read_appearance("nord", {"chat.knobs": "f12", "app.quit": "ctrl+x"})
    app = SpecchatApp(chat_options(), ScriptedClient(), appearance)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.pause(0.1)
        assert app.theme == "nord"
        await pilot.press("f2")
        assert not app.screen.query_one(Knobs).display
        await pilot.press("f12")
        assert app.screen.query_one(Knobs).display


async def test_the_help_names_the_users_own_keys_and_the_command_that_was_asked_about() -> None:
    app = SpecchatApp(chat_options(), ScriptedClient(), read_appearance(None, {"chat.knobs": "f12"}))
    async with app.run_test(size=(140, 60)) as pilot:
        await pilot.pause(0.1)
        await pilot.press(*"/help k", "enter")
        await pilot.pause(0.2)
        rows = [str(cell.render()) for cell in app.screen.query(Static)]
        assert rows[0] == "/k"
        assert rows[2] == "The most tokens drafted in a round; 0 is plain."
        assert rows[rows.index("F12") + 1].startswith("knobs")
        assert "F2" not in rows
        assert "F3" in rows


async def test_a_theme_is_chosen_by_command() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"/theme nord", "enter")
        await pilot.pause(0.1)
        assert pilot.app.theme == "nord"
        assert prompt(pilot).text == ""
