"""The progress of a load."""

from __future__ import annotations

from specchat.engine_process.loader import by_hundredths, reported_progress


def test_a_share_is_reported_once_for_every_hundredth_and_at_its_end() -> None:
    reported: list[float] = []
    report = by_hundredths(reported.append)
    for share in (0.0, 0.001, 0.0099, 0.01, 0.5, 0.501, 0.995, 1.0, 0.3, 1.0):
        report(share)
    assert reported == [0.0, 0.01, 0.5, 0.995, 1.0]


def test_a_load_ends_when_it_is_stopped_or_nobody_listens() -> None:
    stopped: list[bool] = []
    progress = reported_progress(lambda _: None, lambda: bool(stopped))
    assert progress(0.1)
    stopped.append(True)
    assert not progress(0.2)

    def gone(_: float) -> None:
        raise BrokenPipeError

    assert not reported_progress(gone, lambda: False)(0.1)
