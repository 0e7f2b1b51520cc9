"""The built-in guide answers a newcomer's questions, one after the other in one conversation of the real program."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from e2e.conftest import FLAGS
from e2e.terminal import SPECCHAT
from specchat_assets.guide import find

ASKED = tomllib.loads((Path(__file__).parents[1] / "questions" / "conversation.toml").read_text("utf-8"))["asked"]


def test_thirty_questions_in_one_conversation_are_all_answered_with_their_passages(environment: dict[str, str]) -> None:
    passages = [passage.text for passage in map(find, ASKED) if passage is not None]
    command = [*SPECCHAT, "chat", "--plain", "--temp", "0", *FLAGS]
    said = "".join(f"{question}\n" for question in ASKED)
    done = subprocess.run(command, input=said, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert len(passages) == len(ASKED) == 30
    assert done.stdout == "".join(f"{passage}\n" for passage in passages)
