"""The command line as real processes in a folder of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock.server.cli.main import main


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
    """Runs ``interlock`` in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
        self.started: list[subprocess.Popen[str]] = []

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, "utf-8")
        return name

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text("utf-8") if path.exists() else ""

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "interlock.server.cli.main", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=more.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[str], timeout: float = 60) -> Done:
        out, err = process.communicate(timeout=timeout)
        done = Done(process.returncode, out, err)
        assert "Traceback" not in out + err, done
        return done

    def __call__(self, *words: str) -> Done:
        return self.end(self.start(*words))

    def run_id(self) -> str:
        """The newest run."""
        run: str = self("runs", "--json").json[0]["run"]
        return run

    def until(self, what: str, condition: Any, seconds: float = 40) -> Any:
        """Wait for something that a process of the test brings about."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if found := condition():
                return found
            time.sleep(0.05)
        raise AssertionError(f"it never came: {what}")

    def status(self, run: str) -> Any:
        return self("status", run, "--json").json


class Inside(Shell):
    """Runs commands in this process: as `Shell`, without the start of a process for each."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        self.capture = capture

    def __call__(self, *words: str) -> Done:
        try:
            code = main(list(words))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        out, err = self.capture.readouterr()
        return Done(code, out, err)


@pytest.fixture
def inside(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delenv("INTERLOCK_KEY", raising=False)
    shell = Inside(tmp_path, capsys)
    yield shell
    kill(shell)


def kill(shell: Shell) -> None:
    """What a test has started ends with it, also where it fails."""
    for process in shell.started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


@pytest.fixture
def interlock(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    kill(shell)
