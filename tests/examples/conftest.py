"""The examples in a folder of their own, the other side that they talk to, and ``interlock`` as processes."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.engine.client import Engine

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


server = _load("examples_server", EXAMPLES / "server.py")


class Done:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


class Shell:
    """Runs ``interlock`` in a folder that holds the examples, against one store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        self.environment["CMS_TOKEN"] = "cms-token-of-the-demo"
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "interlock.server.cli.main", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[str], timeout: float = 90) -> Done:
        out, err = process.communicate(timeout=timeout)
        done = Done(process.returncode, out, err)
        assert "Traceback" not in out + err, done
        return done

    def __call__(self, *words: str) -> Done:
        return self.end(self.start(*words))

    def line_of(self, process: subprocess.Popen[str], part: str) -> str:
        """What a command wrote up to a line with this in it."""
        assert process.stdout is not None
        read = ""
        for line in process.stdout:
            read += line
            if part in line:
                return read
        raise AssertionError(f"{part!r} never came: {read}")

    def dispatch(self, file: str, *words: str, **inputs: Any) -> str:
        """Put a run into the store; its id."""
        done = self("dispatch", file, *words, *given(inputs))
        assert done.code == 0, done
        return done.out.split()[0]

    def worker(self, *words: str) -> subprocess.Popen[str]:
        return self.start("worker", *words)

    def stop(self, worker: subprocess.Popen[str]) -> Done:
        """Ask a worker to end, and let it."""
        worker.send_signal(signal.SIGTERM)
        done = self.end(worker)
        assert done.code == 0, done
        return done

    def until(self, what: str, condition: Any, seconds: float = 60) -> Any:
        """Wait for something that a process of the test brings about."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if found := condition():
                return found
            time.sleep(0.1)
        raise AssertionError(f"it never came: {what}")

    def status(self, run: str) -> Any:
        """The status as `interlock status --json` shows it, without a process for each look."""
        with Engine(f"sqlite:///{self.folder}/.interlock/state.db", make=False) as engine:
            return msgspec.json.decode(msgspec.json.encode(engine.status(run)))

    def until_status(self, run: str, *statuses: str) -> Any:
        """The status of a run once it is one of these."""
        shown: dict[str, Any] = {}

        def look() -> bool:
            shown.update(self.status(run))
            return shown["status"] in statuses

        try:
            self.until(f"{run} {statuses}", look)
        except AssertionError:
            raise AssertionError(f"{run} is not {statuses} but {shown}") from None
        return shown

    def kinds(self, run: str) -> list[str]:
        """The events of a run by kind, in order."""
        lines = self("events", run, "--json").out.splitlines()
        return [json.loads(line)["kind"] for line in lines]

    def stored(self) -> bytes:
        """Every byte of the store."""
        return b"".join(path.read_bytes() for path in sorted((self.folder / ".interlock").iterdir()))

    def change(self, file: str, old: str, new: str) -> str:
        """A copy of an example with one thing changed, in place of it."""
        path = self.folder / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), "utf-8")
        return file


def given(inputs: dict[str, Any]) -> list[str]:
    """Inputs as the command line takes them."""
    words = []
    for name, value in inputs.items():
        words += ["--input", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


@pytest.fixture
def interlock(tmp_path: Path) -> Iterator[Shell]:
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__", ".interlock"))
    shell = Shell(folder)
    yield shell
    for process in shell.started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


@pytest.fixture
def outside() -> Iterator[Any]:
    with server.Outside() as made:
        yield made


@pytest.fixture
def reference() -> Any:
    """docs/make_reference.py as a module."""
    return _load("make_reference", ROOT / "docs" / "make_reference.py")
