"""The hooks, tried with the real pre-commit in a scratch repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_support import put

PROJECT = Path(__file__).parents[3]

ORDER = """\
workflow: {name}
steps:
  - id: one
    concurrency: {{resource: {first}, lifetime: run}}
  - id: two
    concurrency: {{resource: {second}, lifetime: run}}
"""
WRONG = "workflow: wrong\nsteps:\n  - id: x\n    blok: log\n    params: {message: hi}\n"

#: What an installer says when it cannot reach a registry, or finds nothing in it.
UNREACHABLE = re.compile(
    r"No matching distribution found|Could not find a version|Temporary failure in name resolution|"
    r"NewConnectionError|ConnectTimeout|Network is unreachable|ProxyError|Could not fetch URL"
)


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, env=environment)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds what a user of the hooks would get."""
    folder = tmp_path_factory.mktemp("hooks")
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("analyzer", "engine", "server"):
        shutil.copytree(PROJECT / name, folder / name, ignore=skipped)
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-f", ".")
    git(folder, "commit", "-qm", "hooks")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


def try_hooks(folder: Path, hooks: Path, home: Path, *files: str) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"PRE_COMMIT_HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PRE_COMMIT_COLOR": "never"}
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--verbose", "--files", *files],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode == 3 and UNREACHABLE.search(said):
        pytest.skip("no registry to install the hooks' environment from")
    assert done.returncode in (0, 1), said
    return done.returncode, said


def test_the_hooks_check_and_mend_and_see_the_whole_workspace(tmp_path: Path, hooks: Path, home: Path) -> None:
    put(
        tmp_path,
        {
            "a.workflow.yaml": ORDER.format(name="a", first="k", second="l"),
            "b.workflow.yaml": ORDER.format(name="b", first="l", second="k"),
            "c.workflow.yaml": WRONG,
            "other.yaml": WRONG,
        },
    )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    code, said = try_hooks(tmp_path, hooks, home, "a.workflow.yaml", "c.workflow.yaml", "other.yaml")
    assert code == 1
    checked, mended = said.split("hook id: interlock-fix")
    assert "hook id: interlock-check" in checked
    found = [
        re.findall(r"^(\S+?):\d+:\d+: (?:error|warning)\[(.+?)\]", part, re.MULTILINE) for part in (checked, mended)
    ]
    cycle = [("a.workflow.yaml", "lock-order-cycle"), ("b.workflow.yaml", "lock-order-cycle")]
    assert found[0] == [*cycle, ("c.workflow.yaml", "unknown-field")]  # of the whole workspace
    assert found[1] == cycle[:1]  # of the files that are mended, seen with the others
    assert "files were modified by this hook" in mended
    assert (tmp_path / "c.workflow.yaml").read_text() == WRONG.replace("blok", "block")
    assert (tmp_path / "other.yaml").read_text() == WRONG


def test_a_commit_that_deletes_a_workflow_is_checked_too(tmp_path: Path, hooks: Path, home: Path) -> None:
    put(
        tmp_path,
        {
            "p.workflow.yaml": "workflow: p\nsteps: [{id: r, run_workflow: {workflow: gone, result_key: out}}]\n",
            "notes.txt": "x",
        },
    )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    code, said = try_hooks(tmp_path, hooks, home, "notes.txt")
    assert code == 1
    assert "error[unknown-workflow]" in said
