"""Settings and manifests of blocks as somebody is writing them: what is wrong is told there, the rest holds.

What was read last without a fault stands in for a file that cannot be read at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from lsprotocol import types as lsp

from interlock.analyzer.cache import digest
from interlock.analyzer.config import SHARED_FILE, Config, Fault, usable_config
from interlock.analyzer.language.blocks import BlockSpec, load_manifest
from interlock.analyzer.source.text import SourceText
from interlock.server.lsp.convert import range_of
from interlock.server.lsp.document import Encoding, Lines

_FILES = frozenset({"interlock.toml", "pyproject.toml", "interlock.blocks.json"})


def is_settings(path: str) -> bool:
    """Whether a file may hold what a workspace is configured to."""
    return os.path.basename(path) in _FILES


class Manifests:
    """The blocks of a workspace.

    ``content`` stands for them in the cache, ``texts`` are what is read of the manifests by path, ``faults`` the
    text on disk and what is wrong with it, by path.
    """

    def __init__(self) -> None:
        self.specs: dict[str, BlockSpec] = {}
        self.content = b""
        self.texts: dict[str, str] = {}
        self.faults: dict[str, tuple[str, list[Fault]]] = {}


class Known:
    """What was read last of each settings file without a fault."""

    def __init__(self) -> None:
        self._configs: dict[str, Config] = {}
        self._manifests: dict[str, bytes] = {}

    def config(self, path: str, shown: str) -> Config:
        """The configuration of a file, as far as it can be used."""
        found = usable_config(path, shown, last=self._configs.get(path))
        if not found.faults:
            self._configs[path] = found
        return found

    def manifests(self, paths: Iterable[str]) -> Manifests:
        """The blocks that manifests describe; of one that is no JSON those that it described last."""
        found = Manifests()
        contents: list[bytes] = []
        for path in paths:
            try:
                with open(path, "rb") as file:
                    data = file.read()
                faults = manifest_faults(data)
            except OSError as error:
                reason = (error.strerror or "input/output error").lower()
                data, faults = b"", [Fault(f"The manifest of blocks cannot be read: {reason}.", 0, 0)]
            if faults:
                found.faults[os.path.abspath(path)] = data.decode("utf-8", "replace"), faults
            specs, _ = load_manifest(data)
            if specs or not faults:
                self._manifests[path] = data
            data = self._manifests.get(path, data)
            contents.append(digest(data))
            found.texts[os.path.abspath(path)] = data.decode("utf-8", "replace")
            found.specs.update(load_manifest(data)[0])
        found.content = digest(b"".join(contents))
        return found


def manifest_faults(data: bytes) -> list[Fault]:
    """What is wrong with a manifest of blocks, at the line where that is known."""
    faults: list[Fault] = []
    for problem in load_manifest(data)[1]:
        at = len(data[: problem.offset or 0].decode("utf-8", "replace"))
        where = f"{problem.where}: " if problem.where else ""
        faults.append(Fault(where + problem.message, at, at))
    return faults


def rows(text: str, encoding: Encoding, faults: Iterable[Fault]) -> list[lsp.Diagnostic]:
    """Faults of a text as diagnostics of the protocol."""
    lines = Lines(text, encoding)
    return [
        lsp.Diagnostic(
            range_of(lines, one.start, one.end), one.message, lsp.DiagnosticSeverity.Error, source="interlock"
        )
        for one in faults
    ]


def config_of_text(path: str, text: str) -> Config | None:
    """The configuration that an open text makes; None where it holds none."""
    if os.path.basename(path) == SHARED_FILE and "[tool.interlock" not in text:
        return None
    return usable_config(path, path, SourceText(path, text))
