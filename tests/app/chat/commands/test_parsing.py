from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.chat.commands import invocations as asked
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import COMMANDS, message_text, parse
from specchat.stats.figures.acceptance import ALPHA, TAU
from specchat.stats.figures.speed import SPEED
from specchat.terminal.filter import clean_line
from specchat_engine.settings import Settings

SOURCES = Sources(
    drafters=("lookup", "none"),
    k_max=16,
    themes=lambda: (("specchat-dark", ""), ("nord", "")),
    presets=lambda: (("Precise", ""), ("save me", "")),
    folder=Path("/talks"),
)


def read(text: str) -> asked.Invocation:
    invocation = parse(text, SOURCES)
    assert isinstance(invocation, asked.Invocation), invocation
    return invocation


def refusal(text: str) -> str:
    refused = parse(text, SOURCES)
    assert isinstance(refused, asked.Refusal), refused
    assert "\n" not in refused.reason
    return refused.reason


def changed(text: str, settings: Settings | None = None) -> Settings:
    invocation = read(text)
    assert isinstance(invocation, asked.Change | asked.Speculate)
    return invocation.applied(settings or Settings())


@pytest.mark.parametrize(
    ("text", "invocation"),
    [
        ("/help", asked.ShowHelp()),
        ("/help /Spec", asked.ShowHelp("spec")),
        ("/help my own theme", asked.ShowHelp("my own theme")),
        ("/explain", asked.ExplainFigure()),
        ("/explain Alpha", asked.ExplainFigure(ALPHA)),
        ("/explain τ", asked.ExplainFigure(TAU)),
        ("/explain tok/s", asked.ExplainFigure(SPEED)),
        ("/new", asked.NewSession()),
        ("/new  A walk ", asked.NewSession("A walk")),
        ("/sessions", asked.ShowSessions()),
        ("/sessions two words", asked.ShowSessions("two words")),
        ("/model", asked.ShowModels("target")),
        ('/model "my model.gguf"', asked.LoadTarget("my model.gguf")),
        ("/model my model.gguf", asked.LoadTarget("my model.gguf")),
        ("/draft", asked.ShowModels("draft")),
        ("/draft small.gguf", asked.LoadDraft("small.gguf")),
        ("/draft none", asked.LoadDraft(None)),
        ("/models", asked.ShowModels()),
        ("/system", asked.ShowSystem()),
        ("/system Be brief.\nBe kind.", asked.SetSystem("Be brief.\nBe kind.")),
        ("/system none", asked.SetSystem(None)),
        ("/set seed 7", asked.SetSeed(7)),
        ("/set seed -1", asked.SetSeed(None)),
        ("/edit", asked.EditLast()),
        ("/edit answer", asked.EditAnswer()),
        ("/edit answer It was ", asked.EditAnswer("It was")),
        ("/vi", asked.UseSwitch("vi_keys")),
        ("/vi off", asked.UseSwitch("vi_keys", False)),
        ("/set vi_keys on", asked.UseSwitch("vi_keys", True)),
        ("/stats", asked.ShowStatistics("session")),
        ("/stats pair", asked.ShowStatistics("pair")),
        ("/why", asked.Explain()),
        ("/verify", asked.Verify()),
        ("/replay", asked.Replay()),
        ("/replay a b.jsonl", asked.Replay(Path("/talks/a b.jsonl"))),
        ("/export md", asked.Export("markdown")),
        ('/export html "a b.html"', asked.Export("html", Path("/talks/a b.html"))),
        ("/export md ~nobody-of-that-name", asked.Export("markdown", Path.cwd() / "~nobody-of-that-name")),
        ("/theme", asked.SetTheme()),
        ("/theme NORD", asked.SetTheme("nord")),
        ("/preset", asked.ApplyPreset()),
        ("/preset precise", asked.ApplyPreset("Precise")),
        ("/preset save letters to Ann", asked.SavePreset("letters to Ann")),
        ("/preset save Save me", asked.SavePreset("Save me")),
        ("/preset SAVE ME", asked.ApplyPreset("save me")),
        ("/preset forget precise", asked.ForgetPreset("Precise")),
        ("/regen", asked.Regenerate()),
        ("/branch", asked.Branch()),
        ("/clear", asked.Clear()),
        ("/race", asked.Race()),
        ("/step", asked.StepMode()),
        ("/step off", asked.StepMode(False)),
        ("/attach notes.txt", asked.Attach("notes.txt")),
        ("/paste", asked.PasteImage()),
        ("/store", asked.UseStore()),
        ("/tools", asked.UseTools()),
        ("/tools OFF time", asked.UseTools("time", on=False)),
        ("/tools file notes.md", asked.NameFile(Path("/talks") / "notes.md")),
        ('/tools file @"my notes.md"', asked.NameFile(Path("/talks") / "my notes.md")),
        ("/store off docs", asked.UseStore("docs", on=False)),
        ("/predict @notes.txt", asked.Predict(Path("/talks/notes.txt"))),
        ("/copy", asked.Copy()),
        ("/copy code", asked.Copy("code")),
        ("/copy 2", asked.Copy(2)),
        ("/tour", asked.Tour()),
        (" /QUIT ", asked.Quit()),
    ],
)
def test_a_command_is_read(text: str, invocation: asked.Invocation) -> None:
    assert read(text) == invocation


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
    assert changed("/spec off", Settings(k=5)).k == 0
    assert changed("/spec on", Settings(k=0)).k == "auto"
    assert changed("/spec on", Settings(k=5, drafter="none")) == Settings(k=5, drafter="hybrid")
    assert changed("/spec auto", Settings(k=5)).k == "auto"
    assert asked.Speculate("on").applied(Settings(k=0), 3).k == 3


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
        ("/temp 101", "temperature is '101': use a number from 0 to 100"),
        ("/temp nan", "temperature is 'nan': use a number from 0 to 100"),
        ("/set", "name the setting: use k, drafter"),
        ("/set vi-keys", "vi-keys needs a value: use on or off"),
        ("/edit it", "/edit edits the last message, /edit answer the last answer: omit 'it'"),
        ("/import", "name the export: /import FILE, or a folder"),
        ("/vi maybe", "vi-keys is 'maybe': use on or off"),
        ("/set top-q 1", "there is no setting top-q: did you mean top-p?"),
        ("/set top-p", "top-p needs a value, such as 0.95"),
        ("/set top-p 2", "top-p is '2': use a number from 0 to 1"),
        ("/set drafter model", "drafter is 'model': use lookup or none"),
        ("/set repeat-penalty 0", "repeat-penalty is '0': use a number from 0.001 to 100 (1 is off)"),
        ("/set repeat-penalty much", "repeat-penalty is 'much': use a number"),
        ("/set penalty-last-n 1.5", "penalty-last-n is '1.5': use a whole number"),
        ("/set seed x", "seed is 'x': use a whole number from -1"),
        (f"/set seed {2**64}", f"seed is '{2**64}': use a whole number from -1"),
        ("/spec maybe", "speculation is 'maybe': use on, off, auto"),
        ("/stats all", "there are no statistics of 'all': use turn, session, pair"),
        ("/export", "name the kind of export: use markdown, html, jsonl, svg"),
        ("/export htm", "there is no export 'htm': did you mean html?"),
        ("/theme nrod", "there is no theme nrod: did you mean nord?"),
        ("/preset wild", "there is no preset wild: use Precise, save me"),
        ("/preset save", "name the preset: /preset save NAME"),
        ("/preset forget ", "name the preset: /preset forget NAME"),
        ("/preset forget precse", "there is no preset precse: did you mean Precise?"),
        ("/step twice", "step mode is 'twice': use on, off"),
        ("/copy all", "'all' cannot be copied: use answer, code, chat, or a number"),
        ("/attach", "name the file: /attach FILE"),
        ("/store docs", "'docs' is not understood: /store on NAME, /store off NAME, or /store alone"),
        ("/predict", "name the file that will be repeated: /predict FILE"),
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


def test_any_theme_is_accepted_if_none_are_known() -> None:
    assert parse("/theme mine", Sources()) == asked.SetTheme("mine")


@given(st.sampled_from([command.name for command in COMMANDS] + ["x", ""]), st.text(max_size=20))
def test_anything_after_a_slash_is_read_or_rejected_in_one_line(name: str, argument: str) -> None:
    found = parse(f"/{name} {argument}", SOURCES)
    assert isinstance(found, asked.Invocation | asked.Refusal)
    assert not isinstance(found, asked.Refusal) or found.reason == clean_line(found.reason)
