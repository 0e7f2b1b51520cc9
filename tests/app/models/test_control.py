"""The limits of retries."""

from __future__ import annotations

from specchat.models.control import RetryPolicy


def test_waits_grow_to_a_limit() -> None:
    retry = RetryPolicy(first_wait=1, longest_wait=5)
    assert [retry.wait_after(failures) for failures in (1, 2, 3, 4, 50)] == [1, 2, 4, 5, 5]
