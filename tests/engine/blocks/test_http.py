"""The http block against a real server: what it sends, what it gives, what is known of its effect."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from interlock.analyzer.language.addresses import is_address
from interlock.engine.ports import Failed, Outcome, Success

Run = Callable[..., Outcome]


def failure(outcome: Outcome) -> tuple[str, str]:
    assert isinstance(outcome, Failed), outcome
    assert outcome.message.endswith(".")
    return outcome.code, outcome.effect


def test_a_request_gives_status_headers_text_json_and_url(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/a?x=1", "query": {"y": [1, "b"], "z": True}})
    assert isinstance(outcome, Success)
    assert outcome.result["status"] == 200
    assert outcome.result["headers"]["x-two"] == "b"
    assert outcome.result["json"] == {"path": "/a?x=1&y=1&y=b&z=true"}
    assert outcome.result["text"] == '{"path": "/a?x=1&y=1&y=b&z=true"}'
    assert outcome.result["url"] == f"{server.url}/a?x=1&y=1&y=b&z=true"


def test_json_goes_out_with_its_numbers_and_its_type(run: Run, server: Any) -> None:
    run("http", {"url": server.url, "method": "POST", "json": {"a": 1.0, "b": 1}, "headers": {"X-N": 5}})
    asked = server.requests[0]
    assert asked["body"] == b'{"a":1.0,"b":1}'
    assert asked["headers"]["Content-Type"] == "application/json"
    assert asked["headers"]["X-N"] == "5"
    assert asked["headers"]["Idempotency-Key"] == "r1/fetch/1"


def test_a_key_of_ones_own_is_kept_and_null_is_a_json_body(run: Run, server: Any) -> None:
    headers = {"idempotency-key": "mine", "content-type": "application/x"}
    run("http", {"url": server.url, "method": "PUT", "json": None, "headers": headers})
    assert server.requests[0]["headers"]["idempotency-key"] == "mine"
    assert "Idempotency-Key" not in server.requests[0]["headers"]
    assert server.requests[0]["body"] == b"null"


def test_numbers_of_an_answer_keep_their_kind(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/numbers"})
    assert isinstance(outcome, Success)
    assert {name: type(value) for name, value in outcome.result["json"].items()} == {
        "i": int,
        "f": float,
        "big": float,
    }


def test_a_body_that_is_no_json_or_no_text_is_still_a_result(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/binary"})
    assert isinstance(outcome, Success)
    assert outcome.result["json"] is None
    assert outcome.result["text"] == "a\0\ufffd"
    outcome = run("http", {"url": f"{server.url}/latin"})
    assert isinstance(outcome, Success)
    assert outcome.result["text"] == "é"


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "undefined", "unicode-escape", "UTF-7", "base64", "rot13", "none"]
)
def test_a_charset_that_is_no_encoding_of_texts_counts_as_utf_8(run: Run, server: Any, name: str) -> None:
    outcome = run("http", {"url": f"{server.url}/charset/{name}", "method": "POST"})
    assert isinstance(outcome, Success)
    assert outcome.result["text"] == '"\\ud800 +2AA- xn--a-ecp"'


def test_cookies_do_not_pass_from_one_request_to_the_next(run: Run, server: Any) -> None:
    run("http", {"url": f"{server.url}/cookie"}, repeat=2)
    assert "Cookie" not in server.requests[1]["headers"]


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("POST", "/status/404", ("block-failed", "none")),
        ("POST", "/status/429", ("block-failed", "none")),
        ("POST", "/status/500", ("effect-unknown", "unknown")),
        ("POST", "/status/304", ("effect-unknown", "unknown")),
        ("POST", "/moved", ("effect-unknown", "unknown")),
        ("POST", "/drop", ("effect-unknown", "unknown")),
        ("POST", "/big", ("result-too-large", "unknown")),
        ("GET", "/status/500", ("block-failed", "none")),
        ("GET", "/drop", ("block-failed", "none")),
        ("GET", "/big", ("result-too-large", "none")),
        ("GET", "/moved", ("block-failed", "none")),
    ],
)
def test_what_is_known_of_the_effect(run: Run, server: Any, method: str, path: str, known: tuple[str, str]) -> None:
    params = {"url": server.url + path, "method": method, "max_response_bytes": 150_000}
    assert failure(run("http", params)) == known


def test_expected_statuses_are_no_failures(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/status/404", "expect": [404]})
    assert isinstance(outcome, Success)
    assert outcome.result["status"] == 404
    assert failure(run("http", {"url": server.url, "method": "POST", "expect": [201]}))[1] == "unknown"


def test_redirects_are_followed_where_asked_and_at_most_five(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/moved", "follow": True})
    assert isinstance(outcome, Success)
    assert outcome.result["url"] == f"{server.url}/json"
    outcome = run("http", {"url": f"{server.url}/loop", "follow": True})
    assert failure(outcome) == ("block-failed", "none")
    assert len([asked for asked in server.requests if asked["path"] == "/loop"]) == 6


def test_a_redirect_out_of_the_web_blames_where_it_leads(run: Run, server: Any) -> None:
    outcome = run("http", {"url": f"{server.url}/away", "follow": True})
    assert failure(outcome) == ("block-failed", "none")
    assert outcome.message.startswith(f'GET {server.url}/away was redirected to "file://')
    outcome = run("http", {"url": "ftp://a.example/", "follow": True})
    assert outcome.message.startswith('"ftp://a.example/" is no address')


def test_what_was_never_sent_was_not_done(run: Run) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for url in (
        f"http://127.0.0.1:{port}/",
        "ftp://a.example/",
        "no address",
        "http://",
        "http://127.0.0.1:99999/",
        "http://[::1",
    ):
        assert failure(run("http", {"url": url, "method": "POST"})) == ("block-failed", "none"), url
    bad = {"url": "http://127.0.0.1/", "method": "POST", "headers": {"X": "a\r\nY: b"}}
    assert failure(run("http", bad)) == ("block-failed", "none")


def test_a_time_out_is_known_by_whether_the_request_was_sent(run: Run, server: Any) -> None:
    slow = {"url": f"{server.url}/slow", "method": "POST"}
    assert failure(run("http", slow, timeout=0.3)) == ("timeout", "unknown")
    assert failure(run("http", {**slow, "method": "GET"}, timeout=0.3)) == ("timeout", "none")
    with socket.socket() as deaf:
        # A full backlog leaves the connection unanswered, so nothing is sent.
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = deaf.getsockname()
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        url = f"http://127.0.0.1:{address[1]}/"
        assert failure(run("http", {"url": url, "method": "POST"}, timeout=0.3)) == ("timeout", "none")
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"url": "http://a.example", "method": "get"},
        {"url": "http://a.example", "nope": 1},
        {"url": "http://a.example", "expect": []},
        {"url": "http://a.example", "expect": [700]},
        {"url": "http://a.example", "headers": {"a": None}},
        {"url": "http://a.example", "json": 1, "body": "x"},
        {"url": "http://a.example", "max_response_bytes": 0},
    ],
)
def test_params_that_do_not_fit_are_refused_before_anything_is_sent(run: Run, params: Any) -> None:
    assert failure(run("http", params)) == ("bad-value", "none")


def test_null_as_an_address_has_no_text_and_numbers_have(run: Run, server: Any) -> None:
    assert failure(run("http", {"url": None})) == ("null-in-text", "none")
    assert failure(run("http", {"url": server.url, "body": None})) == ("null-in-text", "none")
    run("http", {"url": server.url, "method": "POST", "body": {"b": 1, "a": 1.5}})
    assert server.requests[0]["body"] == b'{"a":1.5,"b":1}'


def test_a_failure_does_not_repeat_the_query_or_the_password(run: Run) -> None:
    outcome = run("http", {"url": "http://me:hunter22@127.0.0.1:1/p?token=abcdef"})
    assert isinstance(outcome, Failed)
    assert "hunter22" not in outcome.message
    assert "abcdef" not in outcome.message


@pytest.mark.parametrize("url", ["ftp://x", "example.com", "http:///a", "http://a b/", "http://[x]/", "http://a:99999"])
def test_what_the_rules_call_no_address_is_never_asked(run: Run, url: str) -> None:
    outcome = run("http", {"url": url, "query": {"a": "1"}})
    assert failure(outcome) == ("block-failed", "none")
    assert outcome.message == f'"{url}" is no address: it must begin with http:// or https:// and name a host.'
    assert not is_address(url)


@pytest.mark.parametrize(
    "url", ["http://a", "HTTPS://A.example/x?y=1#z", "http://u:p@a.example:80/", "http://[::1]/", "http://é.example/ü"]
)
def test_what_the_rules_call_an_address_is_one_to_the_client(url: str) -> None:
    read = httpx2.URL(url)
    assert is_address(url)
    assert read.scheme in ("http", "https")
    assert read.host
