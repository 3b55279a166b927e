"""Answers at the terminal: approvals, decisions, other signals, and reviews of protected writes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from interlock.engine.client import Engine, waited
from interlock.engine.errors import CallerError
from interlock.engine.ports import Position, ReviewInfo, RunStatus
from interlock.engine.values import NotJson, load
from interlock.server.cli.live import View
from interlock.server.cli.review import user


class Questions:
    """Asks what a run waits for, one question at a time; the run goes on meanwhile."""

    def __init__(self, engine: Engine, view: View) -> None:
        self.engine = engine
        self.view = view
        self.enabled = sys.stdin.isatty() and sys.stdout.isatty()
        self._left: set[tuple[str, int]] = set()

    def open_questions(self, status: RunStatus) -> list[Position]:
        """The lines of the run that wait for a person and were not put off."""
        if not self.enabled:
            return []
        return [
            position
            for position in status.positions
            if (waited(position.waits_on) or position.status == "review")
            and (position.path, position.visit) not in self._left
        ]

    async def ask(self, status: RunStatus, position: Position) -> None:
        """One question; an empty answer puts it off, to be answered from elsewhere."""
        self.view.pause()
        try:
            if position.status == "review":
                await self._review(status, position)
            else:
                await self._signal(status, position)
        except CallerError as error:
            print(f"{error.message} ({error.code})")
        except EOFError:
            self.enabled = False
        finally:
            self.view.resume()

    def _put_off(self, position: Position) -> None:
        self._left.add((position.path, position.visit))

    async def _signal(self, status: RunStatus, position: Position) -> None:
        names = waited(position.waits_on)
        if "approved" in names:
            answer = await read_line(f"{position.path}: approve? [y]es, [n]o, Enter to leave it open: ")
            if answer[:1].lower() in ("y", "n"):
                self.engine.signal(status.run, "approved" if answer[0].lower() == "y" else "rejected", {"by": user()})
            else:
                self._put_off(position)
        elif "approval" in names:
            answer = await read_line(f"{position.path}: approve? [y]es, Enter to leave it open: ")
            if answer[:1].lower() == "y":
                self.engine.signal(status.run, "approval", {"by": user()})
            else:
                self._put_off(position)
        else:
            payload = await self._json(f'{position.path}: JSON for the signal "{names[0]}", Enter to leave it open: ')
            if payload is None:
                self._put_off(position)
            else:
                self.engine.signal(status.run, names[0], payload[0])

    async def _review(self, status: RunStatus, position: Position) -> None:
        review = next((each for each in status.reviews if each.path == position.path), None)
        if review is not None:
            _explain(review)
        answer = await read_line("Did it happen? [c]ommitted, [n]ot committed, [a]bandon, Enter to leave it open: ")
        first = answer[:1].lower()
        if first == "c":
            result = await self._json("The section's outputs as JSON, Enter for none: ")
            self.engine.review(
                status.run, "committed", path=position.path, result=result[0] if result else {}, by=user()
            )
        elif first == "n":
            self.engine.review(status.run, "not-committed", path=position.path, by=user())
        elif first == "a":
            self.engine.review(status.run, "abandon", path=position.path, by=user())
        else:
            self._put_off(position)

    async def _json(self, prompt: str) -> tuple[Any] | None:
        """A JSON answer in a tuple, None for an empty one."""
        while answer := await read_line(prompt):
            try:
                return (load(answer),)
            except NotJson as error:
                print(f"That is no JSON: {error}.")
        return None


def _explain(review: ReviewInfo) -> None:
    print(f'{review.path} is held for review: its write under the key "{review.key}" may have happened.')
    print(f"  why: {review.reason.message}")
    for evidence in review.evidence:
        print(f"  late result: {evidence}")


async def read_line(prompt: str) -> str:
    """A line from the terminal without holding up the loop; EOFError where there is none any more."""
    loop = asyncio.get_running_loop()
    print(prompt, end="", flush=True)
    line: asyncio.Future[str] = loop.create_future()
    handle = sys.stdin.fileno()

    def ready() -> None:
        if not line.done():
            line.set_result(sys.stdin.readline())

    loop.add_reader(handle, ready)
    try:
        text = await line
    finally:
        loop.remove_reader(handle)
    if not text:
        raise EOFError
    return text.strip()
