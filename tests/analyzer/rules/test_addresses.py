"""IL209 for addresses of the http block: what is known of one before a run is said before it."""

from __future__ import annotations

import pytest
from found import diagnostics

from interlock.analyzer.language.addresses import is_address, may_become_address


def said(url: str, place: str = "block: http, params: {url: %s}") -> list[tuple[str, str, str | None]]:
    text = f"""
        workflow: w
        inputs: {{h: string, n: integer}}
        steps:
          - {{id: a, {place % url}}}
          - {{id: b, block: log, params: {{message: "{{inputs.h}} {{inputs.n}}"}}}}
    """
    return [(one.code, one.message, one.hint) for one in diagnostics(text)]


def wrong(url: str) -> str:
    return f'"url" of "http" cannot be "{url}": it must begin with http:// or https:// and name a host.'


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("ftp://x", None),
        ("file:///etc/hosts", None),
        ("example.com", 'Did you mean "https://example.com"?'),
        ("example.com:8080/a?b", 'Did you mean "https://example.com:8080/a?b"?'),
        ("localhost", None),
        ("/path", None),
        ("htps://example.com", 'Did you mean "https://example.com"?'),
        ("http:/example.com", None),
        ("http://", None),
        ("https:///a", None),
        ("http://?q", None),
        ("http://[x]/", None),
        ("http://a.example:99999/", None),
        ("http://a.example:x/", None),
        ("http://a b/", None),
    ],
)
def test_a_literal_that_is_no_address(url: str, hint: str | None) -> None:
    assert said(f'"{url}"') == [("IL209", wrong(url), hint)]
    undo = "block: set, compensate: {block: http, params: {url: %s}}"
    assert said(f'"{url}"', undo) == [("IL209", wrong(url), hint)]


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("ftp://{inputs.h}/", None),
        ("{{x}}{inputs.h}", None),
        ("/orders/{inputs.n}", None),
        ("http:///{inputs.h}", None),
        ("http://a b/{inputs.h}", None),
        ("htps://{inputs.h}/", 'Did you mean "https://…"?'),
        ("api.example.com/{inputs.h}", 'Did you mean "https://api.example.com/…"?'),
    ],
)
def test_a_template_that_becomes_none_whatever_it_is_filled_with(url: str, hint: str | None) -> None:
    assert said(f'"{url}"') == [("IL209", wrong(url), hint)]


@pytest.mark.parametrize(
    "url",
    [
        "http://a",
        "HTTPS://A.example/x?y=1#z",
        "http://user:pass@a.example:8080/",
        "http://[::1]:80/",
        "http://127.0.0.1:",
        "http://é.example/ü?a b",
        "{inputs.h}",
        "{inputs.h}/x",
        "http{inputs.h}",
        "https://{inputs.h}:{inputs.n}/x",
        "http://a.example:{inputs.n}/",
        "http://a.example/{inputs.h}",
        "http://a{inputs.h}",
    ],
)
def test_what_is_one_or_may_be(url: str) -> None:
    assert said(f'"{url}"') == []


def test_the_url_of_another_block_is_its_own_affair() -> None:
    assert said('"ftp://x"', "block: set, params: {url: %s}") == []


def test_every_start_of_an_address_may_become_one() -> None:
    for text in ("https://user:p@a.example:8080/b?c#d", "http://[2001:db8::1]:80/x", "HTTP://a"):
        assert is_address(text)
        assert all(may_become_address(text[:end]) for end in range(len(text) + 1)), text
