from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from specchat.bench.plan import PLAIN, Arm, BenchTurn, check_arms, default_arms, parse_arms, read_prompts, turns
from specchat.errors import ConfigError
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine.errors import SettingError

ARMS = (PLAIN, Arm("model", 2), Arm("model", 4), Arm("lookup", 8))
PROMPTS = {"facts": ("a", "b", "c", "d"), "copy": ("e", "f")}


def plan(repeats: int = 2, seed: int = 1, temperatures: tuple[float, ...] = (0.0, 0.8)) -> list[BenchTurn]:
    return [*turns(ARMS, PROMPTS, temperatures, repeats, seed)]


def groups(planned: list[BenchTurn]) -> list[list[Arm]]:
    def question(turn: BenchTurn) -> tuple[object, ...]:
        return turn.repeat, turn.kind, turn.prompt, turn.temperature

    return [[turn.arm for turn in group] for _, group in groupby(planned, question)]


def test_every_arm_answers_every_prompt_at_every_temperature_in_every_repeat_once() -> None:
    asked = Counter((turn.arm, turn.temperature, turn.repeat, turn.kind, turn.prompt, turn.text) for turn in plan())
    assert set(asked.values()) == {1}
    assert len(asked) == len(ARMS) * 2 * 2 * 6
    assert {turn.text for turn in plan() if (turn.kind, turn.prompt) == ("copy", 1)} == {"f"}


def test_all_arms_take_their_turn_on_a_prompt_before_the_next_one_comes() -> None:
    assert all(sorted(group, key=str) == sorted(ARMS, key=str) for group in groups(plan()))


def test_each_arm_stands_at_each_place_as_often_as_the_others() -> None:
    orders = groups(plan())
    for place in range(len(ARMS)):
        assert set(Counter(order[place] for order in orders).values()) == {len(orders) // len(ARMS)}


def test_the_neighbours_of_an_arm_change() -> None:
    followers = {order[(order.index(PLAIN) + 1) % len(order)] for order in groups(plan(repeats=6))}
    assert len(followers) > 1


def test_the_order_is_the_seeds() -> None:
    assert plan(seed=3) == plan(seed=3)
    assert plan(seed=3) != plan(seed=4)


def test_a_run_that_is_cut_short_has_some_of_every_kind_and_temperature() -> None:
    begun = plan()[: len(ARMS) * 4]
    assert {(turn.kind, turn.temperature) for turn in begun} == {
        (kind, temperature) for kind in PROMPTS for temperature in (0.0, 0.8)
    }


def test_plain_decoding_comes_first_and_each_arm_once_and_is_written_as_it_is_read() -> None:
    assert parse_arms("model:4, lookup:8,model:4") == (PLAIN, Arm("model", 4), Arm("lookup", 8))
    assert parse_arms("lookup:8,none") == (PLAIN, Arm("lookup", 8))
    for text in ("none", "model:4", "lookup:16", "hybrid:auto"):
        assert str(Arm.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *(
            (text, f"the arm '{text}' is not one: use none, or a drafter and a k such as")
            for text in ("model", "model:", "model:x", "model:-1", "none:4", "guess:4", "auto", "4")
        ),
        ("model:0", "the arm 'model:0' drafts nothing: use none"),
        ("model:33", "k in the arm 'model:33' is '33': use auto, or a whole number from 0 to 32"),
    ],
)
def test_what_is_no_arm_is_refused_with_examples(text: str, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        parse_arms(text)


def test_an_arm_without_its_draft_model_says_what_to_do() -> None:
    with pytest.raises(SettingError, match="the arm model:4 needs a draft model: name one with -d, or leave the arm"):
        check_arms(parse_arms("lookup:4,model:4"), ("lookup", "none"))
    with pytest.raises(SettingError, match="the arm eagle3:2 needs a head of the target: name one with -d, or leave"):
        check_arms(parse_arms("model:4,eagle3:2"), ("hybrid", "model", "lookup", "none"))


def test_every_loaded_drafter_is_measured() -> None:
    alone = default_arms(("hybrid", "lookup", "none"))
    assert {arm.drafter for arm in alone} == {"none", "lookup", "hybrid"}
    assert Arm("hybrid", "auto") in alone
    arms = {str(arm) for arm in default_arms(("hybrid", "model", "mtp", "lookup", "none"))}
    assert arms >= {"none", "model:4", "mtp:2", "lookup:8", "hybrid:auto"}
    assert not any("eagle3" in arm for arm in arms)


def test_without_a_file_the_built_in_prompts_are_taken_with_short_copies_where_a_few_seconds_must_do() -> None:
    usual, short = benchmark_prompts(), benchmark_prompts(short=True)
    assert read_prompts(None) == usual
    assert list(usual) == list(short)
    assert min(map(len, usual["copy"])) > 500
    assert max(len(prompt) for prompts in short.values() for prompt in prompts) < 300
    assert {kind for kind in usual if usual[kind] != short[kind]} == {"copy"}


def test_a_text_file_has_one_prompt_a_line_of_the_kind_in_its_name_and_a_toml_file_has_kinds(tmp_path: Path) -> None:
    file = tmp_path / "mail.txt"
    file.write_text("Answer this.\n\n  And this. \nAnswer this.\n", "utf-8")
    assert read_prompts(file) == {"mail": ("Answer this.", "And this.")}
    file = tmp_path / "prompts.toml"
    file.write_text('[mail]\nprompts = ["One", "Two\\nlines"]\n[code]\nprompts = ["Three"]\n', "utf-8")
    assert read_prompts(file) == {"mail": ("One", "Two\nlines"), "code": ("Three",)}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.txt", b"\n  \n", "contains no prompts: write one per line"),
        ("empty.toml", b"", "contains no prompts"),
        ("kind.toml", b"[mail]\nprompts = []\n", "contains no prompts"),
        ("broken.toml", b"[mail\n", "is not valid TOML"),
        ("top.toml", b'prompts = ["One"]\n', r"prompts has no list of prompts: write \[prompts\]"),
        ("numbers.toml", b"[mail]\nprompts = [1]\n", "mail has no list of prompts"),
        ("latin.txt", b"caf\xe9\n", "is not UTF-8"),
    ],
)
def test_what_holds_no_prompts_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=words) as refused:
        read_prompts(file)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.txt cannot be read: No such file"):
        read_prompts(tmp_path / "gone.txt")
