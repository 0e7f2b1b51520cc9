"""Who may use the server: keys, names of this machine, and web pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.serve.conftest import Served
from specchat.errors import ConfigError
from specchat.serve.access import Guard, Keys, check_reach, read_keys
from specchat.serve.api_errors import ApiError
from specchat.settings.server import Serving
from support.scripted_server import ScriptedEngine

ASKED = {"messages": [{"role": "user", "content": "hi"}]}


def test_a_server_with_keys_answers_those_who_have_one(served: Served, engine: ScriptedEngine) -> None:
    url = served(Serving(api_key=("first-key", "second-key")))
    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        for given in ("Bearer second-key", "bearer first-key"):
            assert client.post("/v1/chat/completions", json=ASKED, headers={"Authorization": given}).status_code == 200
        assert client.get("/v1/models", headers={"x-api-key": "first-key"}).status_code == 200
        asked = len(engine.asked)
        wrong: tuple[Any, ...] = (
            {},
            {"Authorization": "Bearer first-ke"},
            {"Authorization": "Basic first-key"},
            {"x-api-key": "first-key2"},
            {"Authorization": "Bearer äö".encode("latin-1")},
        )
        for headers in wrong:
            answer = client.post("/v1/chat/completions", json=ASKED, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["error"]["type"] == "authentication_error"
        assert len(engine.asked) == asked
        assert client.get("/metrics").status_code == 401
        assert client.get("/openapi.json").status_code == 401
        assert client.get("/health").status_code == 200, "without a key"


def test_keys_come_from_flags_and_a_file_with_one_a_line_and_are_kept_as_hashes_only(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# of my editor\none\n\n  two  \n")
    keys = read_keys(Serving(api_key=("a-secret-key",), api_key_file=file))
    assert all(map(keys.allow, ("one", "two", "a-secret-key")))
    assert not any(map(keys.allow, ("# of my editor", "a-secret-ke", "")))
    assert "a-secret-key" not in repr(vars(keys))


@pytest.mark.parametrize("text", ["", "# only this\n", "a key\n", "schl\u00fcssel\n"])
def test_a_file_without_usable_keys_lets_nobody_in_by_mistake(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=str(file)):
        read_keys(Serving(api_key_file=file))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_keys(Serving(api_key_file=tmp_path / "missing"))


def test_other_machines_come_in_with_a_key_or_where_that_is_wanted() -> None:
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        check_reach(Serving(host=host), Keys(()), no_auth=False)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org"):
        with pytest.raises(ConfigError, match="--api-key"):
            check_reach(Serving(host=host), Keys(()), no_auth=False)
        check_reach(Serving(host=host), Keys(["k"]), no_auth=False)
        check_reach(Serving(host=host), Keys(()), no_auth=True)


def refused(guard: Guard, **headers: str) -> bool:
    try:
        guard.check_origin(headers)
    except ApiError as error:
        return error.status == 403
    return False


def test_a_name_that_was_made_to_point_here_is_refused() -> None:
    local, reachable = Guard(Serving(), Keys(())), Guard(Serving(host="0.0.0.0"), Keys(["k"]))
    for host in ("evil.example:8080", "evil.example", "127.0.0.1.evil.example"):
        assert refused(local, host=host)
        assert not refused(reachable, host=host)
    for host in ("", "localhost", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost:1"):
        assert not refused(local, host=host)


def test_a_proxy_comes_in_by_its_name_or_with_a_key_and_the_error_says_so() -> None:
    proxied = {"host": "chat.example:443"}
    with_name = Guard(Serving(allow_host=("Chat.example",)), Keys(()))
    assert not refused(with_name, **proxied)
    assert not refused(with_name, **proxied, origin="https://chat.example:443")
    assert refused(with_name, host="other.example")
    with_key = Guard(Serving(), Keys(["k"]))
    assert not refused(with_key, **proxied, authorization="Bearer k")
    assert refused(with_key, **proxied, authorization="Bearer j")
    with pytest.raises(ApiError, match=r"--allow-host chat\.example lets it in"):
        with_key.check_origin(proxied)


def test_a_page_does_not_come_in_by_a_name_that_it_gave_the_server_itself() -> None:
    open_to_all = Guard(Serving(host="0.0.0.0"), Keys(()))
    assert refused(open_to_all, host="evil.example", origin="http://evil.example")
    assert not refused(open_to_all, host="192.168.1.2:8080", origin="http://192.168.1.2:8080")
    assert not refused(open_to_all, host="gpu-box.local"), "which is not a page"


def test_web_pages_need_leave() -> None:
    usual = Guard(Serving(), Keys(()))
    assert refused(usual, host="127.0.0.1:8080", origin="https://evil.example")
    assert refused(usual, host="127.0.0.1:8080", origin="http://127.0.0.1:9999")
    assert refused(usual, host="127.0.0.1:8080", origin="null")
    assert not refused(usual, host="127.0.0.1:8080", origin="http://127.0.0.1:8080")
    assert not refused(usual, host="127.0.0.1:8080")
    with_page = Guard(Serving(cors=("https://app.example",)), Keys(()))
    assert not refused(with_page, host="localhost:8080", origin="https://app.example")
    assert refused(with_page, host="localhost:8080", origin="https://other.example")
    assert not refused(Guard(Serving(cors=("*",)), Keys(())), host="localhost", origin="https://other.example")


def test_an_origin_that_is_no_url_is_refused_and_breaks_nothing(served: Served) -> None:
    reachable = Guard(Serving(host="0.0.0.0"), Keys(["k"]))
    for origin in ("http://[", "http://", "://", "[", "null"):
        assert refused(reachable, host="", origin=origin)
        assert refused(reachable, host="server:8080", origin=origin)
    with httpx2.Client(base_url=served(), timeout=600, trust_env=False) as client:
        answer = client.get("/v1/models", headers={"Origin": "http://["})
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "origin_refused"


def test_only_pages_that_were_allowed_get_cors_headers(served: Served) -> None:
    allowed, other = {"Origin": "https://app.example"}, {"Origin": "https://evil.example"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with httpx2.Client(base_url=served(), timeout=600, trust_env=False) as client:
        for headers in (allowed, other):
            answer = client.post("/v1/chat/completions", json=ASKED, headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
    url = served(Serving(cors=("HTTPS://App.Example/",), api_key=("k",)))
    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        before = client.options("/v1/chat/completions", headers=allowed | asks)
        assert before.status_code == 200
        assert before.headers["access-control-allow-origin"] == "https://app.example"
        headers = allowed | {"Authorization": "Bearer k"}
        answer = client.post("/v1/chat/completions", json=ASKED, headers=headers)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert client.options("/v1/chat/completions", headers=other | asks).status_code == 400
