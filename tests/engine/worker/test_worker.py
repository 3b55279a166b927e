"""The worker on a real store: concurrency, groups, stops, secrets, lost and dead workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from interlock.engine.blocks import Context, block
from interlock.engine.blocks.guard import Guard
from interlock.engine.client import TERMINAL, Engine
from interlock.engine.shown import RunStatus
from interlock.engine.worker import LogLine, Worker
from interlock.engine.worker.presence import has_ended, new_name


class Desk:
    """What the test's block sees: how many run, and a gate that they wait at."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.begun: list[str] = []
        self.open = asyncio.Event()


DESK = Desk()


@block("at.desk", effects=True)
async def at_desk(context: Context) -> str:
    DESK.running += 1
    DESK.most = max(DESK.most, DESK.running)
    DESK.begun.append(context.path)
    try:
        await DESK.open.wait()
    finally:
        DESK.running -= 1
    return "done"


def engine(tmp_path: Path, text: str, **more: Any) -> Engine:
    made = Engine(f"sqlite:///{tmp_path}/s.db", blocks=[at_desk], synchronous="NORMAL", **more)
    made.define(text)
    return made


def work(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    global DESK

    async def inside() -> None:
        global DESK
        DESK = Desk()
        await main()

    asyncio.run(asyncio.wait_for(inside(), 60))


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def ended(made: Engine, run: str) -> RunStatus:
    await until(lambda: made.status(run).status in TERMINAL)
    return made.status(run)


ONE = "workflow: w\nsteps: [{id: a, block: at.desk}]\noutputs: {a: '{a}'}\n"
FAN = """
workflow: fan
steps:
  - id: all
    for_each:
      items: [1, 2, 3, 4, 5, 6]
      limit: 6
      steps: [{id: a, block: at.desk}]
"""


def test_blocks_run_at_the_same_time_up_to_the_workers_limit(tmp_path: Path) -> None:
    made = engine(tmp_path, FAN)

    async def main() -> None:
        worker = made.worker(concurrency=4)
        run = made.dispatch("fan").run
        working = asyncio.create_task(worker.run())
        await until(lambda: DESK.running == 4)
        await asyncio.sleep(0.3)
        assert DESK.most == 4
        DESK.open.set()
        assert (await ended(made, run)).status == "completed"
        assert DESK.most == 4
        worker.stop()
        await working
        assert worker.counts.completed == 6

    with made:
        work(main)


def test_a_stop_waits_for_what_runs_and_takes_nothing_more(tmp_path: Path) -> None:
    made = engine(tmp_path, FAN)

    async def main() -> None:
        worker = made.worker(concurrency=2)
        run = made.dispatch("fan").run
        working = asyncio.create_task(worker.run())
        await until(lambda: DESK.running == 2)
        worker.stop()
        await asyncio.sleep(0.2)
        assert not working.done()
        DESK.open.set()
        await working
        assert worker.counts.completed == 2
        kinds = [event.kind for event in made.events(run)]
        assert kinds.count("step.started") == 2
        assert "worker.lost" not in kinds
        assert made.status(run).status == "running"

    with made:
        work(main)


def test_what_outlasts_the_grace_time_is_left_as_unknown_and_goes_on_elsewhere(tmp_path: Path) -> None:
    made = engine(tmp_path, ONE)

    async def main() -> None:
        first = made.worker(grace=0.1)
        run = made.dispatch("w").run
        working = asyncio.create_task(first.run())
        await until(lambda: DESK.running == 1)
        first.stop()
        await working
        assert DESK.running == 0
        DESK.open.set()
        second = made.worker()
        working = asyncio.create_task(second.run())
        assert (await ended(made, run)).outputs == {"a": "done"}
        assert DESK.begun == ["a", "a"]
        second.stop()
        await working

    with made:
        work(main)


def test_a_worker_that_is_hurried_waits_no_longer_for_what_runs(tmp_path: Path) -> None:
    made = engine(tmp_path, ONE)

    async def main() -> None:
        worker = made.worker(grace=10_000)
        made.dispatch("w")
        working = asyncio.create_task(worker.run())
        await until(lambda: DESK.running == 1)
        worker.stop()
        await asyncio.sleep(0.05)
        assert not working.done()
        worker.hurry()
        await working
        assert DESK.running == 0

    with made:
        work(main)


def test_a_request_that_was_not_sent_is_handed_back_at_a_stop(tmp_path: Path) -> None:
    import socket

    made = engine(
        tmp_path,
        "workflow: w\ninputs: {u: string}\nsteps: [{id: a, block: http, params: {url: '{inputs.u}', method: POST}}]\n",
    )
    deaf = socket.socket()
    deaf.bind(("127.0.0.1", 0))
    deaf.listen(0)
    fillers = [socket.socket() for _ in range(8)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(deaf.getsockname())

    async def main() -> None:
        worker = made.worker()
        run = made.dispatch("w", {"u": f"http://127.0.0.1:{deaf.getsockname()[1]}/"}).run
        working = asyncio.create_task(worker.run())
        await until(lambda: worker.running == 1)
        await asyncio.sleep(0.2)
        worker.stop()
        await working
        assert worker.counts.handed_back == 1
        assert made.status(run).positions[0].attempt == 1
        assert "task.handed_back" in [event.kind for event in made.events(run)]

    with made:
        work(main)
    for each in (deaf, *fillers):
        each.close()


@block("goes.wrong", effects=False)
async def goes_wrong(how: str) -> int:
    task = asyncio.current_task()
    assert task is not None
    if how == "inner task":
        inner = asyncio.create_task(asyncio.sleep(600))
        inner.cancel()
        await inner
    elif how == "inner future":
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
    elif how == "raised":
        raise asyncio.CancelledError("by hand")
    elif how == "own task":
        task.cancel()
        await asyncio.sleep(600)
    elif how == "own task, then more":
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        await asyncio.sleep(600)
    elif how == "exit":
        sys.exit(3)
    elif how == "generator":
        raise GeneratorExit
    return 1


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("inner task", "block-failed", "CancelledError: something that the block waited for was cancelled"),
        ("inner future", "block-failed", "CancelledError: something that the block waited for was cancelled"),
        ("raised", "block-failed", "CancelledError: by hand"),
        ("own task", "block-failed", "CancelledError: something that the block waited for was cancelled"),
        ("own task, then more", "timeout", "The block took longer than 1 seconds."),
        ("exit", "block-failed", "SystemExit: 3"),
        ("generator", "block-failed", "GeneratorExit"),
    ],
)
def test_a_block_that_ends_as_if_it_had_been_stopped_fails_its_step(
    tmp_path: Path, how: str, code: str, says: str
) -> None:
    made = Engine(f"sqlite:///{tmp_path}/s.db", blocks=[goes_wrong, at_desk], synchronous="NORMAL")
    step = "{id: a, block: goes.wrong, params: {how: '{inputs.how}'}, timeout: 1s}"
    made.define(f"workflow: w\ninputs: {{how: string}}\nsteps: [{step}]\n")
    made.define(ONE.replace("workflow: w", "workflow: after"))

    async def main() -> None:
        worker = made.worker()
        working = asyncio.create_task(worker.run())
        status = await ended(made, made.dispatch("w", {"how": how}).run)
        assert status.error is not None
        assert (status.error.code, status.error.message) == (code, says)
        DESK.open.set()
        assert (await ended(made, made.dispatch("after").run)).status == "completed"
        worker.stop()
        await working

    with made:
        work(main)


def test_a_loop_that_closes_leaves_its_blocks_to_run_again(tmp_path: Path) -> None:
    made = engine(tmp_path, ONE)

    async def left() -> None:
        working = asyncio.create_task(made.worker(grace=0.1).run())
        await until(lambda: DESK.running == 1)
        assert not working.done()

    async def again() -> None:
        DESK.open.set()
        worker = made.worker()
        working = asyncio.create_task(worker.run())
        assert (await ended(made, run)).outputs == {"a": "done"}
        worker.stop()
        await working

    with made:
        run = made.dispatch("w").run
        work(left)
        assert made.status(run).status == "running"
        work(again)


@block("says.much", effects=True)
async def says_much(context: Context) -> str:
    context.log("one")
    await asyncio.to_thread(context.log, "two")
    context.log("three", "loud")
    return "done"


def test_a_log_sink_that_raises_decides_no_step(tmp_path: Path) -> None:
    made = Engine(f"sqlite:///{tmp_path}/s.db", blocks=[says_much], synchronous="NORMAL")
    made.define("workflow: w\nsteps: [{id: a, block: says.much}]\noutputs: {a: '{a}'}\n")
    told: list[dict[str, Any]] = []

    def sink(line: LogLine) -> None:
        raise ValueError("log sink")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, what: told.append(what))
        worker = made.worker(on_log=sink)
        working = asyncio.create_task(worker.run())
        assert (await ended(made, made.dispatch("w").run)).outputs == {"a": "done"}
        worker.stop()
        await working

    with made:
        work(main)
    assert [str(one["exception"]) for one in told] == ["log sink"] * 4
    assert "the block at a" in told[0]["message"]


def test_a_level_that_there_is_not_is_told_in_the_log(tmp_path: Path) -> None:
    made = Engine(f"sqlite:///{tmp_path}/s.db", blocks=[says_much], synchronous="NORMAL")
    made.define("workflow: w\nsteps: [{id: a, block: says.much}]\n")
    lines: list[LogLine] = []
    with made:
        assert made.run("w", on_log=lines.append).completed
    assert [(line.level, line.message) for line in lines] == [
        ("info", "one"),
        ("info", "two"),
        ("warning", '"loud" is no level of a log line: it is debug, info, warning or error.'),
        ("info", "three"),
    ]


def test_one_name_is_no_list_of_hidden_variables(tmp_path: Path) -> None:
    with engine(tmp_path, ONE) as made, pytest.raises(TypeError, match=r'such as \["TOKEN"\], not \'TOKEN\''):
        made.worker(hidden_environment="TOKEN")  # type: ignore[arg-type]


SECRET = """
workflow: w
secrets: [TOKEN]
steps:
  - {id: a, block: log, params: {message: x}}
  - {id: b, block: shell, params: {command: "true", env: {T: "{secrets.TOKEN}"}}}
"""


def test_what_one_worker_lacks_is_ready_for_the_others_at_once(tmp_path: Path) -> None:
    made = engine(tmp_path, SECRET, allow=["shell"])

    async def main() -> None:
        made.secrets = {}
        poor = made.worker()
        runs = [made.dispatch("w").run for _ in range(3)]
        working = asyncio.create_task(poor.run())
        await until(lambda: poor.counts.handed_back == 3)
        # It leaves the work alone, and has others find it without a delay.
        for _ in range(3):
            poor.wake()
            await asyncio.sleep(0.12)
        assert poor.counts.handed_back == 3
        ready = made.kernel.next_ready()
        assert ready is not None
        assert ready <= made.kernel.last_time
        assert [made.status(run).positions[0].waits_on for run in runs] == [
            'a worker that allows "shell" (the last one handed it back: the secret "TOKEN" is not given here)'
        ] * 3
        made.secrets = {"TOKEN": "t0ken-value"}
        rich = made.worker()
        helping = asyncio.create_task(rich.run())
        for run in runs:
            assert (await ended(made, run)).status == "completed"
        assert poor.counts.handed_back == 3
        for worker in (poor, rich):
            worker.stop()
        await asyncio.gather(working, helping)

    with made:
        work(main)


def test_a_worker_without_a_secret_hands_the_work_back_without_an_attempt(tmp_path: Path) -> None:
    made = engine(tmp_path, SECRET, allow=["shell"])
    values: dict[str, str] = {}

    async def main() -> None:
        made.secrets = values.get
        worker = made.worker()
        run = made.dispatch("w").run
        working = asyncio.create_task(worker.run())
        await until(lambda: worker.counts.handed_back == 1)
        (given_back,) = [event for event in made.events(run) if event.kind == "task.handed_back"]
        assert "TOKEN" in given_back.data["reason"]
        values["TOKEN"] = "t0ken-value"
        status = await ended(made, run)
        assert status.status == "completed"
        assert "step.attempt_failed" not in [event.kind for event in made.events(run)]
        worker.stop()
        await working

    with made:
        work(main)


def test_the_only_worker_fails_what_nobody_else_could_do(tmp_path: Path) -> None:
    made = engine(tmp_path, SECRET, allow=["shell"])
    with made:
        result = made.run("w")
        assert result.error is not None
        assert result.error.code == "secret-unavailable"


async def helped(made: Engine, workflow: str) -> None:
    """Run a workflow with a worker that also does the work of other runs."""
    run = made.dispatch(workflow).run
    worker = made.worker(only_for=run, others=True)
    working = asyncio.create_task(worker.run())
    await ended(made, run)
    worker.stop()
    await working


def test_a_worker_for_one_run_does_not_spoil_another(tmp_path: Path) -> None:
    made = engine(tmp_path, SECRET, allow=["shell"])
    other = Engine(f"sqlite:///{tmp_path}/s.db", synchronous="NORMAL")
    other.define("workflow: quick\nsteps: [{id: a, block: set}]\n")
    alike = Engine(f"sqlite:///{tmp_path}/s.db", allow=["shell"], synchronous="NORMAL")
    alike.define("workflow: slow\nsteps: [{id: a, block: shell, params: {command: sleep 0.5}}]\n")
    with made, other, alike:
        run = made.dispatch("w").run
        assert other.run("quick").completed
        assert alike.run("slow").completed
        assert made.status(run).status == "running"
        assert "task.handed_back" not in [event.kind for event in made.events(run)]
        work(lambda: helped(alike, "slow"))
        made.secrets = {"TOKEN": "t0ken-value"}
        kinds = [event.kind for event in made.events(run)]
        assert "step.failed" not in kinds
        assert kinds.count("task.handed_back") == 1
        assert made.resume(run).completed


def test_work_of_unknown_blocks_is_left_to_workers_that_know_them(tmp_path: Path) -> None:
    made = engine(tmp_path, ONE)
    other = Engine(f"sqlite:///{tmp_path}/s.db", synchronous="NORMAL")

    async def main() -> None:
        run = made.dispatch("w").run
        stranger = other.worker()
        strange = asyncio.create_task(stranger.run())
        await asyncio.sleep(0.4)
        assert made.status(run).status == "running"
        worker = made.worker()
        working = asyncio.create_task(worker.run())
        DESK.open.set()
        assert (await ended(made, run)).status == "completed"
        assert stranger.counts.completed == 0
        for each in (worker, stranger):
            each.stop()
        await asyncio.gather(working, strange)

    with made, other:
        work(main)


def test_two_workers_share_the_work_and_repeat_none_of_it(tmp_path: Path) -> None:
    text = "workflow: w\nsteps:\n" + "".join(f"  - {{id: s{n}, block: set, params: {{n: {n}}}}}\n" for n in range(5))
    made = engine(tmp_path, text)
    other = Engine(f"sqlite:///{tmp_path}/s.db", synchronous="NORMAL")

    async def main() -> None:
        workers: list[Worker] = [made.worker(concurrency=3), other.worker(concurrency=3)]
        runs = [made.dispatch("w").run for _ in range(20)]
        working = [asyncio.create_task(worker.run()) for worker in workers]
        for run in runs:
            await ended(made, run)
        for worker in workers:
            worker.stop()
        await asyncio.gather(*working)
        assert sum(worker.counts.completed for worker in workers) == 100
        assert all(worker.counts.late == 0 for worker in workers)

    with made, other:
        work(main)


def test_a_time_out_ends_an_attempt_and_retry_makes_another(tmp_path: Path) -> None:
    text = "workflow: w\nsteps:\n  - {id: a, block: at.desk, timeout: 1s, retry: {max_attempts: 2, delay: 1}}\n"
    made = engine(tmp_path, text)
    with made:
        made.dispatch("w")

        async def main() -> None:
            worker = made.worker()
            working = asyncio.create_task(worker.run())
            status = await ended(made, made.runs()[0].run)
            assert status.error is not None
            assert status.error.code == "timeout"
            assert DESK.begun == ["a", "a"]
            worker.stop()
            await working

        work(main)


def test_a_wall_clock_that_is_set_back_holds_up_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine(tmp_path, "workflow: w\nsteps: [{id: a, block: set}, {id: rest, delay: 1s}, {id: b, block: set}]\n")
    right = time.time

    async def main() -> None:
        run = made.dispatch("w").run
        monkeypatch.setattr(time, "time", lambda: right() - 5000)
        worker = made.worker()
        working = asyncio.create_task(worker.run())
        assert (await ended(made, run)).status == "completed"
        worker.stop()
        await working

    with made:
        work(main)


def test_log_lines_are_redacted(tmp_path: Path) -> None:
    lines: list[LogLine] = []
    text = (
        "workflow: w\ninputs: {k: {type: string}}\nsteps: [{id: a, block: log, params: {message: 'key {inputs.k}'}}]\n"
    )
    made = engine(tmp_path, text, secrets={"TOKEN": "hush-hush-1"})
    with made:
        assert made.run("w", {"k": "hush-hush-1"}, on_log=lines.append).completed
        assert [(line.path, line.message) for line in lines] == [("a", "key ***")]


def test_results_that_are_late_are_counted_and_not_stored(tmp_path: Path) -> None:
    made = engine(tmp_path, ONE)

    async def main() -> None:
        sleeper = made.worker()
        run = made.dispatch("w").run
        working = asyncio.create_task(sleeper.run())
        await until(lambda: DESK.running == 1)
        made.kernel.lose(sleeper.name)
        second = made.worker()
        again = asyncio.create_task(second.run())
        await until(lambda: DESK.running == 2)
        DESK.open.set()
        assert (await ended(made, run)).status == "completed"
        await until(lambda: sleeper.counts.late + second.counts.late == 1)
        for each in (sleeper, second):
            each.stop()
        await asyncio.gather(working, again)

    with made:
        work(main)


def test_the_process_table_tells_a_dead_worker_from_a_live_one() -> None:
    mine = new_name()
    assert not has_ended(mine)
    code = "from interlock.engine.worker.presence import new_name; print(new_name())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    gone = done.stdout.strip()
    assert has_ended(gone)
    host, pid, started, machine, token = gone.split("/")
    for doubtful in (
        f"{host}/{pid}/{started}/{'0' * len(machine)}/{token}",
        f"{host}/{pid}/-/{machine}/{token}",
        f"{host}/{os.getpid()}/{started}",
        "a-name-of-its-own",
        "",
    ):
        assert not has_ended(doubtful)
    assert has_ended(f"{host}/{os.getpid()}/1/{machine}/{token}")


PROGRAM = """
import asyncio, sys, time
from interlock.engine.client import Engine
engine = Engine("sqlite:///{path}", allow=["shell"])
asyncio.run(engine.worker().run())
"""


def test_a_killed_worker_is_noticed_and_its_work_goes_on(tmp_path: Path) -> None:
    command = "echo x >> trace; test -e go || sleep 60"
    text = f"workflow: w\nsteps: [{{id: a, block: shell, params: {{command: '{command}', cwd: '{tmp_path}'}}}}]\n"
    made = engine(tmp_path, text, allow=["shell"])
    with made:
        run = made.dispatch("w").run
        process = subprocess.Popen([sys.executable, "-c", PROGRAM.format(path=f"{tmp_path}/s.db")])
        trace = tmp_path / "trace"
        limit = time.monotonic() + 30
        while not trace.exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
        process.kill()
        process.wait()
        (tmp_path / "go").touch()
        assert made.resume(run).completed
        assert trace.read_text() == "x\nx\n"
        assert "worker.lost" in [event.kind for event in made.events(run)]


SPAWNING = """
import subprocess, sys

def spawn(path):
    grandchild = subprocess.Popen(["sleep", "600"])
    with open(path, "w") as file:
        file.write(str(grandchild.pid))
    grandchild.wait()
"""


def alive(note: Path) -> bool:
    """Whether the process whose id stands in a file still runs."""
    try:
        stat = Path(f"/proc/{int(note.read_text())}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.parametrize("by", ["shell", "detached", "python"])
def test_what_a_killed_worker_had_started_ends_with_it(tmp_path: Path, by: str) -> None:
    note = tmp_path / "note"
    (tmp_path / "spawning.py").write_text(SPAWNING)
    if by == "python":
        params = f"{{call: 'spawning:spawn', args: {{path: '{note}'}}}}"
    else:
        how = "setsid " if by == "detached" else ""
        by, params = "shell", f"{{command: '{how}sleep 600 & echo $! > {note}; wait'}}"
    made = engine(tmp_path, f"workflow: w\nsteps: [{{id: a, block: {by}, params: {params}}}]\n", allow=[by])
    with made:
        made.dispatch("w")
        program = PROGRAM.format(path=tmp_path / "s.db").replace('["shell"]', f'["{by}"]')
        worker = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
        try:
            for _ in range(1500):
                if note.exists() and note.read_text().strip():
                    break
                time.sleep(0.02)
            assert alive(note)
        finally:
            worker.kill()
            worker.wait()
        for _ in range(500):
            if not alive(note):
                break
            time.sleep(0.02)
        assert not alive(note)


def test_a_guard_that_was_killed_itself_is_started_again(tmp_path: Path) -> None:
    guard = Guard()
    first, second = (
        subprocess.Popen(["sleep", "600"], start_new_session=True),
        subprocess.Popen(["sleep", "600"], start_new_session=True),
    )
    guard.add(first.pid)
    watcher = guard._process
    assert watcher is not None
    watcher.kill()
    watcher.wait()
    guard.add(second.pid)
    guard.remove(first.pid)
    assert first.poll() is None
    guard.close()
    assert second.wait(20) == -9
    assert first.poll() is None
    first.kill()
    assert first.wait(20) == -9
