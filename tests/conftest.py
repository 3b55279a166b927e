"""What all tests need: signals as a person's terminal gives them.

A shell that starts the tests in the background has them ignore SIGINT, and every program that a test
starts would inherit that: Ctrl-C could not be tried.
"""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
