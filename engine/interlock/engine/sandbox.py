"""Evaluates one expression in a process of its own, with limits of memory and time.

Only expressions whose result may become very large come here (see ``growth``): a start of Python
costs a tenth of a second, and the limits cannot be set on the process that holds the store.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from interlock.engine.ports import EvaluationError, Json
from interlock.engine.values import NotJson, dump, load

MEMORY = 768 * 1024 * 1024
SECONDS = 5
"""Seconds of the processor: a machine that is busy with other things fails no expression."""
PATIENCE = 120.0
"""Seconds by the clock, for a process that does not get on at all."""
LARGEST_RESULT = 64 * 1024 * 1024


class Exceeded(Exception):
    """A limit was passed; the text is the bare reason."""


def evaluate_elsewhere(source: str, data: dict[str, Json]) -> Json:
    """The value of an expression; `EvaluationError` where it fails, `Exceeded` where a limit is passed."""
    command = [sys.executable, "-m", "interlock.engine.sandbox"]
    try:
        done = subprocess.run(
            command, input=dump([source, data, SECONDS]), capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise Exceeded(f"it was not done after {PATIENCE:g} seconds") from None
    if done.returncode == -signal.SIGXCPU:
        raise Exceeded(f"it takes longer than {SECONDS} s")
    if done.returncode != 0:
        raise Exceeded("it needs too much memory")
    try:
        code, value = load(done.stdout)
    except NotJson:
        raise Exceeded("it gives too large a value") from None
    if code == "value":
        return value
    raise EvaluationError(code, value)


def main() -> int:
    """Reads ``[source, data, seconds]`` and writes ``["value", value]`` or ``[code, message]``."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from interlock.engine import evaluate

    source, data, seconds = load(sys.stdin.buffer.read())
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 1))
    try:
        answer = ["value", evaluate.evaluate_here(source, data)]
    except EvaluationError as error:
        answer = [error.code, error.message]
    packed = dump(answer)
    sys.stdout.buffer.write(packed if len(packed) <= LARGEST_RESULT else b"")
    return 0


if __name__ == "__main__":
    sys.exit(main())
