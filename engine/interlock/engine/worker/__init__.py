"""The worker: claims ready work, runs blocks at the same time, and settles what became of them."""

from interlock.engine.worker.attempt import LogLine
from interlock.engine.worker.loop import Worker

__all__ = ["LogLine", "Worker"]
