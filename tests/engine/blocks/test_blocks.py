"""The other built-in blocks, and the blocks of a host."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from interlock.analyzer.language.blocks import BUILT_IN, load_manifest
from interlock.engine.blocks import BlockFailed, Context, Registry, block, descendants
from interlock.engine.blocks.builtin import BUILT_IN_BLOCKS
from interlock.engine.blocks.running import arguments
from interlock.engine.ports import Failed, Json, Outcome, Success

Run = Callable[..., Outcome]


def result(outcome: Outcome) -> Any:
    assert isinstance(outcome, Success), outcome
    return outcome.result


def failure(outcome: Outcome) -> tuple[str, str]:
    assert isinstance(outcome, Failed), outcome
    return outcome.code, outcome.effect


# --- built in ------------------------------------------------------------------------------------


def test_every_block_of_the_table_has_its_code() -> None:
    assert {item.name for item in BUILT_IN_BLOCKS} == set(BUILT_IN)


@pytest.mark.parametrize(
    ("params", "fits"), [({"n": 5}, True), ({"n": 5.0}, False), ({"n": float(2**63)}, False), ({"n": True}, False)]
)
def test_a_double_is_no_whole_number(run: Run, params: Json, fits: bool) -> None:
    """As `interlock check` says of a literal."""
    outcome = run("whole.number", params, blocks=(whole_number,))
    assert outcome == Success(5) if fits else failure(outcome) == ("bad-value", "none")


@block("whole.number", effects=False)
async def whole_number(n: int) -> int:
    return n


SAMPLES: list[tuple[str, Json]] = [
    ("http", {"url": "http://a.example"}),
    ("http", {"url": "x", "query": {"a": [1, "b", True], "c": 1.5}, "headers": {"h": 1}, "follow": True}),
    ("http", {"url": "x", "query": {"a": {}}}),
    ("http", {"url": "x", "headers": {"a": []}}),
    ("http", {"url": "x", "expect": [200.5]}),
    ("http", {"url": "x", "expect": 200}),
    ("http", {"url": "x", "method": "TRACE"}),
    ("http", {"url": "x", "follow": "yes"}),
    ("http", {"url": "x", "max_response_bytes": -1}),
    ("http", {"method": "GET"}),
    ("set", {}),
    ("set", {"anything": [1]}),
    ("log", {"message": [1]}),
    ("log", {"message": "m", "level": "warning"}),
    ("log", {"message": "m", "level": "loud"}),
    ("log", {}),
    ("fail", {"message": {}, "code": "no_stock"}),
    ("fail", {"message": "m", "code": "not a name"}),
    ("fail", {"code": "x"}),
    ("shell", {"command": "ls"}),
    ("shell", {"command": ["ls", 1, True], "env": {"A": 1}, "cwd": "/", "stdin": "x"}),
    ("shell", {"command": []}),
    ("shell", {"command": ""}),
    ("shell", {"command": {"a": 1}}),
    ("shell", {"command": "ls", "env": {"A": None}}),
    ("python", {"call": "a.b:c"}),
    ("python", {"call": "a:b", "args": {"x": 1}}),
    ("python", {"call": "a:b", "args": [1]}),
    ("python", {"call": "a.b"}),
    ("python", {"call": "a:b", "args": 1}),
    ("python", {}),
]


@pytest.mark.parametrize(("name", "params"), SAMPLES)
def test_the_table_and_the_code_agree_on_what_fits(name: str, params: Json) -> None:
    block = next(item for item in BUILT_IN_BLOCKS if item.name == name)
    says = jsonschema.Draft202012Validator(BUILT_IN[name].params).is_valid(params)
    if says:
        assert arguments(block, params, Context())
    else:
        with pytest.raises(BlockFailed) as caught:
            arguments(block, params, Context())
        assert (caught.value.code, caught.value.effect) == ("bad-value", "none")


def test_set_gives_its_params(run: Run) -> None:
    assert result(run("set", {"a": 1, "b": {"c": None}})) == {"a": 1, "b": {"c": None}}


def test_log_writes_any_value_as_text(run: Run) -> None:
    log: list[tuple[str, str]] = []
    assert result(run("log", {"message": {"b": 1.0, "a": [True]}, "level": "warning"}, log=log)) == {}
    assert log == [("warning", '{"a":[true],"b":1}')]
    assert failure(run("log", {"message": None})) == ("null-in-text", "none")


def test_fail_has_a_code_of_its_own(run: Run) -> None:
    assert run("fail", {"message": "out of stock", "code": "no_stock"}) == Failed(
        "no_stock", "out of stock", "none", own=True
    )
    assert run("fail", {"message": 5}) == Failed("failed", "5", "none", own=True)


def test_shell_gives_what_the_command_wrote(run: Run, tmp_path: Path) -> None:
    made = result(
        run(
            "shell",
            {
                "command": 'cat; echo "[1, \\"$X\\"]"; echo oops >&2; pwd >&2',
                "env": {"X": 1.5},
                "cwd": str(tmp_path),
                "stdin": " ",
            },
        )
    )
    assert made["json"] == [1, "1.5"]
    assert made["exit_code"] == 0
    assert made["stderr"] == f"oops\n{tmp_path}\n"


def test_shell_runs_a_list_without_a_shell(run: Run) -> None:
    assert result(run("shell", {"command": ["echo", "$HOME", 5]}))["stdout"] == "$HOME 5\n"


def test_shell_does_not_inherit_the_key_of_the_store(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_KEY", "top-secret")
    assert "top-secret" not in result(run("shell", {"command": "env"}))["stdout"]


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("echo bad >&2; exit 3", ("effect-unknown", "unknown")),
        ("kill -9 $$", ("effect-unknown", "unknown")),
        (["/no/such/program"], ("block-failed", "none")),
        ("yes", ("result-too-large", "unknown")),
        ("yes >&2", ("result-too-large", "unknown")),
    ],
)
def test_a_command_that_fails(run: Run, command: Json, known: tuple[str, str]) -> None:
    assert failure(run("shell", {"command": command})) == known


def test_a_folder_that_is_not_there_is_named(run: Run) -> None:
    outcome = run("shell", {"command": "true", "cwd": "/no/such/folder"})
    assert isinstance(outcome, Failed)
    assert outcome.effect == "none"
    assert "/no/such/folder" in outcome.message


def gone(path: Path) -> bool:
    """Whether the process whose id stands in a file has ended."""
    pid = int(path.read_text())
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("ending", ["wait", "exit 0"])
def test_the_whole_process_group_ends(run: Run, tmp_path: Path, ending: str) -> None:
    note = tmp_path / "pid"
    outcome = run("shell", {"command": f"sleep 600 & echo $! > {note}; {ending}"}, timeout=1.0)
    assert isinstance(outcome, Failed if ending == "wait" else Success)
    if isinstance(outcome, Failed):
        assert failure(outcome) == ("timeout", "unknown")
    assert gone(note)


LEFT = "sh -c 'echo $$ > {note}; echo left behind; exec sleep 600'"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere only the process group is found")
@pytest.mark.parametrize(
    "detached",
    [
        pytest.param(f"setsid {LEFT} &", id="in a session of its own"),
        pytest.param(f"(setsid {LEFT} &) &", id="started by what has ended"),
        pytest.param(f"setsid {LEFT} >/dev/null 2>&1 </dev/null &", id="without the pipes"),
        pytest.param(f"env -i setsid {LEFT} &", id="without the environment"),
    ],
)
def test_what_has_detached_itself_ends_with_the_command(run: Run, tmp_path: Path, detached: str) -> None:
    note = tmp_path / "pid"
    command = f"{detached.format(note=note)} while ! test -s {note}; do sleep 0.01; done; echo seen"
    written = result(run("shell", {"command": command}, timeout=60.0))["stdout"].splitlines()
    assert sorted(written) == sorted({"seen"} | ({"left behind"} if "/dev/null" not in detached else set()))
    assert gone(note)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere only the process group is found")
@pytest.mark.parametrize("how", ["setsid", "env -i setsid"])
def test_what_has_detached_itself_ends_at_a_time_out(run: Run, tmp_path: Path, how: str) -> None:
    note = tmp_path / "pid"
    outcome = run("shell", {"command": f"{how} {LEFT.format(note=note)} & sleep 600"}, timeout=1.5)
    assert failure(outcome) == ("timeout", "unknown")
    assert gone(note)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere only the process group is found")
def test_a_process_that_cannot_be_found_does_not_hold_up_the_step(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    hidden = f"env -i setsid {LEFT.format(note=note)} >/dev/null 2>&1 </dev/null &"
    command = f"{hidden} while ! test -s {note}; do sleep 0.01; done; echo seen"
    assert result(run("shell", {"command": command}, timeout=60.0))["stdout"] == "seen\n"
    os.kill(int(note.read_text()), signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_pipe_that_stays_open_is_not_waited_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where what was left behind cannot be found."""
    monkeypatch.setattr(descendants, "_processes", lambda: iter(()))
    note = tmp_path / "pid"
    command = f"setsid {LEFT.format(note=note)} & while ! test -s {note}; do sleep 0.01; done; echo seen"
    assert "seen" in result(run("shell", {"command": command}, timeout=60.0))["stdout"]
    os.kill(int(note.read_text()), signal.SIGKILL)


def test_shell_and_python_need_permission() -> None:
    registry = Registry()
    assert not {"shell", "python"} & registry.runnable
    assert {"shell", "http"} <= Registry(allow=["shell"]).runnable
    with pytest.raises(ValueError, match="needs no permission"):
        Registry(allow=["http"])


def test_python_calls_a_function_in_a_process_of_its_own(run: Run) -> None:
    assert result(run("python", {"call": "os:getpid"})) != os.getpid()
    assert result(run("python", {"call": "math:hypot", "args": [3, 4]})) == 5.0
    assert result(run("python", {"call": "json:loads", "args": {"s": "[1]"}})) == [1]
    assert result(run("python", {"call": "builtins:print", "args": ["noise"]})) is None


@pytest.mark.parametrize(
    ("params", "known"),
    [
        ({"call": "no_such_module:f"}, ("block-failed", "none")),
        ({"call": "math:no_such"}, ("block-failed", "none")),
        ({"call": "math:sqrt", "args": [-1]}, ("effect-unknown", "unknown")),
        ({"call": "os:_exit", "args": [3]}, ("effect-unknown", "unknown")),
        ({"call": "builtins:object"}, ("result-invalid", "unknown")),
        ({"call": "sys:exit"}, ("effect-unknown", "unknown")),
    ],
)
def test_a_call_that_fails(run: Run, params: Json, known: tuple[str, str]) -> None:
    assert failure(run("python", params)) == known


def test_a_call_that_hangs_is_ended(run: Run) -> None:
    assert failure(run("python", {"call": "time:sleep", "args": [600]}, timeout=0.5)) == (
        "timeout",
        "unknown",
    )


# --- of a host -----------------------------------------------------------------------------------


class Size(msgspec.Struct):
    width: int
    height: int | None = None


class Picture(msgspec.Struct):
    path: str
    size: Size
    token: str = ""


@block("image.resize", effects=True, cost_units=3, secret_results=["token"])
def resize(path: str, size: Size, context: Context, quality: float = 0.8) -> Picture:
    """Resizes a picture.

    More about it.
    """
    if path == "crash":
        os._exit(1)
    if path == "refuse":
        raise BlockFailed("no such picture", effect="none")
    print("noise on standard output")
    context.log(f"resizing for {context.run}")
    return Picture(path, size, "tok-12345")


@block("text.upper", effects=False)
async def upper(text: str) -> str:
    if text == "hang":
        await asyncio.sleep(600)
    if text == "boom":
        raise TimeoutError("their own")
    return text.upper() if text != "wrong" else 5  # type: ignore[return-value]


@block("counter")
class Counter:
    """Counts."""

    async def run(self, params: dict[str, int]) -> int:
        return sum(params.values())


def test_a_function_runs_in_a_child_with_typed_params(run: Run) -> None:
    log: list[tuple[str, str]] = []
    outcome = run("image.resize", {"path": "a.png", "size": {"width": 5}}, blocks=(resize,), log=log)
    assert outcome == Success(
        {"path": "a.png", "size": {"width": 5, "height": None}, "token": "tok-12345"}, ("tok-12345",)
    )
    assert log == [("info", "resizing for r1")]


@pytest.mark.parametrize(
    ("params", "known"),
    [
        ({"path": "crash", "size": {"width": 1}}, ("effect-unknown", "unknown")),
        ({"path": "refuse", "size": {"width": 1}}, ("block-failed", "none")),
        ({"path": "a", "size": {"width": "wide"}}, ("bad-value", "none")),
        ({"path": "a"}, ("bad-value", "none")),
        ({"path": "a", "size": {"width": 1}, "more": 1}, ("bad-value", "none")),
    ],
)
def test_what_a_child_says_of_a_failure(run: Run, params: Json, known: tuple[str, str]) -> None:
    assert failure(run("image.resize", params, blocks=(resize,))) == known


def test_an_asynchronous_block_runs_in_the_loop(run: Run) -> None:
    assert result(run("text.upper", {"text": "a"}, blocks=(upper,))) == "A"
    assert failure(run("text.upper", {"text": "wrong"}, blocks=(upper,))) == ("result-invalid", "none")
    assert failure(run("text.upper", {"text": "hang"}, blocks=(upper,), timeout=0.2)) == ("timeout", "none")
    assert failure(run("text.upper", {"text": "boom"}, blocks=(upper,))) == ("block-failed", "none")


def test_a_class_is_a_block(run: Run) -> None:
    assert result(run("counter", {"a": 1, "b": 2}, blocks=(Counter,))) == 3


@block("calls.counted", effects=False)
class Counted:
    def __init__(self) -> None:
        self.calls = 0

    def run(self) -> tuple[int, int]:
        self.calls += 1
        return self.calls, os.getpid()


@block("no.object", effects=True)
class NoObject:
    def __init__(self) -> None:
        main = sys.modules["__main__"].__spec__
        if main is not None and main.name == "interlock.engine.blocks.child":
            raise OSError("no connection")

    def run(self) -> int:
        return 1


@block("ends.program", effects=False)
def ends_program(how: str) -> int:
    if how == "exit":
        sys.exit(3)
    if how == "cancel":
        raise asyncio.CancelledError
    if how == "interrupt":
        raise KeyboardInterrupt
    pid = os.fork()
    if pid == 0:
        sys.exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("exit", "SystemExit: 3"),
        ("cancel", "CancelledError: something that the block waited for was cancelled"),
        ("interrupt", "KeyboardInterrupt"),
    ],
)
def test_a_plain_function_that_ends_the_program_fails(run: Run, how: str, says: str) -> None:
    outcome = run("ends.program", {"how": how}, blocks=(ends_program,), repeat=2)
    assert outcome == Failed("block-failed", says, "none")


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_copy_of_the_child_ends_as_it_likes(run: Run) -> None:
    assert result(run("ends.program", {"how": "fork"}, blocks=(ends_program,), repeat=2)) == 7


def test_a_class_with_a_plain_method_keeps_its_object_in_the_child(run: Run) -> None:
    calls, pid = result(run("calls.counted", {}, blocks=(Counted,), repeat=3))
    assert calls == 3
    assert pid != os.getpid()


def test_a_class_whose_object_cannot_be_made_in_the_child_has_done_nothing(run: Run) -> None:
    outcome = run("no.object", {}, blocks=(NoObject,))
    assert failure(outcome) == ("block-failed", "none")
    assert "its class is made without arguments, and that fails: OSError: no connection" in outcome.message  # type: ignore[union-attr]


def test_the_manifest_describes_the_blocks_to_the_analyzer() -> None:
    manifest = Registry([resize, upper, Counter]).manifest()
    assert sorted(manifest["blocks"]) == ["counter", "image.resize", "text.upper"]
    specs, problems = load_manifest(msgspec.json.encode(manifest))
    assert problems == ()
    spec = specs["image.resize"]
    assert spec.doc == "Resizes a picture."
    assert spec.cost_units == 3
    assert spec.secret_results == (("token",),)
    assert spec.params["required"] == ["path", "size"]
    assert spec.params["additionalProperties"] is False
    assert spec.params["properties"]["size"]["properties"]["width"] == {"type": "integer"}
    assert spec.result is not None
    assert spec.result["properties"]["token"]["type"] == "string"
    assert specs["text.upper"].effects is False


def test_a_block_that_cannot_be_described_or_found_is_refused_with_the_reason() -> None:
    @block("inner")
    def inner(a: int) -> int:
        return a

    @block("bare")
    def bare(a) -> int:  # type: ignore[no-untyped-def]
        return 1

    @block("endless")
    def endless(*args: int) -> int:
        return 1

    @block("silent")
    async def silent(a: int):  # type: ignore[no-untyped-def]
        return 1

    for target, says in ((inner, "top of a module"), (bare, '"a" needs a type'), (endless, "named")):
        with pytest.raises(TypeError, match=says):
            Registry([target])
    with pytest.raises(TypeError, match="result"):
        Registry([silent])
    with pytest.raises(TypeError, match="mark it"):
        Registry([len])
    with pytest.raises(ValueError, match="built-in"):
        block("http")
    with pytest.raises(ValueError, match="no block name"):
        block("two words")


def test_one_name_belongs_to_one_block() -> None:
    @block("counter")
    async def other(a: int) -> int:
        return a

    registry = Registry([Counter])
    with pytest.raises(ValueError, match="Two blocks"):
        registry.add(other)


def test_a_program_can_offer_its_own_blocks(tmp_path: Path) -> None:
    program = tmp_path / "host.py"
    program.write_text(
        "import asyncio\n"
        "from interlock.engine.blocks import Context, Registry, block\n"
        "from interlock.engine.blocks.children import Children\n"
        "from interlock.engine.blocks.running import run_block\n"
        "@block('double')\n"
        "def double(n: int) -> int:\n"
        "    return 2 * n\n"
        "async def main():\n"
        "    children = Children()\n"
        "    context = Context(services={'children': children})\n"
        "    print(await run_block(Registry([double]), 'double', {'n': 4}, context))\n"
        "    await children.close()\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(main())\n"
    )
    import subprocess

    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert "result=8" in done.stdout, done.stderr
