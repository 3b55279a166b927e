"""Which release of Interlock this is: stored with what it decides, so that a replay knows."""

from __future__ import annotations

from functools import cache


@cache
def release() -> str:
    """The version of the installed package, as text."""
    from importlib.metadata import version

    return version("interlock")
