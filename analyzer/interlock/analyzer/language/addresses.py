"""What an address of the ``http`` block is (section 5.1): one judgement for the rules and the engine.

Only the form is judged.  Whether a host is there shows when it is asked.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address

SCHEMES = ("http://", "https://")
WHAT_IT_IS = "it must begin with http:// or https:// and name a host"
ADDRESS_PARAMS = frozenset({("http", "url")})
"""The params of built-in blocks that take one."""

_PARTS = re.compile(r"(?i:https?)://(?P<place>[^/?#]*)(?P<rest>.*)", re.DOTALL)
_PORT = re.compile(r"(?::[0-9]{0,5})?", re.ASCII)
_HOST = re.compile(r"[^\s:\[\]<>\"^`{|}%\\]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_GREATEST_PORT = 65_535


def is_address(text: str) -> bool:
    """Whether a text is an address that a request can be sent to."""
    parts = _PARTS.fullmatch(text)
    return parts is not None and not _CONTROL.search(text) and _is_place(parts["place"])


def may_become_address(start: str) -> bool:
    """Whether a text that begins so, whatever follows it, can be an address."""
    lower = start.lower()
    if any(scheme.startswith(lower) for scheme in SCHEMES):
        return True
    parts = _PARTS.fullmatch(start)
    if parts is None or _CONTROL.search(start):
        return False
    return not parts["rest"] or _is_place(parts["place"])


def _is_place(place: str) -> bool:
    """Whether a host stands there, with a port or without, behind a user or not."""
    host = place.rpartition("@")[2]
    if host.startswith("["):
        inner, closed, port = host[1:].partition("]")
        if not closed or not _is_ipv6(inner):
            return False
    else:
        inner, colon, digits = host.partition(":")
        port = colon + digits
        if not _HOST.fullmatch(inner):
            return False
    return _PORT.fullmatch(port) is not None and int(port[1:] or 0) <= _GREATEST_PORT


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
