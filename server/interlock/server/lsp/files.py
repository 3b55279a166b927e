"""URIs and paths, and which documents are workflow files at all."""

from __future__ import annotations

import os
from urllib.parse import unquote

from pygls.uris import from_fs_path, to_fs_path

from interlock.analyzer.source.suppressions import has_modeline

_SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".interlock"})
_PATTERNS = (".workflow.yaml", ".workflow.yml")
_LANGUAGES = frozenset({"yaml", "yml", "interlock", "interlock-workflow", "plaintext", ""})


def path_of(uri: str) -> str | None:
    """The path of a ``file:`` URI; None for any other."""
    try:
        path = to_fs_path(uri)
    except ValueError:
        return None
    return os.path.normpath(path) if path else None


def key_of(uri: str) -> str:
    """What makes two URIs the same document: the path of a file, however it is escaped, else the URI."""
    return path_of(uri) or unquote(uri)


def uri_of(path: str) -> str:
    return from_fs_path(path) or path


def is_workflow_name(path: str) -> bool:
    return path.endswith(_PATTERNS)


def is_workflow(path: str, language: str, text: str, is_file: bool) -> bool:
    """Whether an open document is a workflow file: by its name, or by its first comment.

    A document that is no file yet counts, too, when it says ``workflow:`` at its margin.
    """
    if is_workflow_name(path) or language in ("interlock", "interlock-workflow"):
        return True
    if language not in _LANGUAGES:
        return False
    if has_modeline(text):
        return True
    return not is_file and (text.startswith("workflow:") or "\nworkflow:" in text)


def workflow_files(root: str) -> list[str]:
    """The workflow files below a folder, by name, in order; folders that cannot be read are left out."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        found.extend(os.path.join(folder, name) for name in names if is_workflow_name(name))
    return sorted(found)
