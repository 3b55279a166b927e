"""The service that docs/production.md shows: systemd understands it, and a stop is left to the worker."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "production.md"


def unit() -> str:
    found = re.search(r"```ini\n(\[Unit\].*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_service_leaves_the_commands_of_blocks_to_the_worker() -> None:
    """By default systemd signals every process of a service, and a command at work would end at once."""
    service = ConfigParser(interpolation=None)
    service.optionxform = str  # type: ignore[assignment, method-assign]
    service.read_string(unit())
    assert service["Service"]["KillMode"] == "mixed"
    grace = re.search(r"default: (\d+)", _help("--grace"))
    assert grace is not None
    assert int(service["Service"]["TimeoutStopSec"]) > int(grace[1])
    for option in re.findall(r"--[a-z]+", service["Service"]["ExecStart"]):
        assert _help(option)


@cache
def _options() -> str:
    program = [sys.executable, "-m", "interlock.server.cli.main", "worker", "--help"]
    text = subprocess.run(program, capture_output=True, text=True, check=True).stdout.partition("options:")[2]
    return " ".join(text.split())


def _help(option: str) -> str:
    found = re.search(rf"{option} .*?(?= --|$)", _options())
    return found[0] if found is not None else ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_service(tmp_path: Path) -> None:
    program = shutil.which("true")
    text, times = re.subn(r"(?m)^ExecStart=\S+", f"ExecStart={program}", unit())
    assert times == 1
    file = tmp_path / "interlock-worker.service"
    file.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if file.name in line]) == (0, [])
