"""What a draft has learned: off until asked for, adopted one after the other, undone and deleted by the user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.errors import LibraryError
from specchat.learning import Learned, Learning
from specchat.learning.learned import NEW_TOKENS
from specchat_engine.decoding.stats import AcceptanceCounts


@pytest.fixture
def learned(tmp_path: Path) -> Learned:
    """A draft that learns."""
    learning = Learning()
    learning.turn(on=True)
    target, draft = tmp_path / "target.gguf", tmp_path / "draft.gguf"
    target.touch()
    draft.write_text("the first draft")
    return learning.of(target, draft)


def trained(tmp_path: Path, text: str) -> Path:
    """A file that a training wrote."""
    file = tmp_path / "new.gguf"
    file.write_text(text)
    return file


def test_nothing_is_learned_until_the_user_says_so(tmp_path: Path) -> None:
    learning = Learning()
    assert not learning.is_on
    found = learning.of(tmp_path / "t.gguf", tmp_path / "d.gguf")
    assert found.current == (tmp_path / "d.gguf").resolve()
    assert not learning.folder.exists()


def test_a_training_is_due_after_enough_new_tokens(learned: Learned) -> None:
    learned.saw(NEW_TOKENS - 1)
    assert not learned.is_due
    learned.saw(1)
    assert learned.is_due
    learned.training_begins()
    assert not learned.is_due


def test_drafts_are_adopted_and_undone_one_after_the_other(learned: Learned, tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="nothing was adopted"):
        learned.back()
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    learned.adopt(trained(tmp_path, "third"), 0.6, 0.7)
    assert learned.current.read_text() == "third"
    assert "adopted 2 ×, α on later turns 0.50 → 0.60 → 0.70" in learned.summary()
    assert learned.back().read_text() == "second"
    assert learned.back().read_text() == "the first draft"
    learned.adopt(trained(tmp_path, "another second"), 0.5, 0.65)
    assert learned.current.read_text() == "another second"
    assert [one.after for one in learned.adoptions] == [0.65]


def test_only_the_latest_drafts_are_kept(learned: Learned, tmp_path: Path) -> None:
    for number in range(8):
        learned.adopt(trained(tmp_path, str(number)), 0.5, 0.6)
    assert len([*learned.folder.glob("draft-*.gguf")]) == 5
    assert learned.current.read_text() == "7"


def test_large_drafts_are_kept_only_as_far_as_they_fit_but_the_one_before_always(
    learned: Learned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.learning.learned._KEPT_BYTES", 400)
    for number, size in enumerate((100, 150, 150, 100, 150), 1):
        learned.adopt(trained(tmp_path, "x" * size), 0.5, 0.6)
        assert (learned.folder / f"draft-{number}.gguf").exists()
    assert sorted(file.name for file in learned.folder.glob("draft-*")) == [f"draft-{one}.gguf" for one in (3, 4, 5)]
    for _ in range(2):
        learned.adopt(trained(tmp_path, "x" * 1000), 0.5, 0.6)
    assert sorted(file.name for file in learned.folder.glob("draft-*")) == ["draft-6.gguf", "draft-7.gguf"]
    assert learned.back().name == "draft-6.gguf"
    assert learned.back() == learned.base


def test_an_adopted_draft_goes_on_learning_as_the_one_it_was_made_from(learned: Learned, tmp_path: Path) -> None:
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    again = Learning().of(tmp_path / "target.gguf", learned.current)
    assert (again.folder, again.base) == (learned.folder, learned.base)


def test_a_missing_draft_or_a_broken_history_falls_back_to_what_there_was(learned: Learned, tmp_path: Path) -> None:
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    learned.current.unlink()
    assert learned.current.read_text() == "the first draft"
    for broken in ("", "{", "[]", '{"adoptions": 3}'):
        (learned.folder / "learned.json").write_text(broken)
        assert learned.adoptions == ()


def test_what_drafts_of_the_pair_accepted_is_kept_over_recorded_tokens(learned: Learned, tmp_path: Path) -> None:
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    counts = AcceptanceCounts(6, 2)
    foreign = tmp_path / "another.gguf"
    learned.saw(600, "code", [(learned.base, counts), (learned.base, counts), (learned.current, counts)])
    learned.saw(600, "free", [(foreign, counts), (learned.current, AcceptanceCounts(1, 1))])
    learned.saw(600, "free")
    assert learned.history.seen == 1800
    assert [(one.tokens, one.kind, one.learned, one.num_tested_tokens) for one in learned.history.alphas] == [
        (600, "code", False, 16),
        (600, "code", True, 8),
        (1200, "free", True, 2),
    ]
    learned.back()
    assert len(learned.history.alphas) == 3
    assert [one.file for one in learned.history.undone] == ["draft-1.gguf"]


def test_a_history_of_an_earlier_version_is_read(learned: Learned) -> None:
    adoption = {"file": "draft-1.gguf", "tokens": 5, "before": 0.5, "after": 0.6}
    kept = {"adoptions": [adoption], "used": 1, "seen": 700, "trained": 5}
    (learned.folder / "learned.json").write_text(json.dumps(kept))
    learned.saw(50, "code", [(learned.base, AcceptanceCounts(3, 1))])
    assert learned.history.seen == 750
    assert len(learned.adoptions) == len(learned.history.alphas) == 1


def test_two_processes_that_adopt_at_the_same_time_lose_no_adoption(learned: Learned, tmp_path: Path) -> None:
    adopting = (
        "import sys\nfrom pathlib import Path\nfrom specchat.learning import Learned\n"
        "learned, new = Learned(Path(sys.argv[1]), Path('d').resolve()), Path(sys.argv[2])\n"
        "print(flush=True)\nsys.stdin.read()\n"
        "for number in range(40):\n    new.touch()\n    learned.adopt(new, 0.5, 0.6)\n"
    )
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", adopting, learned.folder, tmp_path / name], stdin=pipe, stdout=pipe)
        for name in ("one", "two")
    ]
    for process in started:
        assert process.stdout
        process.stdout.readline()
    for process in started:
        assert process.stdin
        process.stdin.close()
    for process in started:
        with process:
            assert process.wait() == 0
    names = [one.file for one in learned.adoptions]
    assert names == [f"draft-{number}.gguf" for number in range(1, 81)]
    assert sorted(file.name for file in learned.folder.glob("draft-*")) == names[-5:]


def test_a_draft_whose_adoption_cannot_be_noted_is_not_adopted(learned: Learned, tmp_path: Path) -> None:
    (learned.folder / "learned.json").mkdir()
    with pytest.raises(LibraryError, match=r"new\.gguf cannot be adopted"):
        learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    assert learned.current == learned.base


def test_only_one_process_trains_a_draft(learned: Learned) -> None:
    with learned.training() as alone, learned.training() as second:
        assert alone
        assert not second
    with learned.training() as again:
        assert again


def test_the_commands_switch_show_and_delete(
    learned: Learned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    assert main(["learn", "show"]) == 0
    shown = capsys.readouterr()
    assert "learning is on" in shown.err
    assert "α on later turns 0.50 → 0.60" in shown.out
    assert main(["learn", "show", "--json"]) == 0
    shown_as_json = json.loads(capsys.readouterr().out)
    assert shown_as_json["adoptions"] == [{"tokens": 0, "before": 0.5, "after": 0.6}]
    assert shown_as_json["undone"] == shown_as_json["alphas"] == []
    learned.saw(80, "free", [(learned.base, AcceptanceCounts(30, 10)), (learned.current, AcceptanceCounts(9, 1))])
    learned.back()
    assert main(["learn", "show", "--json"]) == 0
    shown_as_json = json.loads(capsys.readouterr().out)
    assert shown_as_json["seen"] == 80
    assert shown_as_json["undone"] == [{"tokens": 0, "before": 0.5, "after": 0.6}]
    free = {"tokens": 80, "kind": "free"}
    assert shown_as_json["alphas"] == [
        free | {"draft": "original", "accepted": 30, "rejected": 10, "alpha": 0.75},
        free | {"draft": "learned", "accepted": 9, "rejected": 1, "alpha": 0.9},
    ]
    assert main(["learn", "off"]) == 0
    assert not Learning().is_on
    assert main(["learn", "forget"]) == 0
    assert not learned.folder.exists()
    assert learned.base.exists()


def test_on_a_terminal_the_history_is_drawn_and_elsewhere_lines_stay_short(
    learned: Learned, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned.saw(3000, "free", [(learned.base, AcceptanceCounts(150, 50))])
    learned.adopt(trained(tmp_path, "second"), 0.5, 0.6)
    assert main(["learn", "show"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert main(["learn", "show"]) == 0
    drawn = capsys.readouterr().out
    assert "free  ○ 0.75" in drawn
    assert "▲ draft-1.gguf after 3,000 tokens: held-out α 0.50 → 0.60" in drawn
    assert max(map(len, drawn.splitlines())) <= 80


def test_tokens_that_are_counted_meanwhile_lose_no_adoption(learned: Learned, tmp_path: Path) -> None:
    """The chat counts in one process while the training adopts in another."""
    counting = (
        "import sys\nfrom pathlib import Path\nfrom specchat.learning import Learned\n"
        "from specchat_engine.decoding.stats import AcceptanceCounts\n"
        "learned = Learned(Path(sys.argv[1]), Path('d').resolve())\n"
        "for _ in range(300): learned.saw(1, 'code', [(learned.base, AcceptanceCounts(2, 1))])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", counting, str(learned.folder)])
    for number in range(40):
        learned.adopt(trained(tmp_path, str(number)), 0.5, 0.6)
    assert process.wait() == 0
    assert len(learned.adoptions) == 40
    assert learned.summary().startswith("300 tokens recorded")
    assert sum(one.num_accepted_tokens for one in learned.history.alphas) == 600
