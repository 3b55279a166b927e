"""What the simulation decided, as files that Spin plays against the cells of the model.

A seed's decisions of one key or one queue become one Promela file: each message is given to the model, and
its answers have to be those that the engine gave.  `faults` makes traces that the model must refuse.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from interlock.engine.cells import messages as m
from interlock.engine.simulate.simulation import Simulation
from interlock.engine.simulate.tape import Decision

HERE = Path(__file__).parent
MOST = 60
"""Messages of one cell that are played; what comes later in a long trace is left out."""


def cells_of(decisions: list[Decision]) -> dict[tuple[str, Any], list[Decision]]:
    """The decisions of each key and queue, in their order; a mark of a review grants and takes nothing."""
    cells: dict[tuple[str, Any], list[Decision]] = defaultdict(list)
    for each in decisions:
        if each.cell in ("key", "queue") and not isinstance(each.message, m.MarkReview):
            cells[each.cell, each.who].append(each)
    return cells


class Names:
    """Numbers for names, from 0 in the order in which they come."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def __getitem__(self, name: Any) -> int:
        return self.known.setdefault(name, len(self.known))

    def __len__(self) -> int:
        return max(1, len(self.known))


def promela(kind: str, decisions: list[Decision]) -> str | None:
    """The trace as a file; None where it has more names than the bits of the model can tell apart."""
    runs, places, keys = Names(), Names(), Names()
    lines: list[str] = []
    for each in decisions[:MOST]:
        lines += _key_step(each, runs, places) if kind == "key" else _queue_step(each, runs, keys)
    if len(runs) > 8 or len(places) > 8:
        return None
    head = f"#define R {len(runs)}\n#define K 1\n#define P {len(places)}\n#define Q {len(runs) * len(places)}\n"
    return head + _FRAME.replace("STEPS", "\n".join(f"        {line}" for line in lines))


def _key_step(each: Decision, runs: Names, places: Names) -> list[str]:
    ask = each.message
    run, place = runs[ask.run], 0
    limit, waits = 0, "false"
    if isinstance(ask, m.Acquire):
        what, place, limit = "acquire", places[ask.path], ask.limit
        waits = "true" if ask.on_busy == "wait" else "false"
    elif isinstance(ask, m.Release):
        what = "release" if ask.path is not None else "release_all"
        place = places[ask.path] if ask.path is not None else 0
    elif isinstance(ask, m.Withdraw):
        what, place = "withdraw", places[ask.path]
    else:
        what = "refence"
    expected = []
    for told in each.answers:
        if isinstance(told, m.Granted):
            kind = "reentered" if told.reentered else "granted"
            expected.append((runs[told.run], kind, places[told.path], told.fence - 1))
        elif isinstance(told, m.Queued):
            expected.append((runs[told.run], "queued", places[told.path], told.ticket - 1))
        elif isinstance(told, m.NotGranted):
            kind = "conflict" if told.code == "limit-conflict" else "skipped"
            expected.append((runs[told.run], kind, places[told.path], 0))
        elif isinstance(told, m.Refenced):
            expected.append((runs[told.run], "refenced", 0, told.fence - 1))
    return [f"key_takes({what}, {run}, 0, {place}, {limit}, {waits});", *_expect(expected)]


def _queue_step(each: Decision, runs: Names, keys: Names) -> list[str]:
    ask = each.message
    words = ["admitted" if isinstance(told, m.Admitted) else "stopped" for told in each.answers]
    expected = [(runs[told.run], word, 0, 0) for told, word in zip(each.answers, words, strict=True)]
    if isinstance(ask, m.Join):
        policy = {"wait": "wait_policy", "latest_waiting": "latest_policy"}.get(ask.policy, "supersede_policy")
        key = keys[ask.key] + 1 if ask.key is not None else 0
        return [f"queue_takes(join, {runs[ask.run]}, {ask.limit}, {policy}, {key});", *_expect(expected)]
    return [f"queue_takes(leave, {runs[ask.run]}, 0, wait_policy, 0);", *_expect(expected)]


def _expect(expected: list[tuple[int, str, int, int]]) -> list[str]:
    lines = [f"assert(said == {len(expected)});"]
    lines += [f"heard({run}, {kind}, {place}, {number});" for run, kind, place, number in expected]
    return [*lines, "said = 0;"]


_FRAME = """#define NUMBERS
byte said;
byte said_run[32]; mtype said_what[32]; byte said_place[32]; byte said_number[32];
#define ANSWER(r, what, k, p, n) said_run[said] = r; said_what[said] = what; said_place[said] = p; \\
    said_number[said] = n; said++;
#include "cells.pml"

inline heard(r, what, p, n) {
    /* The engine told the run this: so must the model have done. */
    found = false;
    for (m : 0 .. said - 1) {
        if
        :: said_run[m] == r && said_what[m] == what && said_place[m] == p && said_number[m] == n -> found = true
        :: else
        fi
    }
    assert(found)
}

init {
    byte i, j, at, who, place, holders, m;
    bool found;
    d_step {
STEPS
    };
    printf("played\\n")
}
"""


def faults(decisions: list[Decision]) -> list[list[Decision]]:
    """The trace of a key with one fault each: another fence, a ticket that jumps the line, a grant that is lost."""
    found: list[list[Decision]] = []
    for place, each in enumerate(decisions):
        for which, told in enumerate(each.answers):
            if isinstance(told, m.Granted):
                wrong = msgspec.structs.replace(told, fence=told.fence + 1)
                found.append(_with(decisions, place, which, wrong))
            elif isinstance(told, m.Queued):
                wrong_ticket = msgspec.structs.replace(told, ticket=told.ticket + 1)
                found.append(_with(decisions, place, which, wrong_ticket))
        if each.answers and not isinstance(each.message, m.Acquire):
            silent = Decision(each.cell, each.who, each.message, ())
            found.append([*decisions[:place], silent, *decisions[place + 1 :]])
    return found


def _with(decisions: list[Decision], place: int, which: int, told: object) -> list[Decision]:
    old = decisions[place]
    answers = (*old.answers[:which], told, *old.answers[which + 1 :])
    return [*decisions[:place], Decision(old.cell, old.who, old.message, answers), *decisions[place + 1 :]]


def accepted(text: str) -> bool:
    """Whether the model can do what the trace says.  Raises where Spin cannot read the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.pml"
        file.write_text(text)
        (Path(folder) / "cells.pml").write_text((HERE / "cells.pml").read_text())
        done = subprocess.run(["spin", file.name], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    if "assertion violated" in said:
        return False
    if "played" not in said:
        raise RuntimeError(f"Spin did not get to the end of the trace:\n{said[-2000:]}")
    return True


def decided(seed: int, actions: int = 300) -> list[Decision]:
    """Every decision that a seed of the simulation commits, in order."""
    kept: list[Decision] = []
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(seed, f"{folder}/state.db", actions=actions, store="cells")
        tape = simulation.world.tape
        committed = tape.committed

        def keep() -> None:
            kept.extend(tape.decisions)
            committed()

        tape.committed = keep  # type: ignore[method-assign]
        simulation.run()
    return kept


def traces(seed: int, actions: int = 300) -> list[tuple[str, list[Decision]]]:
    """The keys and queues of one seed, each with its decisions."""
    return [(kind, found) for (kind, _), found in cells_of(decided(seed, actions)).items() if len(found) > 1]
