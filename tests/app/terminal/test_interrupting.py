"""Ctrl+C while an answer is written line by line."""

import signal

import pytest

from specchat.terminal.interrupting import stops_on_interrupt


def test_the_first_interrupt_stops_the_answer_and_the_second_one_the_program() -> None:
    stopped: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with stops_on_interrupt(lambda: stopped.append("stopped")):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stopped == ["stopped"]
    assert signal.getsignal(signal.SIGINT) is before
