"""What ``run`` shows while a run goes on: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from interlock.analyzer.report.plain import plain
from interlock.engine.host import DEFAULT_STORE
from interlock.engine.shown import Event, RunStatus
from interlock.engine.worker import LogLine
from interlock.server.cli import engine_commands as common
from interlock.server.cli.hints import hints

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_LASTING = frozenset({"step.completed", "step.failed", "step.skipped", "step.stopped"})
_LAID_OUT = "\n\t"
"""What a message that a block logs may hold: it is laid out as its author wanted."""


def sentence(event: Event) -> str | None:
    """An event in the words of `run`, None for those that say nothing to a person."""
    words = _WORDS.get(event.kind)
    if words is None:
        return None
    data = {name: common.short(value, 300) for name, value in event.data.items()}
    path = event.path or ""
    if event.visit is not None and event.visit > 1:
        path += f" (visit {event.visit})"
    text = words.format_map(_Data({"run": event.run, **data, "path": path}))
    if event.kind == "step.started" and event.data.get("attempt", 1) != 1:
        text += f" (attempt {event.data['attempt']})"
    return text


class _Data(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return ""


_WORDS = {
    "run.dispatched": "run {run} of {workflow}",
    "run.deduplicated": "this key was used again: nothing new was started",
    "run.stop_requested": "asked to stop",
    "run.retried": "retried",
    "run.completed": "completed",
    "run.failed": "failed",
    "run.cancelled": "cancelled",
    "run.superseded": "superseded",
    "step.started": "{path} started",
    "step.attempt_failed": "{path} attempt failed: {message}",
    "step.retry_scheduled": "{path} will be tried again",
    "step.completed": "{path} done",
    "step.failed": "{path} failed: {message}",
    "step.skipped": "{path} skipped",
    "step.stopped": "{path} stopped",
    "lease.queued": '{path} waits for the key "{key}"',
    "lease.granted": '{path} holds the key "{key}" (fence {fence})',
    "lease.skipped": '{path} goes on without the key "{key}"',
    "lease.refused": '{path} does not get the key "{key}"',
    "lease.blocked_by_review": '{path}: the key "{key}" is held by a run in review',
    "review.opened": "{path} is held for review: {message}",
    "review.settled": "{path} review settled: {decision}",
    "wait.opened": "{path} waits",
    "wait.timed_out": "{path} waited too long",
    "signal.received": 'the signal "{name}" came',
    "child.started": "{path} started the run {run}",
    "compensation.started": "{path} is being undone ({block})",
    "compensation.completed": "{path} undone",
    "compensation.failed": "{path} could not be undone: {message}",
    "handler.started": "{path} started",
    "handler.completed": "{path} done",
    "handler.failed": "{path} failed: {message}",
    "task.handed_back": "{path} handed back: {reason}",
    "task.reassigned": "{path} begins again: its worker was lost",
    "worker.lost": "a worker was lost: {worker}",
}


class View(Protocol):
    """Shows a run while it goes on."""

    def event(self, event: Event) -> None: ...

    def log(self, line: LogLine) -> None: ...

    def note(self, text: str) -> None: ...

    def standing(self, status: RunStatus) -> None:
        """Called now and then with where the run is."""

    def pause(self) -> None:
        """Leave the terminal to a question."""

    def resume(self) -> None: ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def event(self, event: Event) -> None:
        pass

    def log(self, line: LogLine) -> None:
        pass

    def note(self, text: str) -> None:
        print(plain(text), file=sys.stderr)

    def standing(self, status: RunStatus) -> None:
        pass

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def close(self) -> None:
        pass


class Lines(Silent):
    """One line for each thing that happens."""

    def __init__(self, store: str = DEFAULT_STORE) -> None:
        self.store = store
        self._said: set[str] = set()
        self._lost: set[str] = set()
        self._began = 0.0

    def event(self, event: Event) -> None:
        text = sentence(event)
        if event.kind == "worker.lost":
            # The log has one for each piece of its work; that it is gone is said once.
            if str(event.data.get("worker")) in self._lost:
                return
            self._lost.add(str(event.data.get("worker")))
        self._began = self._began or event.at
        if text is not None:
            print(f"{event.at - self._began:8.2f}s  {plain(text)}", flush=True)

    def log(self, line: LogLine) -> None:
        print(f"{'':9}  {line.path} [{line.level}] {plain(line.message, _LAID_OUT)}", flush=True)

    def note(self, text: str) -> None:
        print(f"{'':9}  {plain(text)}", flush=True)

    def standing(self, status: RunStatus) -> None:
        texts = [text for position in status.positions for text in hints(status, position, self.store)]
        for text in [*queued(status), *texts]:
            if text not in self._said:
                self._said.add(text)
                self.note(text)


def queued(status: RunStatus) -> list[str]:
    """That a run waits to be admitted; every run is queued for a moment, which is no news."""
    if status.queue is None:
        return []
    by = ", ".join(status.queue.blocked_by) or "nobody"
    return [f"queued: the slots of {status.workflow} are held by {by}; place {status.queue.position} in line"]


class Live:
    """A table of the steps on a terminal, renewed in place; what blocks log scrolls above it."""

    def __init__(self, console: Console, store: str = DEFAULT_STORE) -> None:
        from rich.live import Live as RichLive

        self.console = console
        self.store = store
        self._lost: set[str] = set()
        self._said: set[str] = set()
        self._steps: dict[str, tuple[str, str, float, float | None]] = {}
        self._status = "queued"
        self._queued = ""
        self._waits: dict[str, str] = {}
        self._live = RichLive(console=console, refresh_per_second=8, get_renderable=self._picture, transient=False)
        self._live.start()

    def event(self, event: Event) -> None:
        text = sentence(event)
        path = event.path
        if event.kind == "worker.lost":
            worker = str(event.data.get("worker"))
            if worker not in self._lost and text is not None:
                self.note(text)
            self._lost.add(worker)
            return
        if path is None:
            if text is not None:
                self.console.print(plain(text), style="dim", highlight=False, markup=False)
            return
        _, _, began, _ = self._steps.get(path, ("", "", event.at, None))
        if event.kind in ("step.entered", "step.started", "handler.started", "compensation.started"):
            self._steps[path] = ("runs", "", event.at if event.kind == "step.entered" else began, None)
        elif event.kind in _LASTING or event.kind in ("handler.completed", "handler.failed"):
            detail = common.short(event.data.get("message", "") or "", 200)
            self._steps[path] = (event.kind.partition(".")[2], detail, began, event.at)
        elif text is not None:
            self._steps[path] = ("runs", plain(text).removeprefix(path).strip(" :"), began, None)

    def log(self, line: LogLine) -> None:
        styles = {"error": "red", "warning": "yellow", "debug": "dim"}
        self.console.print(
            f"{line.path}: {plain(line.message, _LAID_OUT)}",
            style=styles.get(line.level, ""),
            highlight=False,
            markup=False,
        )

    def note(self, text: str) -> None:
        self.console.print(plain(text), style="yellow", highlight=False, markup=False)

    def standing(self, status: RunStatus) -> None:
        self._status = status.status
        for text in queued(status):
            if text != self._queued:
                self._queued = text
                self.note(text)
        if not sys.stdin.isatty():
            # Nobody can be asked here, so it is said how to answer from elsewhere.
            for text in (text for position in status.positions for text in hints(status, position, self.store)):
                if text not in self._said:
                    self._said.add(text)
                    self.note(text)
        self._waits = {position.path: position.waits_on or "" for position in status.positions}

    def _picture(self) -> RenderableType:
        from rich.spinner import Spinner
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        marks = {
            "completed": ("✓", "green"),
            "failed": ("✗", "red"),
            "skipped": ("–", "dim"),
            "stopped": ("■", "yellow"),
        }
        now = time.time()
        # A screen has only so many lines; what ended first is left out first.
        rows = list(self._steps.items())
        room = max(5, self.console.size.height - 4)
        if len(rows) > room:
            busy = [path for path, step in rows if step[3] is None][-room:]
            done = [path for path, step in rows if step[3] is not None]
            kept = {*busy, *done[len(done) - (room - len(busy)) :]}
            rows = [row for row in rows if row[0] in kept]
        for path, (what, detail, began, ended) in rows:
            mark, style = marks.get(what, ("", "cyan"))
            sign = Text(mark, style=style) if mark else Spinner("dots", style=style)
            detail = detail or (f"waits for {self._waits[path]}" if self._waits.get(path) else "")
            table.add_row(sign, Text(path), Text(common.span((ended or now) - began), "dim"), Text(detail, style))
        return table

    def pause(self) -> None:
        self._live.stop()

    def resume(self) -> None:
        self._live.start()

    def close(self) -> None:
        self._live.stop()


def view_for(as_json: bool, store: str = DEFAULT_STORE) -> View:
    """The view that fits where the output goes."""
    if as_json:
        return Silent()
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console()
        if console.is_terminal and not console.is_dumb_terminal:
            return Live(console, store)
    return Lines(store)
