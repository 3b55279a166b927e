"""The command line.

Starts fast: msgspec, which everything here is made of, would import typing_extensions (and with it
inspect, ast and tokenize, a tenth of what a check may take) only to get names that typing has too.
"""

import sys as _sys

if "msgspec" not in _sys.modules and "typing_extensions" not in _sys.modules:
    # A module that is None counts as one that is not installed, for as long as the next import takes.
    _sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec as _msgspec  # noqa: F401
    finally:
        del _sys.modules["typing_extensions"]
