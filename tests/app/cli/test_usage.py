"""What cannot be is one line that names it, with exit code 2, before anything is loaded: of all commands."""

from __future__ import annotations

import shlex

import pytest

from app.cli.conftest import Complaint
from specchat.cli import main
from specchat.settings.schema import SETTINGS
from specchat.settings.setting import SettingGroup
from specchat.settings.values import Choice, Number

ATTACHED = "--attach only shows what others ask a server, so"
HERE = "is for models on this machine and --remote for a server: omit one"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("frob", "No such command 'frob'; see `specchat --help`"),
        ("-k many", "-k is 'many': use auto, or a whole number from 0 to 32"),
        ("-m any.gguf", "the chat needs a terminal"),
        ("chat -k 99", "-k is '99': use auto, or a whole number from 0 to 32 (0 is plain decoding)"),
        ("chat -jf none.json", "none.json cannot be read"),
        ("run", "there is nothing to answer"),
        ("run --frob", "No such option"),
        ("run x --temp -1", "--temp is '-1': use a number from 0 to 100"),
        ("run x -d small.gguf", "has no target"),
        ("run x --verifier magic", "--verifier is 'magic': use coupled, rejection, block or typical"),
        ("run x --logit-bias 7", "--logit-bias is '7': use TOKEN=BIAS"),
        ("run x --grammar a -j {}", "grammar and json_schema are both given"),
        ("run x --json-schema {", "the JSON schema is not JSON"),
        ("run x --grammar-file none.gbnf", "none.gbnf cannot be read"),
        ("chat --attach host:1", "--plain"),
        ("chat --attach host:1 -m a.gguf", f"{ATTACHED} --model has no effect: omit one"),
        ("chat --attach host:1 --resume", f"{ATTACHED} --resume has no effect"),
        ("chat --plain --attach ftp://x", "specchat: --attach "),
        ("run x --remote ftp://x", "is not an address of a server"),
        ("run x --remote host:1 -m a.gguf", f"--model {HERE}"),
        ("chat --remote host:1 --head mtp", f"--head {HERE}"),
        ("run x --remote-model a", "give --remote URL as well"),
        ("bench --remote host:1", "`bench` needs a model on this machine: omit --remote"),
        ("verify --remote host:1", "`verify` needs a model on this machine: omit --remote"),
        ("run x --remote host:1 --api-key 'two words'", "no header can hold"),
        (
            "bench -m none.gguf --arms model:4",
            "the arm model:4 needs a draft model: name one with -d, or leave",
        ),
        ("bench -m none.gguf --arms guess:4", "the arm 'guess:4' is not one"),
        ("bench -m none.gguf --temp -1", "temperature is -1.0: use a number from 0 to 100"),
        ("bench -m none.gguf --prompts gone.txt", "the prompts gone.txt cannot be read"),
        ("bench -m none.gguf --svg nowhere/a.svg", "the chart nowhere/a.svg cannot be written: there is no folder"),
        ("bench -m none.gguf --export tgi", "there is no export 'tgi': use llama-server or vllm"),
        ("bench -m none.gguf --export vllm --json", "--json and --export both want standard output: choose one"),
        ("bench -m none.gguf --compare a.json b.json", "--compare reads two files and measures nothing"),
        ("bench -m none.gguf --repeats 0", "'--repeats'"),
        ("bench -m none.gguf -k 4", "-k"),
        ("verify -m none.gguf -k 99", "is '99': use auto, or a whole number from 0 to 32"),
        ("verify -m none.gguf -d none.gguf -k 0", "plain decoding is what all else is compared with"),
        ("verify -m none.gguf --verifier typical", "the verifier 'typical' is lossy"),
        ("verify -m none.gguf --kind sonnets", "there is no kind 'sonnets': use facts, python"),
        ("verify -m none.gguf --thought-verifier typical", "the verifier 'typical' for thoughts is lossy"),
        ("deploy vllm", "name the target with -m: a repository, a file, or one of qwen2.5-7b"),
        ("deploy vllama -m x", "use vllm, sglang or llama-server"),
        ("deploy vllm -m x --as yaml", "--as is 'yaml': use command, compose or kubernetes"),
        ("deploy vllm -m x -k 999", "-k is 999: use a whole number from 0 to 256"),
        ("deploy vllm -m x --port 0", "--port is 0: use a whole number from 1 to 65535"),
        ("serve --host 0.0.0.0", "--api-key"),
        ("serve --port 70000", "--port is '70000'"),
        ("serve --api-key 'two words'", "--api-key"),
        ("serve --cors example.org", "--cors is 'example.org'"),
        ("serve --api-key-file missing", "missing"),
        ("doctor --with-conversation", "--bundle FILE"),
    ],
)
def test_wrong_usage_is_one_line(words: str, said: str, complaint: Complaint) -> None:
    assert said in complaint(*shlex.split(words))


def test_every_flag_is_named_with_its_wrong_value(capsys: pytest.CaptureFixture[str]) -> None:
    for setting in SETTINGS:
        if isinstance(setting.kind, Number | Choice) and setting.flag != "--exact":  # which means "on" by itself
            command = ["serve"] if setting.group is SettingGroup.SERVING else ["run", "x"]
            assert main([*command, setting.flag, "nonsense"]) == 2
            assert f"{setting.flag} is 'nonsense': use " in capsys.readouterr().err
