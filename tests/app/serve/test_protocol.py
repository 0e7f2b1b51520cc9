"""Lines between the server and its engine's process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat.serve.protocol import (
    Ask,
    Begun,
    Command,
    Count,
    Counted,
    Event,
    Failed,
    Finished,
    Leave,
    LikelyToken,
    Made,
    Position,
    Request,
    decode_command,
    decode_event,
    encode,
    refused,
)
from specchat_engine.decoding.rounds import Round, RoundTimes, TargetToken, TokenKind
from support.serving import SHORT

POSITION = Position(LikelyToken(5, "\ud83d", -0.5), (LikelyToken(6, "é", float("-inf")),))
ROUND = Round(0, "none", 0, "", (), TargetToken(5, "x", 0.5, TokenKind.PLAIN), (), RoundTimes(0.0, 1.0, 0.1), 1.1)
REQUEST = Request(
    replace(SHORT, stop=("\n",)),
    2**63,
    messages=({"role": "tool", "content": None, "tool_calls": [{"id": "1", "n": 1.5}]},),
    tools=({"type": "function", "function": {"parameters": {"required": ["a"]}}},),
    options={"enable_thinking": False},
    logprobs=3,
)


@pytest.mark.parametrize(
    "message",
    [
        Ask(1, REQUEST),
        Ask(2, Request(SHORT, 1, prompt=(1, 2, 3), echo=True)),
        Ask(3, Request(SHORT, 1, prompt="text", prediction="text")),
        Leave(1),
        Count(4, REQUEST),
        Counted(4, 17),
        Begun(1, 20, 5, {"type": "start"}, (POSITION,), thinking=True),
        Made(1, ROUND, (POSITION,)),
        Finished(1, "length", "text", {"num_tokens": 3}, ("a notice",)),
        Failed("reason", 1, theirs=True),
        Failed("reason"),
    ],
)
def test_what_is_sent_is_what_arrives_in_one_line(message: Command | Event) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.isascii()
    assert encode(decode_command(line) or decode_event(line) or Leave(0)) == line


def test_only_a_request_that_cannot_be_read_is_refused() -> None:
    assert decode_command(b'{"type": "Ask", "number": 3, "request": {}}\n') is None
    assert refused(b'{"type": "Ask", "number": 3, "request": {}}\n') == Failed(
        "the request has a value that the engine cannot read", 3
    )
    for line in (b"nonsense", b"[]", b'{"type": "Other"}', b'{"number": "3"}'):
        assert decode_command(line) is None
        assert decode_event(line) is None
        assert refused(line) is None
