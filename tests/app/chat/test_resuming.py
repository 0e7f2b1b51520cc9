from pathlib import Path

import pytest

from specchat.chat.resuming import session_to_resume
from specchat.errors import ConfigError
from specchat.store.records import StoredSession
from specchat.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "sessions.db"
    with Store.open(found) as store:
        store.create(StoredSession(2**40 + 11, "first", created=1.0, updated=1.0))
        store.create(StoredSession(2**40 + 12, "second", created=2.0, updated=2.0))
    return found


def test_the_last_session_is_the_one_that_was_used_last(path: Path) -> None:
    assert session_to_resume("last", path) == 2**40 + 12
    with Store.open(path) as store:
        store.touch(2**40 + 11, 3.0)
    assert session_to_resume("last", path) == 2**40 + 11


def test_a_session_is_found_by_its_id_and_by_its_place_in_the_list(path: Path) -> None:
    assert session_to_resume(f"{2**40 + 11}", path) == 2**40 + 11
    assert session_to_resume("1", path) == 2**40 + 12
    assert session_to_resume("2", path) == 2**40 + 11


@pytest.mark.parametrize("asked", ["3", "0", "1099511627789", "first", "-1", "", "9" * 40])
def test_a_session_that_there_is_not_is_refused_in_one_line(path: Path, asked: str) -> None:
    with pytest.raises(ConfigError, match=r"^--resume is .*use last, or"):
        session_to_resume(asked, path)


def test_where_nothing_was_kept_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none was kept yet"):
        session_to_resume("last", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
