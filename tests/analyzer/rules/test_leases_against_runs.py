"""What the analysis says of waits while holding, against all runs of small workflows, one by one."""

from __future__ import annotations

import random
from typing import TypeAlias

import pytest

from interlock.analyzer.analysis import check_texts

Steps: TypeAlias = list[dict[str, object]]
Held: TypeAlias = frozenset[str]

HEAD = "workflow: w\nconcurrency: {limit: 1}\ndeadline: 1h\ninputs: {go: boolean}\nsteps:\n"


class Maker:
    """Makes workflows of claims, sections, items and branches, and plays every run of them."""

    def __init__(self, seed: int, jumps: bool) -> None:
        self.random = random.Random(seed)
        self.jumps = jumps
        self.count = 0
        self.waited: set[str] = set()
        self.steps = self.make(2)

    def make(self, depth: int) -> Steps:
        pick = self.random
        ids = [f"s{self.count + number}" for number in range(pick.randint(1, 4))]
        self.count += len(ids)
        steps: Steps = []
        for name in ids:
            step: dict[str, object] = {"id": name, "when": pick.random() < 0.25, "next": None}
            kind = "claim" if not depth else pick.choice(["claim"] * 4 + ["items", "branch", "set"])
            step["kind"] = kind
            if kind == "claim":
                step["key"] = pick.choice("abc")
                step["policy"] = pick.choice(["wait", "wait", "skip", "fail"])
                step["run"] = pick.random() < 0.6
            elif kind in ("items", "branch"):
                step["flag"] = pick.random() < 0.6
                step["steps"] = self.make(depth - 1)
            if self.jumps and pick.random() < 0.25:
                step["next"] = [pick.choice(ids), "end"]
            steps.append(step)
        return steps

    # -- text -------------------------------------------------------------------------------

    def text(self, steps: Steps, indent: int = 2) -> str:
        return "".join(self.step(step, " " * indent) for step in steps)

    def step(self, step: dict[str, object], pad: str) -> str:
        out = f"{pad}- id: {step['id']}\n"
        if step["when"]:
            out += f'{pad}  when: "{{inputs.go}}"\n'
        if isinstance(step["next"], list):
            out += f"{pad}  next: \"{{inputs.go ? '{step['next'][0]}' : 'end'}}\"\n"
        inner = step.get("steps")
        if step["kind"] == "claim":
            lifetime = "run" if step["run"] else f"step, steps: [{{id: {step['id']}x, block: set, params: {{a: 1}}}}]"
            fields = f"resource: {step['key']}, on_busy: {step['policy']}, lifetime: {lifetime}"
            return out + f"{pad}  concurrency: {{{fields}}}\n"
        if step["kind"] == "set":
            return out + f"{pad}  block: set\n{pad}  params: {{a: 1}}\n"
        assert isinstance(inner, list)
        if step["kind"] == "items":
            items = "[1]" if step["flag"] else "[]"
            return (
                out + f"{pad}  for_each:\n{pad}    items: {items}\n{pad}    steps:\n" + self.text(inner, len(pad) + 6)
            )
        policy = "fail" if step["flag"] else "collect"
        out += f"{pad}  concurrency:\n{pad}    on_error: {policy}\n"
        out += f"{pad}    branches:\n{pad}      b:\n{pad}        steps:\n"
        return out + self.text(inner, len(pad) + 10)

    # -- runs -------------------------------------------------------------------------------

    def play(self, steps: Steps, held: Held) -> set[tuple[bool, Held]]:
        """Every way a list can end: whether it completed, and what is held then."""
        places: dict[object, int] = {step["id"]: number for number, step in enumerate(steps)}
        places["end"] = len(steps)
        seen: set[tuple[int, Held]] = set()
        todo = [(0, held)]
        ends: set[tuple[bool, Held]] = set()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            number, now = at
            if number == len(steps):
                ends.add((True, now))
                continue
            step = steps[number]
            if step["when"]:
                todo.append((number + 1, now))
            for completed, after in self.play_step(step, now):
                if not completed:
                    ends.add((False, after))
                elif isinstance(step["next"], list):
                    todo.extend((places[target], after) for target in step["next"])
                else:
                    todo.append((number + 1, after))
        return ends

    def play_step(self, step: dict[str, object], held: Held) -> set[tuple[bool, Held]]:
        inner = step.get("steps")
        if isinstance(inner, list):
            if step["kind"] == "items":
                return self.play(inner, held) if step["flag"] else {(True, held)}
            ends = self.play(inner, held)
            return ends if step["flag"] else {(True, after) for _, after in ends}
        if step["kind"] == "set":
            return {(True, held)}
        key, free = str(step["key"]), step["key"] not in held
        granted = held | {key} if step["run"] else held
        if not free:
            return {(True, granted)}
        if step["policy"] == "wait" and held:
            self.waited.add(str(step["id"]))
        return {(True, granted), (step["policy"] == "skip", held)}


def told(text: str) -> set[str]:
    """The ids of the steps that wait while holding, as the analysis tells them."""
    lines = text.split("\n")
    found: set[str] = set()
    for one in check_texts({"w.workflow.yaml": text}):
        if one.code in ("IL407", "IL408"):
            number = one.line - 1
            while "- id: " not in lines[number]:
                number -= 1
            found.add(lines[number].split("- id: ")[1])
    return found


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_no_run_waits_while_holding_where_nothing_is_told(seed: int) -> None:
    for number in range(seed, seed + 20):
        maker = Maker(number, jumps=True)
        maker.play(maker.steps, frozenset())
        text = HEAD + maker.text(maker.steps)
        assert maker.waited <= told(text), text


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_without_jumps_nothing_is_told_that_no_run_does(seed: int) -> None:
    for number in range(seed, seed + 20):
        maker = Maker(number, jumps=False)
        maker.play(maker.steps, frozenset())
        text = HEAD + maker.text(maker.steps)
        assert told(text) == maker.waited, text
