"""Reading and judging many files on several processes, with the findings of one.

Forked processes inherit what is there and send back what they made, pickled.  Where forking is not
possible, or does not pay, everything happens in the calling process; so it does for any part whose
process fails.  Only for a process without other threads: the command line, not the language server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from interlock.analyzer.analysis import (
    FileModel,
    judge,
    judge_program,
    judge_units,
    program_of,
    read_file,
    weigh,
)
from interlock.analyzer.findings import Finding
from interlock.analyzer.language.blocks import BlockSpec
from interlock.analyzer.links import groups, links_of
from interlock.analyzer.source.text import Piece, SourceText
from interlock.analyzer.syntax.nodes import Chunk, Tree

T = TypeVar("T")

WORTH_IT = 150_000
"""From how many characters of text on a second process pays: about a quarter of a second's work."""
MOST = 8
"""More processes than this gain nothing: handing the models over takes what they save."""


def available() -> int:
    """How many processes there may be."""
    if not hasattr(os, "fork"):
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(usable, MOST))


def read_files(sources: Sequence[SourceText], processes: int = 1) -> list[FileModel]:
    """Reads files, in their order."""
    total = sum(len(source.text) for source in sources)
    processes = min(processes, len(sources), 1 + total // WORTH_IT)
    if processes < 2:
        return [read_file(source) for source in sources]
    shares = _shares([len(source.text) for source in sources], processes, lead=1.25)
    made = _apart([partial(_read, sources, share) for share in shares], _dumps, _loads)
    models: dict[int, FileModel] = {}
    for share, part in zip(shares, made, strict=True):
        for number, model in zip(share, part, strict=True):
            # The text is here already; one copy of it is enough.
            model.source.text = sources[number].text
            models[number] = model
    return [models[number] for number in range(len(sources))]


def _read(sources: Sequence[SourceText], share: Sequence[int]) -> list[FileModel]:
    return [read_file(sources[number]) for number in share]


def judge_files(
    files: Sequence[FileModel], blocks: Mapping[str, BlockSpec] | None = None, processes: int = 1
) -> list[Finding]:
    """What ``judge`` finds; workflows that do not name each other are judged side by side."""
    total = sum(len(file.source.text) for file in files)
    processes = min(processes, 1 + total // WORTH_IT)
    parts = groups([links_of(file) for file in files], keys=False) if processes > 1 else []
    if len(parts) < 2:
        return judge(files, blocks)
    program = program_of(files, blocks)
    starts = [0]
    for file in files:
        starts.append(starts[-1] + len(file.workflows))
    sizes = [sum(len(files[number].source.text) for number in part) for part in parts]
    shares = _shares(sizes, min(processes, len(parts)), lead=0.9)
    units = [
        [
            unit
            for part in sorted(share)
            for number in parts[part]
            for unit in program.units[starts[number] : starts[number + 1]]
        ]
        for share in shares
    ]
    known = _Known(files)
    made = _apart([partial(judge_units, one) for one in units], known.dumps, known.loads)
    findings = [finding for file in files for finding in file.findings]
    findings.extend(finding for part in made for finding in part)
    findings.extend(judge_program(program))
    return weigh(findings)


def _shares(sizes: Sequence[int], count: int, lead: float) -> list[list[int]]:
    """Numbers dealt out so that the shares weigh the same; the first may weigh ``lead`` times as much."""
    shares: list[list[int]] = [[] for _ in range(count)]
    weights = [0.0] * count
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        least = min(range(count), key=lambda at: weights[at])
        shares[least].append(number)
        weights[least] += sizes[number] / (lead if least == 0 else 1)
    return shares


def _apart(tasks: Sequence[Callable[[], T]], dumps: Callable[[T], bytes], loads: Callable[[bytes], T]) -> list[T]:
    """Does the first task here and each other one in a process of its own."""
    children = [_start(task, dumps) for task in tasks[1:]]
    made = [tasks[0]()]
    for task, (pid, reading) in zip(tasks[1:], children, strict=True):
        with open(reading, "rb") as pipe:
            data = pipe.read()
        os.waitpid(pid, 0)
        try:
            made.append(loads(data) if data else task())
        except Exception:
            # A child that was ended from outside leaves half of its answer.
            made.append(task())
    return made


def _start(task: Callable[[], T], dumps: Callable[[T], bytes]) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.close(reading)
        data = dumps(task())
        with open(writing, "wb") as pipe:
            pipe.write(data)
        code = 0
    except Exception:
        code = 1  # nothing is sent, so the caller does the task itself and meets the error there
    finally:
        # Without the exit handlers and buffers of the process that this is a copy of.
        os._exit(code)


def _dumps(made: Sequence[FileModel]) -> bytes:
    import pickle

    for file in made:
        _lighten(file)
    return pickle.dumps(made, pickle.HIGHEST_PROTOCOL)


def _lighten(file: FileModel) -> None:
    """Leaves the nodes of the tree behind, half of what a model weighs: no rule asks for them."""
    _ = file.suppressions  # taken from the comments of the tree, once
    pieces = [Chunk(one.kind, "", one.piece, None, (), (), {}, {}, 0, False) for one in file.tree.chunks]
    file.tree = Tree(file.source, (), (), (), tuple(pieces))


def _loads(data: bytes) -> Any:
    import pickle

    return pickle.loads(data)


class _Known:
    """Pickles findings whose spans point into pieces that both sides have."""

    def __init__(self, files: Sequence[FileModel]) -> None:
        self.things: list[Piece | SourceText] = []
        for file in files:
            self.things.append(file.source)
            self.things.extend(chunk.piece for chunk in file.tree.chunks)
        self.numbers = {id(thing): number for number, thing in enumerate(self.things)}

    def dumps(self, made: list[Finding]) -> bytes:
        import io
        import pickle

        numbers = self.numbers

        class Pickler(pickle.Pickler):
            def persistent_id(self, thing: object) -> int | None:
                return numbers.get(id(thing))

        buffer = io.BytesIO()
        Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(made)
        return buffer.getvalue()

    def loads(self, data: bytes) -> list[Finding]:
        import io
        import pickle

        things = self.things

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, number: Any) -> object:
                return things[number]

        found: list[Finding] = Unpickler(io.BytesIO(data)).load()
        return found
