import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.binding import Binding
from textual.color import Color
from textual.containers import VerticalScroll
from textual.events import Key
from textual.widgets import Input, Static, TextArea

from app.tui.chatting import at_rest, chat, prompt
from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.errors import ConfigError
from specchat.settings.chosen_theme import chosen_theme
from specchat.tui.app import SpecchatApp
from specchat.tui.appearance import DARK_NAME, LIGHT_NAME, Appearance, _holders, all_bindings, read_appearance
from specchat.tui.keymap import read_keymap
from specchat.tui.widgets.knobs import Knobs
from specchat_engine.decoding.rounds import Outcome, TokenKind


def test_without_a_configuration_the_theme_is_our_dark_one() -> None:
    assert read_appearance(None, {}) == Appearance(DARK_NAME, {})


@pytest.mark.parametrize("name", ["nord", "textual-light", LIGHT_NAME])
def test_textuals_themes_and_ours_can_be_configured(name: str) -> None:
    assert read_appearance(name, {}).theme == name


ROLES = ("quiet", *(f"outcome-{each.value}" for each in (*Outcome, *TokenKind)))


async def test_of_sixteen_colours_every_role_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    async with chat(ScriptedClient(), (100, 30)) as pilot:
        for name in ("textual-dark", "textual-light", LIGHT_NAME, DARK_NAME):
            pilot.app.theme = name
            await pilot.pause()
            shown = {role: in_sixteen(pilot.app.theme_variables[role]) for role in (*ROLES, "background", "surface")}
            placeholder = prompt(pilot).get_component_rich_style("text-area--placeholder").color
            assert placeholder is not None
            for ground in (shown.pop("background"), shown.pop("surface")):
                for colour in (*shown.values(), in_sixteen(placeholder.get_truecolor().hex)):
                    assert contrast(colour, ground) >= 3, name
            assert shown["outcome-rejected"] == shown["outcome-correction"] == in_sixteen("#ff5555"), name
            assert len({shown[f"outcome-{each}"] for each in ("accepted", "rejected", "discarded", "plain")}) == 4, name


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The contrast of two colours as WCAG defines it."""

    def luminance(colour: tuple[int, int, int]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def in_sixteen(value: str) -> tuple[int, int, int]:
    """What a terminal of sixteen colours shows for a colour."""
    return RichColor.parse(Color.parse(value).hex6).downgrade(ColorSystem.STANDARD).get_truecolor()


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
    textuals = {id(binding) for widget in (TextArea, Input, VerticalScroll) for binding in widget.BINDINGS}
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


async def test_a_configured_theme_and_key_are_in_force_and_in_the_help() -> None:
    appearance = read_appearance("nord", {"chat.knobs": "alt+k", "app.quit": "ctrl+x"})
    app = SpecchatApp(chat_options(), ScriptedClient(), appearance)
    async with app.run_test(size=(140, 60)) as pilot:
        await at_rest(pilot)
        assert app.theme == "nord"
        await pilot.press(*"/help k", "enter")
        await at_rest(pilot)
        rows = [str(cell.render()) for cell in app.screen.query(Static)]
        assert rows[0] == "/k"
        assert rows[2] == "The most tokens drafted in a round; 0 is plain."
        assert rows[rows.index("Alt+K") + 1].startswith("knobs"), "the help names the user's own keys"
        assert "F2" not in rows
        assert "F3" in rows
        await pilot.press("escape", "f2")
        assert not app.screen.query_one(Knobs).display
        app.post_message(Key("alt+k", "k"))  # as terminals without kitty's protocol send it
        await pilot.pause()
        assert app.screen.query_one(Knobs).display
    assert chosen_theme() is None, "a theme for this time is not kept"


@pytest.mark.parametrize("how", ["command", "palette"])
async def test_a_theme_that_was_chosen_is_the_next_starts_theme_too(how: str) -> None:
    async with chat(ScriptedClient()) as pilot:
        assert chosen_theme() is None
        if how == "command":
            await pilot.press(*"/theme nord", "enter")
        else:
            await pilot.press(*"/theme", "enter")
            await at_rest(pilot)
            await pilot.press(*"nord")
            await at_rest(pilot, 0.4)
            await pilot.press("down", "enter")
        await at_rest(pilot)
        assert pilot.app.theme == "nord"
    assert read_appearance(None, {}, chosen=chosen_theme(), light=True).theme == "nord"


async def test_a_choice_beside_the_configuration_says_which_comes_first() -> None:
    app = SpecchatApp(chat_options(), ScriptedClient(), read_appearance(None, {}, configured="nord"))
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        await pilot.press(*"/theme dracula", "enter")
        await at_rest(pilot)
        assert [note.message for note in app._notifications] == [
            "dracula until you leave: the theme in the configuration comes first"
        ]


def test_what_is_asked_for_comes_before_what_is_configured_what_was_chosen_and_the_background() -> None:
    choices = {"configured": "nord", "chosen": "dracula", "light": True}
    assert read_appearance("monokai", {}, **choices).theme == "monokai"
    assert read_appearance(None, {}, **choices).theme == "nord"
    assert read_appearance(None, {}, chosen="dracula", light=True).theme == "dracula"
    assert read_appearance(None, {}, light=True).theme == LIGHT_NAME
    assert read_appearance(None, {}, chosen="gone").theme == DARK_NAME
