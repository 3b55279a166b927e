"""What the language says of leases and admission, as plainly as it can be written (6.1 and 6.3).

A second opinion on the cells, which it does not import: a key is a list of requests in the order in which
they came, some granted and some waiting; a queue is a list of runs, some active and some waiting.  After
every change everything is worked out anew from the list.  `Reference` is told the messages that the cells
took and says what they must have answered; its lists must then be those of the store.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Answer: TypeAlias = tuple[Any, ...]
At: TypeAlias = tuple[str, str]


class Request(msgspec.Struct):
    """One place of a run that asked for a key.  ``fence`` is 0 while it waits."""

    run: str
    place: str
    visit: int
    lifetime: str
    limit: int
    number: int
    fence: int = 0


class KeyModel:
    """One resource key."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.in_review: set[str] = set()
        self.numbers = 0
        self.fences = 0

    @property
    def limit(self) -> int | None:
        """What the live holders and waiters were given; None while there are none."""
        return self.requests[0].limit if self.requests else None

    def holding(self) -> dict[str, int]:
        """The holders with their fences."""
        return {each.run: each.fence for each in self.requests if each.fence}

    def places(self) -> dict[tuple[str, str], str]:
        return {(each.run, each.place): each.lifetime for each in self.requests if each.fence}

    def waiting(self) -> list[Request]:
        return [each for each in self.requests if not each.fence]

    # --- what can happen ---

    def acquire(self, ask: Request, on_busy: str) -> list[Answer]:
        live = self.limit
        if live is not None and live != ask.limit:
            return [("refused", ask.run, ask.place, ask.visit, "limit-conflict")]
        mine = [each for each in self.requests if each.run == ask.run and each.fence]
        if mine:
            same = next((each for each in mine if each.place == ask.place), None)
            if same is None:
                self.requests.append(msgspec.structs.replace(ask, fence=mine[0].fence))
            elif ask.lifetime == "run":
                same.lifetime = "run"
            return [("granted", ask.run, ask.place, ask.visit, mine[0].fence, True)]
        if not self.waiting() and len(self.holding()) < ask.limit:
            self.requests.append(ask)
            return self._serve()
        if on_busy == "wait":
            self.numbers += 1
            ask.number = self.numbers
            self.requests.append(ask)
            return [("queued", ask.run, ask.place, ask.visit, ask.number, bool(self.in_review))]
        code = "skipped" if on_busy == "skip" else "resource-busy"
        return [("refused", ask.run, ask.place, ask.visit, code)]

    def release(self, run: str, place: str | None) -> list[Answer]:
        """A hold ends, or (without a place) everything that the run has to do with the key."""
        gone = [
            each
            for each in self.requests
            if each.run == run and (place is None or (each.place == place and each.fence))
        ]
        self.requests = [each for each in self.requests if each not in gone]
        if run not in self.holding():
            self.in_review.discard(run)
        return self._serve()

    def withdraw(self, run: str, place: str) -> list[Answer]:
        self.requests = [each for each in self.requests if each.fence or (each.run, each.place) != (run, place)]
        return self._serve()

    def refence(self, run: str) -> list[Answer]:
        if run not in self.holding():
            return []
        self.fences += 1
        for each in self.requests:
            if each.run == run and each.fence:
                each.fence = self.fences
        return [("refenced", run, self.fences)]

    def review(self, run: str, opened: bool) -> list[Answer]:
        if run not in self.holding():
            return []
        if not opened:
            self.in_review.discard(run)
            return []
        self.in_review.add(run)
        return [("blocked", each.run, each.place, each.visit, run) for each in self.waiting()]

    def _serve(self) -> list[Answer]:
        """First come, first served, one run after the other, as long as there is room."""
        answers: list[Answer] = []
        while True:
            waiting = self.waiting()
            if not waiting or len(self.holding()) >= waiting[0].limit:
                return answers
            self.fences += 1
            again = False
            for each in waiting:
                if each.run == waiting[0].run:
                    each.fence = self.fences
                    answers.append(("granted", each.run, each.place, each.visit, self.fences, again))
                    again = True


class Entry(msgspec.Struct):
    run: str
    limit: int
    key: str | None
    active: bool = False


class QueueModel:
    """One admission queue."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def active(self) -> set[str]:
        return {each.run for each in self.entries if each.active}

    def waiting(self) -> list[str]:
        return [each.run for each in self.entries if not each.active]

    def join(self, run: str, limit: int, policy: str, key: str | None) -> list[Answer]:
        answers: list[Answer] = []
        new = Entry(run, limit, key)
        same = [each for each in self.entries if key is not None and each.key == key and policy != "wait"]
        replaced = next((each for each in same if not each.active), None)
        if replaced is not None:
            self.entries[self.entries.index(replaced)] = new
            answers.append(("stop", replaced.run, run))
        else:
            self.entries.append(new)
        if policy == "supersede":
            answers += [("stop", each.run, run) for each in same if each.active]
        return answers + self._admit()

    def leave(self, run: str) -> list[Answer]:
        self.entries = [each for each in self.entries if each.run != run]
        return self._admit()

    def _admit(self) -> list[Answer]:
        answers: list[Answer] = []
        for each in self.entries:
            if each.active:
                continue
            if len(self.active()) >= each.limit:
                break
            each.active = True
            answers.append(("admitted", each.run))
        return answers


class Reference:
    """All keys and queues of a store."""

    def __init__(self) -> None:
        self.keys: dict[At, KeyModel] = {}
        self.queues: dict[At, QueueModel] = {}

    def key(self, at: At) -> KeyModel:
        return self.keys.setdefault(at, KeyModel())

    def queue(self, at: At) -> QueueModel:
        return self.queues.setdefault(at, QueueModel())

    def take(self, at: At, message: Any) -> list[Answer]:
        """What must be answered to a message, read by its name and fields only."""
        name, it = type(message).__name__, message
        if name == "Acquire":
            request = Request(it.run, it.path, it.visit, it.lifetime, it.limit, 0)
            return self.key(at).acquire(request, it.on_busy)
        if name == "Release":
            return self.key(at).release(it.run, it.path)
        if name == "Withdraw":
            return self.key(at).withdraw(it.run, it.path)
        if name == "Refence":
            return self.key(at).refence(it.run)
        if name == "MarkReview":
            return self.key(at).review(it.run, it.open)
        if name == "Join":
            return self.queue(at).join(it.run, it.limit, it.policy, it.key)
        if name == "Leave":
            return self.queue(at).leave(it.run)
        raise ValueError(f"no key and no queue takes {name}")


def answer(message: Any) -> Answer:
    """A message of the cells in the words of this module."""
    name, it = type(message).__name__, message
    if name == "Granted":
        return "granted", it.run, it.path, it.visit, it.fence, it.reentered
    if name == "Queued":
        return "queued", it.run, it.path, it.visit, it.ticket, it.review
    if name == "NotGranted":
        return "refused", it.run, it.path, it.visit, it.code
    if name == "Refenced":
        return "refenced", it.run, it.fence
    if name == "BlockedByReview":
        return "blocked", it.run, it.path, it.visit, it.holder
    if name == "Admitted":
        return "admitted", it.run
    if name == "StopAsked":
        return "stop", it.run, it.by
    raise ValueError(f"no key and no queue answers {name}")
