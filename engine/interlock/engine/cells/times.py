"""Seconds since 1970 as RFC 3339 text."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)
def rfc3339(seconds: float) -> str:
    """UTC with milliseconds: ``2026-01-31T12:00:00.250Z``."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
