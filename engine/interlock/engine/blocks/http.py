"""The ``http`` block: one request over a pooled client, and what is known of its effect (section 5.1)."""

from __future__ import annotations

import codecs
import re
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Annotated, Any, Literal

import httpx2
import msgspec
from msgspec import Meta

from interlock.analyzer.language.addresses import WHAT_IT_IS, is_address
from interlock.engine.blocks.context import BlockFailed, Context
from interlock.engine.ports import Json
from interlock.engine.values import NotJson, as_text, dump, load

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_REDIRECTS = 5
CONNECT_SECONDS = 30.0
# Codecs of Python for names, source text and mail: one takes quadratic time, some give what is no character.
_NO_CHARSETS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")
_UTF8_BOM = b"\xef\xbb\xbf"

Scalar = str | int | float | bool


class HttpParams(msgspec.Struct, forbid_unknown_fields=True):
    """The params as the table of blocks says; ``url`` and ``body`` take text, so any value becomes one."""

    url: Any
    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    query: dict[str, Scalar | list[Scalar]] = {}
    headers: dict[str, Scalar] = {}
    json: Any = msgspec.UNSET
    body: Any = msgspec.UNSET
    expect: Annotated[list[Annotated[int, Meta(ge=100, le=599)]], Meta(min_length=1)] | None = None
    follow: bool = False
    max_response_bytes: Annotated[int, Meta(ge=1)] = 1_048_576


def new_client(max_connections: int = 200) -> httpx2.AsyncClient:
    """The client of a worker: pooled, without cookies that would pass from one run to another."""
    return httpx2.AsyncClient(
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=max_connections),
        max_redirects=MAX_REDIRECTS,
        headers={"User-Agent": "interlock"},
    )


def _text(value: Json, field: str) -> str:
    if value is None:
        raise BlockFailed(f'"{field}" is null, which has no text.', effect="none", code="null-in-text")
    return as_text(value)


def _header(name: str, value: str) -> str:
    """The value; said here and not by the client, whose message would show it."""
    if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
        raise BlockFailed(
            f'The header "{name}" cannot be sent: headers hold printable ASCII, and no blanks at their ends.',
            effect="none",
        )
    return value


def _request(client: httpx2.AsyncClient, params: HttpParams, context: Context) -> httpx2.Request:
    headers = {name: _header(name, as_text(value)) for name, value in params.headers.items()}
    if not any(name.lower() == "idempotency-key" for name in headers):
        headers["Idempotency-Key"] = context.idempotency_key
    content: bytes | None = None
    if params.json is not msgspec.UNSET:
        if params.body is not msgspec.UNSET:
            raise BlockFailed('"json" and "body" cannot both be sent.', effect="none", code="bad-value")
        content = dump(params.json)
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    elif params.body is not msgspec.UNSET:
        content = _text(params.body, "body").encode()
    url = _text(params.url, "url")
    if not is_address(url):
        raise BlockFailed(_no_address(_shown(url, context)), effect="none")
    query = [
        (name, as_text(item))
        for name, value in params.query.items()
        for item in (value if isinstance(value, list) else [value])
    ]

    async def trace(event: str, _info: Any) -> None:
        # From the first byte on nobody can know what the other side made of it.
        if event.endswith("send_request_headers.started"):
            context.begin()

    target = httpx2.URL(url)
    if query:
        target = target.copy_with(params=[*target.params.multi_items(), *query])
    return client.build_request(params.method, target, headers=headers, content=content, extensions={"trace": trace})


def _expected(status: int, params: HttpParams) -> bool:
    return status in params.expect if params.expect is not None else 200 <= status < 300


async def _body(response: httpx2.Response, limit: int) -> bytes | None:
    """The whole body, None where it is larger than the limit."""
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit and response.request.method != "HEAD":
        return None
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > limit:
            return None
        parts.append(part)
    return b"".join(parts)


def _charset(response: httpx2.Response) -> str:
    """How the text is encoded; UTF-8 where the answer names no encoding of texts."""
    try:
        name = codecs.lookup(response.charset_encoding or "utf-8").name
        "".encode(name)  # some codecs know no text at all
    except (LookupError, UnicodeError, ValueError):
        return "utf-8"
    return "utf-8" if name in _NO_CHARSETS else name


def _result(response: httpx2.Response, body: bytes) -> dict[str, Json]:
    text = body.decode(_charset(response), "replace")
    try:
        value = load(body.removeprefix(_UTF8_BOM))
    except NotJson:
        value = None
    headers = {name.lower(): value for name, value in response.headers.items()}
    return {
        "status": response.status_code,
        "headers": headers,
        "text": text,
        "json": value,
        "url": str(response.url),
    }


async def send(params: HttpParams, context: Context) -> dict[str, Json]:
    """Send the request; `BlockFailed` says whether it can have had an effect.

    Never sent, or answered by a 4xx: not done.  Lost after sending, another unexpected status, or an
    answer that is too large: unknown, unless the method has no effects.
    """
    client = context.services.get("http")
    if not isinstance(client, httpx2.AsyncClient):
        raise BlockFailed("No HTTP client is at hand here.", effect="none", code="block-unavailable")
    safe = params.method in SAFE
    try:
        request = _request(client, params, context)
        response = await client.send(request, stream=True, follow_redirects=params.follow)
        try:
            return await _answer(response, params, context)
        finally:
            await response.aclose()
    except BlockFailed:
        raise
    except Exception as error:
        effect = None if context.begun and not safe else "none"
        raise BlockFailed(_why(error, params, context), effect="unknown" if effect is None else "none") from None


async def _answer(response: httpx2.Response, params: HttpParams, context: Context) -> dict[str, Json]:
    status = response.status_code
    safe = params.method in SAFE
    said = f"{params.method} {_shown(str(response.request.url), context)} was answered by {status}"
    if not _expected(status, params):
        refused = 400 <= status < 500
        raise BlockFailed(f"{said}.", effect="none" if refused or safe else "unknown")
    body = await _body(response, params.max_response_bytes)
    if body is None:
        raise BlockFailed(
            f"{said} with more than {params.max_response_bytes:,} bytes, the most that was asked for.",
            effect="none" if safe else "unknown",
            code="result-too-large",
        )
    return _result(response, body)


def _no_address(shown: str) -> str:
    return f'"{shown}" is no address: {WHAT_IT_IS}.'


def _shown(url: str, context: Context) -> str:
    """An address without what may be secret in it: user, password and query."""
    bare = context.redact(url).split("?", 1)[0].split("#", 1)[0]
    scheme, separator, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _redirected(error: httpx2.RequestError, params: HttpParams) -> str | None:
    """The address that could not be asked, where it is another than the one that was given."""
    try:
        url = error.request.url
    except RuntimeError:  # the error knows no request
        return None
    return str(url) if params.follow and url.scheme != httpx2.URL(as_text(params.url)).scheme else None


def _why(error: Exception, params: HttpParams, context: Context) -> str:
    url = _shown(as_text(params.url), context)
    if isinstance(error, httpx2.UnsupportedProtocol) and (sent := _redirected(error, params)) is not None:
        return f'{params.method} {url} was redirected to "{_shown(sent, context)}", which is no address of the web.'
    if isinstance(error, httpx2.TooManyRedirects):
        return f"{params.method} {url} was redirected more than {MAX_REDIRECTS} times."
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return _no_address(url)
    if isinstance(error, httpx2.ConnectTimeout):
        return f"{params.method} {url}: no connection within {CONNECT_SECONDS:g} seconds."
    if isinstance(error, ExceptionGroup):
        error = next((inner for inner in error.exceptions if isinstance(inner, Exception)), error)
    detail = str(error).rstrip(".") or type(error).__name__
    return f"{params.method} {url} failed: {detail}."
