from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from specchat.doctor.engine_log import TAIL, filtered, log_tail

LOG = """\
llama_model_loader: failed to load 'my private model' from file
ggml.c:123: GGML_ASSERT(n_rows > 0) failed
Traceback (most recent call last):
  File "/x/specchat/worker/server.py", line 12, in _generate
    for event in rounds:
UnicodeEncodeError: 'utf-8' codec can't encode my secret words
my secret words, once more
specchat_engine.errors.DecodeError: my secret words
    my secret words, indented
"""


def test_native_lines_and_frames_stay_and_messages_go() -> None:
    told = [*filtered(LOG.splitlines())]
    assert told == [
        "llama_model_loader: failed to load '…' from file",
        "ggml.c:123: GGML_ASSERT(n_rows > 0) failed",
        "Traceback (most recent call last):",
        '  File "/x/specchat/worker/server.py", line 12, in _generate',
        "    for event in rounds:",
        "UnicodeEncodeError: (message left out)",
        "(26 characters left out)",
        "specchat_engine.errors.DecodeError: (message left out)",
        "(29 characters left out)",
    ]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=3))
def test_a_line_of_any_other_shape_does_not_pass(said: str) -> None:
    text = "Once " + said
    assert not any(said.strip() and line == text for line in filtered(text.splitlines()))


def test_only_whole_lines_of_the_end_are_read(tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("".join(f"llama_{number:06}: x\n" for number in range(10_000)))
    lines = log_tail(log)
    assert lines[-1] == "llama_009999: x"
    assert len(lines) * 16 <= TAIL
    assert all(line.startswith("llama_") for line in lines)
    assert log_tail(tmp_path / "none.log") == []
