"""Runs the real command in a folder of its own, with a cache of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from check_support import Done, Run


@pytest.fixture
def run(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """``run("check", …, stdin=b"…", cwd=…, env={…})`` with the exit code and what was written."""
    cache = tmp_path_factory.mktemp("cache")

    def call(*words: str, stdin: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "interlock.server.cli.main", *words],
            input=stdin,
            capture_output=True,
            cwd=cwd or tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(cache), **(env or {})},
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        assert "Traceback" not in err, err
        return Done(done.returncode, out, err)

    return call
