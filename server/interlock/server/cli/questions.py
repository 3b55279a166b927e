"""Answers at the terminal: approvals, decisions, other signals, and reviews of protected writes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from interlock.engine.client import Engine
from interlock.engine.errors import CallerError
from interlock.engine.host import DEFAULT_STORE
from interlock.engine.shown import Position, ReviewInfo, RunStatus
from interlock.engine.values import NotJson, load
from interlock.server.cli.hints import hints
from interlock.server.cli.live import View
from interlock.server.cli.review import user


class Questions:
    """Asks what a run waits for, one question at a time; the run goes on meanwhile."""

    def __init__(self, engine: Engine, view: View, store: str = DEFAULT_STORE) -> None:
        self.engine = engine
        self.store = store
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
            if (position.waits_for or position.status == "review") and (position.path, position.visit) not in self._left
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
            print()
            self._put_off(status, position)
        finally:
            self.view.resume()

    def _put_off(self, status: RunStatus, position: Position) -> None:
        self._left.add((position.path, position.visit))
        for text in hints(status, position, self.store):
            print(f"Left open. {text}")

    async def _signal(self, status: RunStatus, position: Position) -> None:
        names = position.waits_for
        if "approved" in names and "rejected" in names:
            prompt = f"{position.path}: approve? [y]es, [n]o, Enter to leave it open: "
            answer: str | None = await choose(prompt, {"yes": "approved", "no": "rejected"}, "Please answer y or n.")
            payload: tuple[Any] | None = ({"by": user()},)
        elif "approval" in names:
            prompt = f"{position.path}: approve? [y]es, Enter to leave it open: "
            answer = await choose(prompt, {"yes": "approval"}, "Please answer y, or press Enter to leave it open.")
            payload = ({"by": user()},)
        else:
            answer = names[0]
            payload = await self._json(f'{position.path}: JSON for the signal "{answer}", Enter to leave it open: ')
        if answer is None or payload is None:
            self._put_off(status, position)
        else:
            self.engine.signal(status.run, answer, payload[0])

    async def _review(self, status: RunStatus, position: Position) -> None:
        review = next((each for each in status.reviews if each.path == position.path), None)
        if review is not None:
            _explain(review)
        answer = await choose(
            "Did it happen? [c]ommitted, [n]ot committed, [a]bandon, Enter to leave it open: ",
            {"committed": "committed", "not-committed": "not-committed", "abandon": "abandon"},
            "Please answer c, n or a.",
        )
        if answer == "committed":
            result = await self._json("The section's outputs as JSON, Enter for none: ")
            self.engine.review(
                status.run, "committed", path=position.path, result=result[0] if result else {}, by=user()
            )
        elif answer == "not-committed":
            self.engine.review(status.run, "not-committed", path=position.path, by=user())
        elif answer == "abandon":
            self.engine.review(status.run, "abandon", path=position.path, by=user())
        else:
            self._put_off(status, position)

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


async def choose(prompt: str, choices: dict[str, str], again: str) -> str | None:
    """What the chosen word stands for, by the word or its first letter; None for an empty answer.

    Any other answer is no choice: it is asked ``again``.
    """
    while answer := (await read_line(prompt)).lower().replace(" ", "-"):
        for word, meaning in choices.items():
            if answer in (word, word[0]):
                return meaning
        print(again)
    return None


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
