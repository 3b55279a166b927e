"""The engine as a library: one `Engine` is one open store, with what a person or a host does to it.

    from interlock.engine.client import Engine

    with Engine.open("sqlite:///state.db") as engine:
        engine.load("publish.workflow.yaml")
        result = engine.run("brief.publish", {"brief_id": 7})
        print(result.status, result.outputs)

`AsyncEngine` is the same for programs that run in an event loop: every verb is awaited.  Verbs raise
`CallerError` with a code of section 12 and one sentence.
"""

from interlock.engine.client.asynchronous import AsyncEngine
from interlock.engine.client.sync import (
    STATUSES,
    TERMINAL,
    Decision,
    Engine,
    RunResult,
    blocks_of,
    replay_export,
)

__all__ = [
    "STATUSES",
    "TERMINAL",
    "AsyncEngine",
    "Decision",
    "Engine",
    "RunResult",
    "blocks_of",
    "replay_export",
]
