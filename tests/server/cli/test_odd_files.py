"""Files, streams and settings that no person meant: one sentence, in bounded time, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from check_support import Run, put

CLEAN = "workflow: clean\nsteps:\n  - id: x\n    block: log\n    params: {message: hi}\n"
COMMAND = [sys.executable, "-m", "interlock.server.cli.main", "check", "--no-cache"]

posix = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the devices of Linux")


@posix
def test_a_file_without_an_end_is_too_large(run: Run) -> None:
    done = run("check", "/dev/zero")
    assert done.code == 2
    assert 'interlock check: "/dev/zero" cannot be read: it is too large' in done.err


@posix
def test_a_pipe_that_nobody_writes_into_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    done = run("check", "pipe.yaml")
    assert done.code == 1
    assert "missing-field" in done.out


def test_a_pipe_that_somebody_writes_into_is_read(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, CLEAN.encode())
    os.close(writing)
    path = f"/dev/fd/{reading}"
    if not os.path.exists(path):
        pytest.skip("needs /dev/fd")
    done = subprocess.run([*COMMAND, path], cwd=tmp_path, pass_fds=[reading], capture_output=True, timeout=60)
    os.close(reading)
    assert (done.returncode, done.stdout) == (0, b"Clean: 1 file checked, nothing found.\n")


@posix
def test_a_full_disk_under_the_report_is_one_sentence(tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN})
    with open("/dev/full", "wb") as full:
        done = subprocess.run(COMMAND, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"interlock check: no space left on device\n")


@posix
@pytest.mark.parametrize(
    ("closed", "said", "code"),
    [("0<&-", b"interlock check: there is no stdin to read\n", 2), (">&-", b"", 1), ("2>&- >&-", b"", 1)],
)
def test_streams_may_be_closed(tmp_path: Path, closed: str, said: bytes, code: int) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN.replace("block", "blok")})
    path = "-" if closed.startswith("0") else "a.workflow.yaml"
    line = f'exec "$@" {path} {closed}'
    done = subprocess.run(["bash", "-c", line, "bash", *COMMAND], cwd=tmp_path, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (code, said)


def test_settings_and_baselines_of_any_depth_are_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN, "b.json": "[" * 100_000, "interlock.toml": ""})
    assert run("check", "--baseline", "b.json").err.count("\n") == 1
    put(tmp_path, {"interlock.toml": "x = " + "[" * 5000})
    done = run("check")
    assert done.code == 2
    assert done.err == "interlock check: interlock.toml:1: its values are nested too deeply to be read\n"


# -- what is no workflow at all -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("server.py", '"""Serves: things."""\n\nimport os\n\nworkflows = {"a": 1}\n'),
        ("notes.txt", "The steps are these:\n\n- one\n- two\n"),
        ("Makefile", "all:\n\techo hi\n"),
    ],
)
def test_a_file_of_another_kind_is_one_line(run: Run, tmp_path: Path, name: str, text: str) -> None:
    put(tmp_path, {name: text})
    done = run("check", name)
    assert (done.code, done.out) == (2, "")
    assert done.err == f'interlock check: "{name}" is no workflow file: it has neither "workflow" nor "steps".\n'


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("flow.txt", "workflow: w\nsteps: [{id: a, block: log, params: {message: hi}}]\n", 0),
        ("flow.txt", "{'workflow': w, steps: [{id: a, block: log, params: {message: hi}}]}\n", 0),
        ("flow.txt", "# interlock: workflow\ntsk: 1\n", 1),
        ("flow.txt", "\n", 1),
        ("flow.yml", "just words\n", 1),
    ],
)
def test_a_workflow_may_have_any_name(run: Run, tmp_path: Path, name: str, text: str, code: int) -> None:
    put(tmp_path, {name: text})
    done = run("check", name)
    assert (done.code, done.err) == (code, "")


def test_a_picture_says_when_it_may_lack_a_part(run: Run, tmp_path: Path) -> None:
    whole = "workflow: w\nsteps:\n  - id: a\n    block: log\n    params: {message: '{b.x}'}\n"
    put(tmp_path, {"a.workflow.yaml": whole, "b.workflow.yaml": whole + "  - id: [b\n"})
    assert run("graph", "a.workflow.yaml")[::2] == (0, "")
    done = run("graph", "b.workflow.yaml")
    assert (done.code, done.out[:9]) == (1, "flowchart")
    assert done.err.startswith('interlock graph: "b.workflow.yaml" has ')
    assert done.err.endswith("so the picture may lack a part; interlock check tells more\n")
