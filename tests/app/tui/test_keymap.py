from typing import ClassVar

import pytest
from textual.app import App
from textual.binding import Binding, BindingType

from specchat.errors import ConfigError
from specchat.tui.keymap import known_bindings, read_keymap

KNOWN = {
    "app.quit": "ctrl+q",
    "chat.stop": "escape",
    "chat.back": "escape",
    "chat.knobs": "f2",
    "chat.view": "f3",
    "prompt.new_line": "ctrl+j,alt+enter",
    "inspector.raw": "r",
    "race.again": "r",
}


def complaint(**keys: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read_keymap({name.replace("__", "."): key for name, key in keys.items()}, KNOWN)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Base(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f3", "note('view')", id="chat.view")]


class Small(Base):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,f5", "note('knobs')", id="chat.knobs"),
        Binding("escape", "note('stop')", id="chat.stop"),
        Binding("escape", "note('back')", id="chat.back"),
        ("f9", "note('nameless')"),
    ]
    noted: ClassVar[list[str]] = []

    def action_note(self, what: str) -> None:
        self.noted.append(what)


async def test_a_key_of_the_users_own_takes_the_place_of_the_usual_ones() -> None:
    app = Small()
    app.noted.clear()
    known = known_bindings(Small)
    assert known == {"chat.knobs": "f2,f5", "chat.view": "f3", "chat.stop": "escape", "chat.back": "escape"}
    app.set_keymap(read_keymap({"chat.knobs": "ctrl+k, f6", "chat.view": "f2"}, known))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+k", "f6", "f2", "f5", "f3", "f9")
    assert app.noted == ["knobs", "knobs", "view", "nameless"]


def test_an_id_that_is_not_there_is_named_with_the_nearest_one() -> None:
    assert complaint(chat__knob="f4") == "keys has 'chat.knob': did you mean chat.knobs?"
    assert complaint(x="f4").startswith("keys has 'x': known are app.quit, chat.stop")


@pytest.mark.parametrize("key", ["ctlr+k", "f99", "knobs", "ctrl+", "+", "ctrl k"])
def test_a_key_that_is_not_there_is_refused(key: str) -> None:
    assert complaint(chat__knobs=key).startswith(f"keys.chat.knobs is {key!r}: there is no such key")


@pytest.mark.parametrize("key", ["", " , "])
def test_no_key_at_all_is_refused(key: str) -> None:
    assert complaint(chat__knobs=key) == f"keys.chat.knobs is {key!r}: use a key, such as f4 or ctrl+k"


@pytest.mark.parametrize("key", ["x", "?", "question_mark", "space", "shift+a"])
def test_a_key_that_types_is_left_to_typing_where_one_types(key: str) -> None:
    assert "types a character" in complaint(chat__knobs=key)
    assert read_keymap({"inspector.raw": key}, KNOWN) == {"inspector.raw": key}


@pytest.mark.parametrize("key", ["f4", "ctrl+k", "alt+x", "ctrl+shift+up", "alt+question_mark", "tab", "ctrl+plus"])
def test_other_keys_are_taken(key: str) -> None:
    assert read_keymap({"chat.knobs": key}, KNOWN) == {"chat.knobs": key}


def test_one_key_does_one_thing() -> None:
    assert complaint(chat__knobs="f4", prompt__new_line="f4") == (
        "keys.chat.knobs is 'f4': that is the key of prompt.new_line; give one of them another"
    )
    assert complaint(chat__knobs="ctrl+q") == (
        "keys.chat.knobs is 'ctrl+q': that is the key of app.quit; give app.quit another key too"
    )
    assert complaint(race__again="ctrl+q").endswith("give app.quit another key too")


def test_keys_can_change_places() -> None:
    swapped = {"chat.knobs": "f3", "chat.view": "f2"}
    assert read_keymap(swapped, KNOWN) == swapped


def test_places_with_a_keyboard_of_their_own_share_keys() -> None:
    assert read_keymap({"inspector.raw": "f2", "race.again": "f2"}, KNOWN)


def test_what_shares_a_key_by_default_may_share_another() -> None:
    assert read_keymap({"chat.stop": "f4", "chat.back": "f4"}, KNOWN)


async def test_a_key_that_one_of_two_gives_up_stays_with_the_other() -> None:
    app = Small()
    app.noted.clear()
    app.set_keymap(read_keymap({"chat.stop": "f8"}, known_bindings(Small)))
    async with app.run_test() as pilot:
        await pilot.press("escape", "f8")
    assert app.noted == ["back", "stop"]
