"""What git knows of a workspace: the files that changed since a revision."""

from __future__ import annotations

import os
import subprocess

from interlock.analyzer.workspace import Workspace, member_filter
from interlock.server.cli.main import UsageError


def changed_only(space: Workspace, revision: str) -> Workspace:
    """The workspace with only those files asked for that differ from the revision, or are new."""
    changed = changed_files(space.root.folder, revision)
    return member_filter(space, lambda one: os.path.realpath(one.path) in changed)


def changed_files(folder: str, revision: str) -> set[str]:
    """The real paths of files that differ from a revision, and of those that git does not track yet."""
    if revision.startswith("-"):
        raise UsageError(f'--changed-since: "{revision}" is no revision')
    top = _git(folder, "rev-parse", "--show-toplevel").rstrip("\n")
    tracked = _git(folder, "diff", "--name-only", "-z", "--diff-filter=d", revision, "--")
    others = _git(top, "ls-files", "--others", "--exclude-standard", "-z", "--")
    names = [name for name in (tracked + others).split("\0") if name]
    return {os.path.realpath(os.path.join(top, name)) for name in names}


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise UsageError("--changed-since needs git, and there is none on the PATH") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise UsageError(f"--changed-since: {lines[0].removeprefix('fatal: ')}")
    return os.fsdecode(done.stdout)
