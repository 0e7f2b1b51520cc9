"""Trying again, within the limits of a patience."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from specchat.errors import HubError
from specchat.models.patience import Control, Patience
from specchat.models.transport import TryAgain

Answer = TypeVar("Answer")


def persistently(attempt: Callable[[], Answer], patience: Patience, control: Control) -> Answer:
    """What the attempt returns, as soon as one succeeds. Raises HubError at the end of the patience, and Stopped."""
    failures = 0
    while True:
        control.check()
        try:
            return attempt()
        except TryAgain as why:
            failures += 1
            control.sleep(wait_before_next(why, failures, patience))


def wait_before_next(why: TryAgain, failures: int, patience: Patience) -> float:
    """How long to wait after so many failures in a row. Raises HubError where that would be too many, or too long."""
    if why.wait is not None and why.wait > patience.longest_asked:
        raise HubError(f"{why} and asks to wait {why.wait:.0f} s: run this again then")
    if failures >= patience.attempts:
        raise HubError(f"{why}, {failures} times in a row: check the connection and run this again later")
    return max(patience.wait_after(failures), why.wait or 0.0)
