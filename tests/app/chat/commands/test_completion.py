from pathlib import Path

import pytest

from specchat.chat.commands import completion
from specchat.chat.commands.completion import Completion, complete, is_open_ended
from specchat.chat.commands.registry import commands, parse
from specchat.chat.controller import Sources


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("notes.txt", "My trace.jsonl", ".hidden", "src/app.py", "my folder/a.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    return Sources(
        drafters=("lookup", "none"),
        models=lambda: (("A long talk", "3 B"), ("Small talk", "1 B"), ("Talking", "")),
        themes=lambda: (("nord", "dark"), ("specchat-dark", "")),
        tools=lambda: (("builtin", "off"), ("time", "off")),
        presets=lambda: (("greedy", "the likeliest"), ("letters to Ann", "warm")),
        folder=folder,
    )


def offered(text: str, sources: Sources, cursor: int | None = None) -> list[str]:
    cursor = len(text) if cursor is None else cursor
    return [completion.applied(text)[0] for completion in complete(text, cursor, sources)]


def test_a_slash_offers_all_commands_with_their_help(sources: Sources) -> None:
    assert offered("/", sources)[:2] == ["/help ", "/new "]
    assert len(offered("/", sources)) == len(commands())
    assert all(completion.help for completion in complete("/", 1, sources))


def test_the_beginning_of_a_name_offers_the_commands_that_match(sources: Sources) -> None:
    assert offered("/s", sources) == ["/sessions ", "/spec ", "/set ", "/system ", "/stats ", "/step ", "/store "]
    assert offered("/WH", sources) == ["/why"]
    assert offered("/x", sources) == []


@pytest.mark.parametrize("text", ["", "a", "a /s", "//", "//s", "/usr/b", "a@b"])
def test_ordinary_text_offers_nothing(text: str, tmp_path: Path) -> None:
    assert complete(text, len(text), Sources(folder=tmp_path)) == []


def test_arguments_are_completed(sources: Sources) -> None:
    assert offered("/spec ", sources) == ["/spec on", "/spec off", "/spec auto"]
    assert offered("/spec o", sources) == ["/spec on", "/spec off"]
    assert offered("/think o", sources) == ["/think on", "/think off"]
    assert offered("/theme da", sources) == ["/theme specchat-dark"]
    assert offered("/set top", sources) == ["/set top-k ", "/set top-p "]
    assert offered("/set drafter l", sources) == ["/set drafter lookup"]
    assert offered("/export h", sources) == ["/export html "]
    assert offered("/draft n", sources) == ["/draft none"]
    assert offered("/help wh", sources) == ["/help why"]


def test_tools_are_completed_by_what_is_to_be_done_with_them(sources: Sources) -> None:
    assert offered("/tools ", sources) == ["/tools on ", "/tools off ", "/tools file "]
    assert offered("/tools on ", sources) == ["/tools on builtin", "/tools on time"]
    assert offered("/tools off t", sources) == ["/tools off time"]
    assert offered("/tools file no", sources) == ["/tools file notes.txt"]


def test_every_preset_can_be_applied_and_only_the_users_own_removed(sources: Sources) -> None:
    assert offered("/preset ", sources) == [
        "/preset greedy",
        "/preset letters to Ann",
        "/preset save ",
        "/preset forget letters to Ann",
    ]
    assert offered("/preset letters t", sources) == ["/preset letters to Ann", "/preset forget letters to Ann"]
    assert offered("/preset forget l", sources) == ["/preset forget letters to Ann"]
    assert offered("/preset save le", sources) == []


def test_names_that_begin_with_the_text_come_before_those_that_contain_it(sources: Sources) -> None:
    assert offered("/model talk", sources) == ["/model Talking", "/model A long talk", "/model Small talk"]
    assert offered("/model a long", sources) == ["/model A long talk"]


def test_files_are_completed_as_arguments(sources: Sources) -> None:
    assert offered("/replay no", sources) == ["/replay notes.txt"]
    assert offered("/replay my t", sources) == ['/replay "My trace.jsonl"']
    assert offered('/replay "my t', sources) == ['/replay "My trace.jsonl"']
    assert offered("/export md src/", sources) == ["/export md src/app.py"]


def test_an_at_sign_offers_folders_then_files_and_hidden_ones_after_a_dot(sources: Sources) -> None:
    assert offered("read @", sources) == [
        'read @"my folder/',
        "read @src/",
        'read @"My trace.jsonl" ',
        "read @notes.txt ",
    ]
    assert offered("@.", sources) == ["@.hidden "]
    assert offered("@src/", sources) == ["@src/app.py "]
    assert offered('@"my folder/', sources) == ['@"my folder/a.txt" ']


def test_only_the_mention_under_the_cursor_is_completed(sources: Sources) -> None:
    text = "compare @no and @sr\nplease"
    assert offered(text, sources, 11) == ["compare @notes.txt and @sr\nplease"]
    assert offered(text, sources, 19) == ["compare @no and @src/\nplease"]
    assert offered(text, sources, 13) == []
    (completion,) = complete("@no and", 3, sources)
    assert completion == Completion("@notes.txt", "", 0, 3)
    assert completion.applied("@no and") == ("@notes.txt and", 10)


def test_the_home_folder_completes_and_one_that_is_not_there_offers_nothing(
    sources: Sources, isolated_machine: Path
) -> None:
    (isolated_machine / "at home.txt").touch()
    assert offered("@~", sources) == ["@~/"]
    assert offered("@~/at", sources) == ['@"~/at home.txt" ']
    assert offered("@nowhere/", sources) == offered("@~nobody-of-this-name/", sources) == []


def test_only_the_first_of_thousands_of_files_are_offered(sources: Sources) -> None:
    for number in range(1500):
        (sources.folder / f"many{number:04}").touch()
    assert len(offered("@many", sources)) == completion.MOST
    assert offered("@many1499", sources) == ["@many1499 "]


def test_only_open_ended_commands_accept_unlisted_arguments() -> None:
    assert is_open_ended("/sessions ta")
    assert not is_open_ended("/theme n")
    assert not is_open_ended("/sessions")
    assert not is_open_ended("sessions ta")


def test_every_completion_of_a_fixed_argument_can_be_read(sources: Sources) -> None:
    for name in commands():
        for text in offered(f"/{name} ", sources):
            if not text.endswith((" ", "/")):
                assert parse(text, sources) is not None, text


def test_a_file_created_while_typing_is_offered_unless_its_name_has_control_characters(sources: Sources) -> None:
    assert offered("@new", sources) == []
    for name in ("new.txt", "new\x1b[2J.txt"):
        (sources.folder / name).touch()
    assert offered("@new", sources) == ["@new.txt "]
