from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from specchat.cli import main
from specchat.doctor.privacy import blanked
from specchat.settings import paths
from specchat.store.records import StoredMessage, StoredSession
from specchat.store.store import Store
from specchat.traces.trace import read_trace
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Round, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import round_line
from specchat_engine.policy.controller import Controller
from support.drawn_rounds import sample_round

SECRET = "xyzzyplugh"
TOKENS = ("frobnitz", "quuxify", "wombatish")
HUB_TOKEN = "hf_thisIsVerySecret123456"


def trace_lines() -> list[str]:
    """A trace with something secret in every place where a text may stand."""
    rounds = [
        sample_round([("a", TOKENS[0]), ("r", TOKENS[1]), ("d", TOKENS[2])], (TokenKind.CORRECTION, SECRET), 0),
        sample_round([], (TokenKind.PLAIN, SECRET), 1),
    ]
    stats = TurnStats()
    for event in rounds:
        stats.observe(event)
    start = {
        "type": "start",
        "schema": 1,
        "target": {"name": "guide", "n_params": 18_000_000, "path": f"{Path.home()}/guide.gguf", "notes": SECRET},
        "draft": None,
        "drafter": "model",
        "verifier": "coupled",
        "lossless": True,
        "params": {"k": 4, "temperature": 0.8, "grammar": f'root ::= "{SECRET}"', "logit_bias": [[1234567, 5.0]]},
        "seed": 7,
        "turn": 1,
        "prompt_tokens": 20,
        "messages": [{"role": "system", "content": SECRET}, {"role": "user", "content": f"Tell me of {SECRET}"}],
        "versions": {"specchat": "0.1.0"},
        "machine": {"threads": 2},
        "prefix": [1234567],
    }
    drawn = [round_line(event) | {"note": SECRET} for event in rounds]
    for line in drawn:
        line["token"]["id"] = 1234567
        line["top"] = [{"id": 1234567, "text": SECRET, "p": 0.5}]
    end = {"type": "end", "reason": "error", "text": SECRET, "stats": stats.to_json(), "costs": {"verify": [[1, 2.0]]}}
    lines = [start, *drawn, {"type": "error", "message": SECRET}, {"type": "remark", "text": SECRET}, end]
    return [json.dumps(line) for line in lines]


@pytest.fixture
def used_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which a conversation was held: stored, logged, configured."""
    monkeypatch.setenv("HF_TOKEN", HUB_TOKEN)
    monkeypatch.setenv("SPECCHAT_SYSTEM", SECRET)
    monkeypatch.setenv("SPECCHAT_K", "4")
    paths.config_file().parent.mkdir(parents=True)
    written = f'model = "{Path.home()}/m.gguf"\nsystem = "{SECRET}"\ndiary = "{SECRET}"\ntop_k = 20\n'
    paths.config_file().write_text(written)
    paths.worker_log().parent.mkdir(parents=True)
    paths.worker_log().write_text(f"llama_context: n_ctx = 512\nRuntimeError: {SECRET}\n{SECRET} {HUB_TOKEN}\n")
    records = paths.cache_folder() / "pairs"
    records.mkdir(parents=True)
    controller = Controller()
    controller.target.observe(1, 10, 2.0)
    for kind in ("prose", SECRET):
        controller.acceptance.learn(kind, "model", "confidence", [0.9], 1)
    chosen = {"models": [SECRET], "threads": {"target": {"threads": 2, "speeds": [[2, 1.0]], "day": "2026-03-01"}}}
    (records / "abc.json").write_text(json.dumps(controller.to_json() | chosen))
    (records / "torn.json").write_text(f'{{"{SECRET}')
    paths.data_folder().mkdir(parents=True)
    store = Store.open(paths.sessions_db())
    store.create(StoredSession(1, title=SECRET, system=SECRET))
    store.add_message(StoredMessage(2, 1, None, "user", SECRET))
    store.add_message(StoredMessage(3, 1, 2, "assistant", SECRET))
    store.keep_stats(3, SECRET, TurnStats().to_json())
    store.keep_trace(3, trace_lines())
    store.close()


def packed(file: Path) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def every_byte(file: Path) -> bytes:
    """The archive as it is and everything in it, in small letters."""
    return (file.read_bytes() + "".join(packed(file).values()).encode()).lower()


@pytest.mark.usefixtures("used_machine")
def test_no_byte_of_the_bundle_reveals_what_was_said(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    assert main(["doctor", "--bundle", str(file)]) == 0
    everything = every_byte(file)
    for secret in (SECRET, *TOKENS, HUB_TOKEN, "thisIsVerySecret", "1234567", str(Path.home())):
        assert secret.lower().encode() not in everything, secret


@pytest.mark.usefixtures("used_machine")
def test_what_a_bug_report_needs_is_in_it_also_the_times_and_fates_of_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    assert main(["doctor", "--bundle", str(file)]) == 0
    parts = packed(file)
    assert any(finding["name"] == "llama.cpp" for finding in json.loads(parts["findings.json"]))
    config: dict[str, Any] = json.loads(parts["config.json"])
    assert config["file"]["top_k"] == 20
    assert config["file"]["model"] == "~/m.gguf"
    assert config["file"]["diary"] == "<hidden>"
    assert config["variables"]["HF_TOKEN"] == "set"
    assert config["variables"]["SPECCHAT_K"] == "4"
    known, torn = json.loads(parts["records.json"])
    assert known["target"] == {"0": {"0": {"1": [2.0, 1]}}}
    assert {*known["acceptance"]} == {"prose"}
    assert torn == {"record": "torn", "cannot be read": "JSONDecodeError"}
    assert json.loads(parts["sizes.json"])["data"]["files"] >= 1
    assert "llama_context: n_ctx = 512" in parts["engine.log"]
    assert "without messages, texts, token ids" in parts["README.txt"]
    (trace,) = read_trace(parts["trace.jsonl"].splitlines(keepends=True), "bundle")
    original = [from_json(Round, line) for line in map(json.loads, trace_lines()) if line["type"] == "round"]
    assert [event.ms for event in trace.rounds] == [event.ms for event in original]
    assert [[token.outcome for token in event.drafted] for event in trace.rounds] == [
        [token.outcome for token in event.drafted] for event in original
    ]
    assert trace.stats["num_draft_tokens"] == 3
    assert trace.start["messages"][1]["characters"] == len(f"Tell me of {SECRET}")


@pytest.mark.usefixtures("used_machine")
def test_the_conversation_is_in_it_when_it_was_asked_for_and_the_secrets_still_are_not(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    assert main(["doctor", "--bundle", str(file), "--with-conversation"]) == 0
    parts = packed(file)
    assert SECRET in parts["trace.jsonl"]
    assert SECRET in parts["engine.log"]
    assert SECRET in parts["config.json"]
    assert HUB_TOKEN.lower().encode() not in every_byte(file)
    assert "holds the last conversation" in parts["README.txt"]


@pytest.mark.usefixtures("used_machine")
def test_nothing_of_what_was_kept_is_changed(tmp_path: Path) -> None:
    with sqlite3.connect(paths.sessions_db()) as database:
        database.execute("UPDATE messages SET state = 'streaming', writer = 1 WHERE id = 3")
    database.close()
    before = paths.sessions_db().read_bytes()
    assert main(["doctor", "--bundle", str(tmp_path / "report.zip")]) == 0
    assert paths.sessions_db().read_bytes() == before


def test_a_wrong_configuration_is_reported_without_its_values(tmp_path: Path) -> None:
    paths.config_file().parent.mkdir(parents=True)
    paths.config_file().write_text(f'system = ["{SECRET}"]\n')
    file = tmp_path / "report.zip"
    assert main(["doctor", "--bundle", str(file)]) == 0
    (found,) = (one for one in json.loads(packed(file)["findings.json"]) if one["name"] == "configuration")
    assert found["status"] == "lack"
    assert SECRET.encode() not in every_byte(file)


def test_it_is_said_what_was_packed_and_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--bundle", str(tmp_path / "a.zip")]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("README.txt", "findings.json", "config.json", "records.json", "engine.log"))
    assert "trace.jsonl" not in shown
    assert "without system prompt" in shown
    assert main(["doctor", "--bundle", str(tmp_path / "b.zip"), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["parts"][0]["name"] == "README.txt"


def test_what_cannot_be_written_is_one_line_and_a_file_that_exists_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.zip"
    file.write_text("mine")
    assert main(["doctor", "--bundle", str(file)]) == 1
    assert file.read_text() == "mine"
    assert capsys.readouterr().err == f"specchat: {file} exists: give another name, or remove it\n"
    assert main(["doctor", "--bundle", str(tmp_path / "none" / "report.zip")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_damaged_database_and_a_torn_trace_still_give_a_bundle(tmp_path: Path) -> None:
    paths.data_folder().mkdir(parents=True)
    paths.sessions_db().write_bytes(b"not a database" * 100)
    assert main(["doctor", "--bundle", str(tmp_path / "report.zip")]) == 0
    lines = trace_lines()
    torn = [lines[0], lines[1][: len(lines[1]) // 2], "[]", "null", '{"type": "round"}', '{"type": "end"}', lines[2]]
    assert [line["type"] for line in blanked(torn)] == ["start", "round"]
