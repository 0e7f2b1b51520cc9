from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.commands.command import Refusal, StoredAction
from specchat.chat.commands.export import ExportFile
from specchat.chat.commands.registry import commands, message_text, parse
from specchat.chat.commands.set import LiveChange, SeedChange, SwitchChange
from specchat.chat.commands.spec import speculating
from specchat.chat.commands.tag import TagChange
from specchat.chat.commands.tools import ToolSwitch
from specchat.chat.controller import Sources
from specchat.stats.figures.acceptance import ALPHA, TAU
from specchat.stats.figures.speed import SPEED
from specchat.terminal.filter import clean_line
from specchat_engine.settings import Settings

SOURCES = Sources(
    drafters=("lookup", "none"),
    k_max=16,
    themes=lambda: (("specchat-dark", ""), ("nord", "")),
    presets=lambda: (("Precise", ""), ("save me", "")),
    prompts=lambda: (("translate", "Translate"), ("review", "Review this")),
    roles=lambda: (("tutor", "Explain"),),
    folder=Path("/talks"),
)


def read(text: str) -> tuple[str, object]:
    """The name of the command, and what its argument means."""
    given = parse(text, SOURCES)
    assert given is not None
    return given.command.name, given.value


def refusal(text: str, sources: Sources = SOURCES) -> str:
    with pytest.raises(Refusal) as refused:
        parse(text, sources)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def changed(text: str, settings: Settings | None = None) -> Settings:
    _, change = read(text)
    assert isinstance(change, LiveChange)
    return change.knob.typed(settings or Settings(), change.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("/help", None),
        ("/help /Spec", "spec"),
        ("/help my own theme", "my own theme"),
        ("/explain", None),
        ("/explain Alpha", ALPHA),
        ("/explain τ", TAU),
        ("/explain tok/s", SPEED),
        ("/new", ""),
        ("/new  A walk ", "A walk"),
        ("/sessions", ""),
        ("/sessions two words", "two words"),
        ("/model", ""),
        ('/model "my model.gguf"', "my model.gguf"),
        ("/draft", ""),
        ("/draft small.gguf", "small.gguf"),
        ("/draft none", "none"),
        ("/models", None),
        ("/system", ""),
        ("/system Be brief.\nBe kind.", "Be brief.\nBe kind."),
        ("/system none", "none"),
        ("/set seed 7", SeedChange(7)),
        ("/set seed -1", SeedChange(None)),
        ("/edit", None),
        ("/edit answer", ""),
        ("/edit answer It was ", "It was"),
        ("/vi", SwitchChange("vi_keys")),
        ("/vi off", SwitchChange("vi_keys", False)),
        ("/set vi_keys on", SwitchChange("vi_keys", True)),
        ("/stats", "session"),
        ("/stats pair", "pair"),
        ("/why", None),
        ("/verify", None),
        ("/replay", None),
        ("/replay a b.jsonl", Path("/talks/a b.jsonl")),
        ("/export md", ExportFile("markdown")),
        ('/export html "a b.html"', ExportFile("html", Path("/talks/a b.html"))),
        ("/export md ~nobody-of-that-name", ExportFile("markdown", Path.cwd() / "~nobody-of-that-name")),
        ("/theme", None),
        ("/theme NORD", "nord"),
        ("/preset", StoredAction("list")),
        ("/preset precise", StoredAction("use", "Precise")),
        ("/preset save letters to Ann", StoredAction("save", "letters to Ann")),
        ("/preset save Save me", StoredAction("save", "Save me")),
        ("/preset SAVE ME", StoredAction("use", "save me")),
        ("/preset forget precise", StoredAction("forget", "Precise")),
        ("/regen", None),
        ("/branch", None),
        ("/clear", None),
        ("/race", None),
        ("/step", None),
        ("/step off", False),
        ("/attach notes.txt", "notes.txt"),
        ("/paste", None),
        ("/store", ("", False)),
        ("/tools", ToolSwitch()),
        ("/tools OFF time", ToolSwitch("time", on=False)),
        ("/tools file notes.md", Path("/talks/notes.md")),
        ('/tools file @"my notes.md"', Path("/talks/my notes.md")),
        ("/store off docs", ("docs", False)),
        ("/predict @notes.txt", Path("/talks/notes.txt")),
        ("/copy", "answer"),
        ("/copy code", "code"),
        ("/copy 2", 2),
        ("/tour", None),
        (" /QUIT ", None),
        ("/prompt", StoredAction("list")),
        ("/prompt translate", StoredAction("use", "translate")),
        ("/prompt Translate  German two words", StoredAction("use", "translate", "German two words")),
        ("/role", StoredAction("list")),
        ("/role tutor", StoredAction("use", "tutor")),
        ("/role save mine", StoredAction("save", "mine")),
        ("/role forget tutor", StoredAction("forget", "tutor")),
        ("/role none", None),
        ("/tag", TagChange()),
        ("/tag Work #draft work", TagChange(("work", "draft"))),
        ("/tag forget #work", TagChange(("work",), forget=True)),
        ("/tag #forget", TagChange(("forget",))),
    ],
)
def test_a_command_is_read(text: str, value: object) -> None:
    name = text.split()[0].strip("/").lower()
    assert read(text) == (name, value)


def test_an_exclamation_mark_begins_a_shell_command() -> None:
    assert [read(text) for text in ("!ls -l", " ! ")] == [("!", "ls -l"), ("!", "")]


def test_settings_change_to_what_was_typed() -> None:
    assert changed("/k 16").k == 16
    assert changed("/k auto", Settings(k=3)).k == "auto"
    assert changed("/temp 0,5").sampling.temperature == 0.5
    assert changed("/set top-p 0.9").sampling.top_p == 0.9
    assert changed("/set TOP_K 7").sampling.top_k == 7
    assert changed("/set temp 5").sampling.temperature == 5
    assert changed("/set max-tokens 100").max_tokens == 100
    assert changed("/set drafter look").drafter == "lookup"
    assert changed("/set repeat-penalty 1.1").sampling.repeat_penalty == 1.1
    assert changed("/set repeat-last-n -1").sampling.penalty_last_n == -1


def test_a_change_leaves_the_other_settings_alone() -> None:
    settings = changed("/k 2", Settings(max_tokens=9))
    assert changed("/set typical-p 0.5", settings) == changed("/set typical 0.5", settings)
    assert changed("/set typical-p 0.5", settings).max_tokens == 9
    assert changed("/set typical-p 0.5", settings).k == 2


def test_speculation_goes_off_and_on_again() -> None:
    assert read("/spec OFF") == ("spec", "off")
    assert speculating("off", Settings(k=5)).k == 0
    assert speculating("on", Settings(k=0)).k == "auto"
    assert speculating("on", Settings(k=5, drafter="none")) == Settings(k=5, drafter="hybrid")
    assert speculating("auto", Settings(k=5)).k == "auto"
    assert speculating("on", Settings(k=0), 3).k == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/hlep", "there is no command /hlep: did you mean /help? // begins a message with a slash"),
        ("/xyzzy now", "there is no command /xyzzy: /help lists them; // begins a message with a slash"),
        ("/tree 2", "/tree is a setting: /set tree 2"),
        ("/top_k", "/top_k is a setting: /set top-k VALUE"),
        ("/seed 7", "/seed is a setting: /set seed 7"),
        ("/ctx 2048", "/ctx is a setting: /set ctx-size 2048"),
        ("/temp", "temperature needs a value, such as 0.8"),
        ("/", "a command has a name, such as /help; // begins a message with a slash"),
        ("/k 17", "k is '17': use auto, or a whole number from 0 to 16"),
        ("/k -1", "k is '-1': use auto, or a whole number from 0 to 16"),
        ("/k", "k needs a value, such as auto"),
        ("/temp hot", "temperature is 'hot': use a number from 0 to 100"),
        ("/temp nan", "temperature is 'nan': use a number from 0 to 100"),
        ("/set", "name the setting: use k, drafter"),
        ("/set vi-keys", "vi-keys needs a value: use on or off"),
        ("/edit it", "/edit edits the last message, /edit answer the last answer: omit 'it'"),
        ("/import", "name the export: /import FILE, or a folder"),
        ("/vi maybe", "vi-keys is 'maybe': use on or off"),
        ("/set top-q 1", "there is no setting top-q: did you mean top-p?"),
        ("/set top-p 2", "top-p is '2': use a number from 0 to 1"),
        ("/set drafter model", "drafter is 'model': use lookup or none"),
        ("/set repeat-penalty 0", "repeat-penalty is '0': use a number from 0.001 to 100 (1 is off)"),
        ("/set penalty-last-n 1.5", "penalty-last-n is '1.5': use a whole number"),
        ("/set seed x", "seed is 'x': use a whole number from -1"),
        ("/spec maybe", "speculation is 'maybe': use on, off, auto"),
        ("/stats all", "there are no statistics of 'all': use turn, session, pair"),
        ("/export", "name the kind of export: use markdown, html, jsonl, svg"),
        ("/export htm", "there is no export 'htm': did you mean html?"),
        ("/theme nrod", "there is no theme nrod: did you mean nord?"),
        ("/preset wild", "there is no preset wild: use Precise, save me"),
        ("/preset save", "name the preset: /preset save NAME"),
        ("/preset forget precse", "there is no preset precse: did you mean Precise?"),
        ("/step twice", "step mode is 'twice': use on, off"),
        ("/copy all", "'all' cannot be copied: use answer, code, chat, or a number"),
        ("/attach", "name the file: /attach FILE"),
        ("/store docs", "'docs' is not understood: /store on NAME, /store off NAME, or /store alone"),
        ("/predict", "name the file that will be repeated: /predict FILE"),
        ("/prompt translat German", "there is no prompt translat: did you mean translate?"),
        ("/prompt forget nothing", "there is no prompt nothing"),
        ("/role tutr", "there is no role tutr: did you mean tutor?"),
        ("/tag forget", "name the tag"),
        ("/tag a#b", "'a#b' cannot be a tag"),
        ("/tag #", "'#' cannot"),
        ("/quit now", "this command takes no arguments: omit 'now'"),
    ],
)
def test_what_cannot_be_done_is_rejected_in_one_line(text: str, reason: str) -> None:
    assert refusal(text).startswith(reason)


@pytest.mark.parametrize("text", ["Hi", "a /k 3", "//k 3", "/usr/bin/env is a path", "", "@a", "1/2", "// a comment"])
def test_other_texts_are_messages(text: str) -> None:
    assert parse(text, SOURCES) is None


def test_two_slashes_begin_a_message_with_one() -> None:
    assert message_text("//k is a command") == "/k is a command"
    assert message_text("a //b") == "a //b"


def test_if_nothing_is_known_any_theme_is_accepted_and_the_line_says_how_to_store_a_prompt() -> None:
    given = parse("/theme mine", Sources())
    assert given is not None
    assert given.value == "mine"
    assert refusal("/prompt review", Sources()) == "there is no prompt review: /prompt save review stores one"


@given(st.sampled_from([*commands(), "x", ""]), st.text(max_size=20))
def test_anything_after_a_slash_is_read_or_rejected_in_one_line(name: str, argument: str) -> None:
    reason = ""
    try:
        parse(f"/{name} {argument}", SOURCES)
    except Refusal as refused:
        reason = str(refused)
    assert reason == clean_line(reason)
