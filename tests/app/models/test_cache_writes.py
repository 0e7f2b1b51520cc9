"""Small files of the cache, written by several threads at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from specchat.models.cache import replace_text


def test_threads_that_write_the_same_file_at_once_all_succeed_and_leave_one_whole_text(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "main"
    texts = [f"commit {number}" * 50 for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: replace_text(path, text), texts))
    assert path.read_text() in texts
    assert [file.name for file in path.parent.iterdir()] == ["main"]
