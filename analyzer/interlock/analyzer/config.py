"""The configuration of a workspace: ``interlock.toml``, or ``[tool.interlock]`` of a pyproject.toml.

Finds the file, reads and checks it, and applies what it says to diagnostics.  Nothing is imported
for TOML where there is no such file.  Which files are workflow files is decided in ``workspace``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import msgspec

from interlock.analyzer.diagnostics import Diagnostic, PlacedFix, TextEdit
from interlock.analyzer.findings import sentence
from interlock.analyzer.globs import Globs, problem
from interlock.analyzer.language.nearest import nearest
from interlock.analyzer.rules.catalog import RULES, Rule, advice, can_suppress, find_rule
from interlock.analyzer.source.text import SourceText

T = TypeVar("T")
Level: TypeAlias = Literal["error", "warning", "hint", "off"]

DEFAULT_PATTERNS = ("*.workflow.yaml", "*.workflow.yml")
OWN_FILE = "interlock.toml"
SHARED_FILE = "pyproject.toml"
DEFAULT_MANIFEST = "interlock.blocks.json"
KEYS = ("patterns", "exclude", "select", "ignore", "severity", "per-file-ignores", "blocks")
MOST_BYTES = 4 * 1024 * 1024
_LEVELS = ("error", "warning", "hint", "off")


class ConfigError(Exception):
    """A setting that cannot be used; its text is one line and names the file and the line."""


class Fault(msgspec.Struct, frozen=True):
    """What cannot be used in a settings file, as a sentence, and the offsets that it is about."""

    message: str
    start: int
    end: int


class Config(msgspec.Struct, frozen=True):
    """What a workspace is configured to.

    ``select`` of None means every rule; ``severity`` and the ignores hold codes, and only of rules
    that may be touched (section 13).  ``manifests`` are absolute paths.  ``problems`` are IL702 and
    IL703 for settings.  ``path`` is the file, None where there is none.  ``faults`` are there only where
    settings that cannot be used are put up with.
    """

    path: str | None = None
    patterns: tuple[str, ...] = DEFAULT_PATTERNS
    exclude: tuple[str, ...] = ()
    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    severity: dict[str, Level] = {}
    per_file_ignores: tuple[tuple[str, frozenset[str]], ...] = ()
    manifests: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    source: SourceText | None = None
    faults: tuple[Fault, ...] = ()


def has_settings(folder: str) -> str | None:
    """The configuration file of exactly this folder, or None."""
    path = os.path.join(folder, OWN_FILE)
    if os.path.isfile(path):
        return path
    path = os.path.join(folder, SHARED_FILE)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES)
    except OSError:
        return None
    if b"interlock" not in data or b"tool" not in data:
        return None
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        # Broken, and it may be ours: reading it says so, with its line.
        return path if b"[tool.interlock" in data else None
    tool = document.get("tool")
    return path if isinstance(tool, dict) and "interlock" in tool else None


def load_config(path: str | None, shown: str | None = None, *, root: str | None = None) -> Config:
    """Reads a configuration; ``shown`` is how messages name the file.

    Without a ``path`` it is the default one, for a workspace at ``root``.  Raises ``ConfigError``.
    """
    if path is None:
        return Config(manifests=_beside(root)) if root is not None else Config()
    return read_config(path, _text(path, shown or path))


def _text(path: str, shown: str) -> SourceText:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{shown}:1: cannot be read: {(error.strerror or 'input/output error').lower()}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown}:1: cannot be read: it is not UTF-8") from error
    if len(data) > MOST_BYTES:
        raise ConfigError(f"{shown}:1: cannot be read: it is larger than 4 MiB")
    return SourceText(shown, text)


def read_config(path: str, source: SourceText) -> Config:
    """The configuration that a text makes, as the file at ``path``.  Raises ``ConfigError``."""
    return _Reader(path, source, None).read()


def usable_config(path: str, shown: str, source: SourceText | None = None, last: Config | None = None) -> Config:
    """What can be used of a configuration that somebody is writing; its ``faults`` say what cannot.

    A setting with a fault counts as not written; of a file that is no TOML the ``last`` configuration holds, or
    else the default one.  ``source`` is its text where that is not the one on disk.
    """
    faults: list[Fault] = []
    try:
        source = source or _text(path, shown)
        return _Reader(path, source, faults).read()
    except ConfigError as error:
        if not faults:
            faults.append(Fault(_sentence(str(error), shown), 0, 0))
        config = last or Config(path, manifests=_beside(os.path.dirname(os.path.abspath(path))))
        source = source or SourceText(shown, "")
        return msgspec.structs.replace(config, problems=(), source=source, faults=tuple(faults))


def _sentence(text: str, shown: str) -> str:
    """A message without the file and the line that it begins with."""
    text = text.removeprefix(shown).lstrip(":0123456789 ")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _beside(folder: str) -> tuple[str, ...]:
    path = os.path.join(folder, DEFAULT_MANIFEST)
    return (path,) if os.path.isfile(path) else ()


class _Reader:
    """With a list of ``faults``, what is wrong with a setting goes there, and the others are read."""

    def __init__(self, path: str, source: SourceText, faults: list[Fault] | None) -> None:
        from interlock.analyzer.toml_places import Path

        self.path = path
        self.folder = os.path.dirname(os.path.abspath(path))
        self.source = source
        self.faults = faults
        self.prefix: Path = ("tool", "interlock") if os.path.basename(path) == SHARED_FILE else ()
        self.problems: list[Diagnostic] = []

    def read(self) -> Config:
        import tomllib

        from interlock.analyzer.toml_places import Places

        try:
            data: Any = tomllib.loads(self.source.text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            line, message = _not_toml(str(error), self.source.text)
            raise self.fault(*_line(self.source, line), line, message) from error
        except RecursionError as error:
            raise ConfigError(f"{self.source.path}:1: its values are nested too deeply to be read") from error
        self.places = Places(self.source.text)
        for part in self.prefix:
            data = data.get(part, {})
            if not isinstance(data, dict):
                self.fail((*self.prefix,), '"tool.interlock" must be a table of settings')
        for key in data:
            self.usable(partial(self.known, key), data, None)
        selected: frozenset[str] | None = None
        return Config(
            self.path,
            self.usable(lambda data: self.globs(data, "patterns"), data, ()) or DEFAULT_PATTERNS,
            self.usable(lambda data: self.globs(data, "exclude"), data, ()),
            self.usable(self.selected, data, selected),
            self.usable(lambda data: self.ignored(self.rules(data, "ignore"), ("ignore",)), data, frozenset()),
            self.usable(self.severities, data, {}),
            self.usable(self.per_file, data, ()),
            self.usable(self.manifests, data, _beside(self.folder)),
            tuple(self.problems),
            self.source,
            tuple(self.faults or ()),
        )

    def usable(self, read: Callable[[dict[str, Any]], T], data: dict[str, Any], default: T) -> T:
        """What a setting says; the default of one that cannot be used, where that is put up with."""
        try:
            return read(data)
        except ConfigError:
            if self.faults is None:
                raise
            return default

    def known(self, key: str, data: dict[str, Any]) -> None:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f'; did you mean "{near}"?' if near else f"; there are {', '.join(KEYS)}"
            self.fail((*self.prefix, key), f'there is no setting "{key}"{hint}', at_key=True)

    def selected(self, data: dict[str, Any]) -> frozenset[str] | None:
        if "select" not in data:
            return None
        return frozenset(rule.code for rule in self.rules(data, "select") if rule is not None)

    def fail(self, path: tuple[str | int, ...], text: str, *, at_key: bool = False) -> NoReturn:
        start, end = self.places.keys.get(path, self.places.of(path)) if at_key else self.places.of(path)
        raise self.fault(start, end, self.source.position(start).line, text)

    def fault(self, start: int, end: int, line: int, text: str) -> ConfigError:
        """An error at a place; where faults are collected, it is one of them."""
        if self.faults is not None:
            self.faults.append(Fault(_sentence(text, ""), start, end))
        return ConfigError(f"{self.source.path}:{line}: {text}")

    def texts(self, data: dict[str, Any], key: str, *where: str) -> list[str]:
        path = (*self.prefix, *where, key)
        value = data.get(key, [])
        name = ".".join((*where, key))
        if not isinstance(value, list):
            self.fail(path, f'"{name}" must be a list of texts, such as {key} = ["…"]')
        for number, item in enumerate(value):
            if not isinstance(item, str):
                self.fail((*path, number), f'"{name}" must be a list of texts, and {item!r} is none')
        return value

    def globs(self, data: dict[str, Any], key: str) -> tuple[str, ...]:
        found = self.texts(data, key)
        for number, pattern in enumerate(found):
            self.check_pattern(pattern, (*self.prefix, key, number))
        return tuple(found)

    def check_pattern(self, pattern: str, path: tuple[str | int, ...]) -> None:
        why = problem(pattern)
        if why is not None:
            self.fail(path, f'"{pattern}" is no pattern for paths: {why}', at_key=True)

    def rules(self, data: dict[str, Any], key: str, *where: str) -> list[Rule | None]:
        """The rules of a list, None for each name that stands for none (which is reported)."""
        path = (*self.prefix, *where, key)
        return [self.rule(name, (*path, number)) for number, name in enumerate(self.texts(data, key, *where))]

    def rule(self, name: str, path: tuple[str | int, ...], *, at_key: bool = False) -> Rule | None:
        rule = find_rule(name)
        if rule is None:
            self.report("IL702", path, f'No rule is called "{name}".', sentence(advice(name)), at_key)
        return rule

    def ignored(self, found: list[Rule | None], where: tuple[str, ...]) -> frozenset[str]:
        codes = []
        for number, rule in enumerate(found):
            if rule is None:
                continue
            if can_suppress(rule):
                codes.append(rule.code)
            else:
                self.report("IL703", (*self.prefix, *where, number), *cannot(rule), False)
        return frozenset(codes)

    def report(self, code: str, path: tuple[str | int, ...], text: str, hint: str, at_key: bool) -> None:
        start, end = self.places.keys.get(path, (0, 0)) if at_key else self.places.of(path)
        first, last = self.source.position(start), self.source.position(end)
        rule = RULES[code]
        fix = self.removal(path) if code == "IL703" else None
        self.problems.append(
            Diagnostic(
                code, rule.name, rule.severity, text, hint, self.source.path, *first, *last, start, end, (), fix
            )
        )  # fmt: skip

    def removal(self, path: tuple[str | int, ...]) -> PlacedFix | None:
        from interlock.analyzer.toml_removal import removal

        gone = removal(self.source.text, self.places, path)
        if gone is None:
            return None
        first, last = (self.source.position(offset) for offset in gone)
        return PlacedFix("Remove the setting", (TextEdit(self.source.path, *first, *last, ""),))

    def severities(self, data: dict[str, Any]) -> dict[str, Level]:
        levels: dict[str, Level] = {}
        for name, level in self.table(data, "severity").items():
            path = (*self.prefix, "severity", name)
            if level not in _LEVELS:
                self.fail(path, f'the severity of "{name}" must be one of {", ".join(_LEVELS)}')
            rule = self.rule(name, path, at_key=True)
            if rule is None:
                continue
            if can_suppress(rule):
                levels[rule.code] = level
            elif level != "error":
                self.report("IL703", path, *cannot(rule), True)
        return levels

    def per_file(self, data: dict[str, Any]) -> tuple[tuple[str, frozenset[str]], ...]:
        table = self.table(data, "per-file-ignores")
        found: list[tuple[str, frozenset[str]]] = []
        for pattern in table:
            self.check_pattern(pattern, (*self.prefix, "per-file-ignores", pattern))
            rules = self.rules(table, pattern, "per-file-ignores")
            found.append((pattern, self.ignored(rules, ("per-file-ignores", pattern))))
        return tuple(found)

    def table(self, data: dict[str, Any], key: str) -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            self.fail((*self.prefix, key), f'"{key}" must be a table')
        return value

    def manifests(self, data: dict[str, Any]) -> tuple[str, ...]:
        if "blocks" not in data:
            return _beside(self.folder)
        found = []
        for number, name in enumerate(self.texts(data, "blocks")):
            path = os.path.join(self.folder, name)
            if not os.path.isfile(path):
                self.fail((*self.prefix, "blocks", number), f'there is no manifest of blocks at "{name}"')
            found.append(path)
        return tuple(found)


def cannot(rule: Rule) -> tuple[str, str]:
    """What is said, and advised, about a setting that would silence an error of the language."""
    return (
        f'"{rule.name}" is an error of the language: the engine refuses it, so no setting can silence it.',
        "Remove the setting.",
    )


def _not_toml(message: str, text: str) -> tuple[int, str]:
    """The line of what is no TOML, and what is wrong with it."""
    import re

    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", message)
    line = int(found[1]) if found and found[1] else text.rstrip("\n").count("\n") + 1
    what = message[: found.start()] if found else message
    return line, f"not TOML: {what[:1].lower()}{what[1:]}"


def _line(source: SourceText, number: int) -> tuple[int, int]:
    """Where the text of a line begins and ends."""
    starts = [*source.line_starts, len(source.text)]
    start = starts[min(number, len(starts) - 1) - 1]
    text = source.text[start : starts[min(number, len(starts) - 1)]]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


class Choice(msgspec.Struct, frozen=True):
    """What the command line adds: rules that are asked for alone, and rules to leave out."""

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()


class Settings:
    """A configuration and the command line's choice, as one filter of diagnostics."""

    def __init__(self, config: Config, choice: Choice | None = None) -> None:
        self.config = config
        self.choice = choice or Choice()
        self._ignores = [(Globs([pattern], folders=True), codes) for pattern, codes in config.per_file_ignores]

    def apply(self, found: Iterable[Diagnostic], relative: dict[str, str]) -> list[Diagnostic]:
        """The diagnostics that are reported, with their severities.

        ``relative`` gives the path from the workspace's root for each file that is told of.
        """
        kept = []
        for one in found:
            level = self._level(one, relative.get(one.file, one.file))
            if level == "off":
                continue
            kept.append(one if level == one.severity else msgspec.structs.replace(one, severity=level))
        return kept

    def _level(self, one: Diagnostic, path: str) -> Level:
        """A question asked on the command line is answered with nothing else; what is configured
        chooses among the rules that may be touched, so that what the engine refuses stays said."""
        code, config = one.code, self.config
        if self.choice.select is not None and code not in self.choice.select:
            return "off"
        if not can_suppress(RULES[code]):
            return one.severity
        if self.choice.select is None and config.select is not None and code not in config.select:
            return "off"
        if code in self.choice.ignore or (code in config.ignore and self.choice.select is None):
            return "off"
        if any(code in codes and globs.match(path) for globs, codes in self._ignores):
            return "off"
        return config.severity.get(code, one.severity)
