"""The claims of agreement, each for one seed: what does not hold, as sentences; nothing where all does.

Tests and campaigns call the same functions, so what a campaign finds replays as a test:
``python -m agreement.campaign --seed S --count 1``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import agreement.plant_form
import agreement.plant_names
import agreement.plant_runs  # noqa: F401  (the three fill the catalogue)
from agreement.blocks import SPECS
from agreement.drive import CALM, ROUGH, Drive
from agreement.generate import Workspace, make
from agreement.plant import PLANTINGS, Planted, plant
from agreement.reform import changed, reformed
from agreement.write import Style, Written, write
from interlock.analyzer.analysis import FileModel, check_texts, read_file, refusing
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.fixes import apply_edits, replacement
from interlock.analyzer.source.text import SourceText
from interlock.engine.client import Engine
from interlock.engine.definition import Stored, definition_hash
from interlock.engine.errors import CallerError
from interlock.engine.project import Project, Refused

FILE = "generated.workflow.yaml"
TOLERATED = frozenset({"IL407", "IL215"})
"""Warnings that a generated workflow may have: keys are taken in one order while others are held, and
constants that meet in an expression may never be equal."""


def size_of(seed: int) -> int:
    """Small workspaces more often than large ones: mistakes show in both, and small ones are quick."""
    most = 64 if seed % 16 == 0 else 24 if seed % 4 == 0 else 12
    return 1 + (seed * 7 + seed // 5) % most


def diagnostics(text: str) -> list[Diagnostic]:
    return check_texts({FILE: text}, SPECS)


def codes(found: list[Diagnostic]) -> Counter[str]:
    return Counter(one.code for one in found)


# --- a definition without errors runs ------------------------------------------------------------


def valid(seed: int, size: int | None = None) -> list[str]:
    """The analyzer finds nothing in a generated workspace, dispatch takes it, and it runs to its end."""
    workspace = make(seed, size or size_of(seed))
    text = write(workspace.documents, Style(seed)).text
    faults = [f"{one.line}: {one.code} {one.message}" for one in diagnostics(text) if one.code not in TOLERATED]
    if faults:
        return faults
    definition = _definition(text, workspace)
    for plan in (CALM, ROUGH) if seed % 2 else (ROUGH,) if seed % 4 else (CALM,):
        drive = Drive(definition, plan, seed, watch=seed % 3 == 0)
        kind = "calm" if plan.calm else "rough"
        faults += [f"{kind}: {fault.where}: {fault.what}" for fault in drive.run()]
    return faults


def _definition(text: str, workspace: Workspace) -> Stored:
    return Project([SourceText(FILE, text)], SPECS).definition(workspace.root)


# --- one mistake, one finding --------------------------------------------------------------------


def planted(seed: int, engine: Engine, share: float = 1.0) -> Iterator[tuple[str, list[str]]]:
    """Every mistake of the catalogue that the workspace has a place for (or a share of them)."""
    rng = random.Random(seed)
    workspace = make(seed, 1 + size_of(seed) // 2)
    style = Style(seed, anchors=False, shuffled=False)
    before = codes(diagnostics(write(workspace.documents, style).text))
    for name in PLANTINGS:
        if rng.random() < share:
            mistake = plant(workspace, name, seed)
            if mistake is not None:
                yield name, judge(workspace, mistake, style, before, engine)


def judge(workspace: Workspace, mistake: Planted, style: Style, before: Counter[str], engine: Engine) -> list[str]:
    """What is wrong with how one planted mistake is told, refused and mended."""
    written = write(mistake.documents, style)
    found = diagnostics(written.text)
    faults = _told(mistake, written, found, before)
    faults += refused(written.text, mistake.documents[mistake.path[0]]["workflow"], found, engine)
    for one in found:
        if one.fix is not None:
            faults += mended(written.text, one, found)
    if mistake.restored and not faults:
        faults += _restored(workspace, mistake, written, found)
    return faults


def _told(mistake: Planted, written: Written, found: list[Diagnostic], before: Counter[str]) -> list[str]:
    more = codes(found)
    more.subtract(before)
    # Leases that a mistake adds or takes away change what may be warned of elsewhere.
    news = {code: count for code, count in more.items() if count and (code == mistake.code or code not in TOLERATED)}
    faults = []
    if news != {mistake.code: mistake.count}:
        faults.append(f"{mistake.name}: wanted {mistake.code} x {mistake.count}, got {_shown(found, news)}")
    if mistake.where == "key":
        first = last = written.keys[mistake.path]
    else:
        first, last = written.values[mistake.path]
    if not any(one.code == mistake.code and first <= one.line <= last for one in found):
        faults.append(f"{mistake.name}: {mistake.code} is not at lines {first} to {last}: {_shown(found, news)}")
    return faults


def _shown(found: list[Diagnostic], news: dict[str, int]) -> str:
    lines = [f"{one.line} {one.code} {one.message}" for one in found if one.code in news]
    return f"{news} ({'; '.join(lines[:4])})"


# --- what has errors is refused ------------------------------------------------------------------


def refused(text: str, name: str, found: list[Diagnostic], engine: Engine) -> list[str]:
    """Dispatch refuses with the errors that check shows, and acts on nothing; for anything else it does not."""
    engine.project = Project([SourceText(FILE, text)], SPECS)
    errors = {(one.code, one.line) for one in refusing(found)}
    if not errors:
        try:
            engine.project.definition(name)
        except CallerError as error:
            return [f"dispatch refuses what has no error of its own: {error}"]
        return []
    try:
        engine.dispatch(name)
    except Refused as refusal:
        said = {(one.code, one.line) for one in refusing(refusal.diagnostics)}
        faults = [] if said == errors else [f"dispatch says {said}, check says {errors}"]
    except CallerError as error:
        faults = [f"dispatch answers {error}"]
    else:
        faults = [f"dispatch takes what has {errors}"]
    stats = engine.stats()
    if any(stats.runs.values()) or stats.tasks or stats.timers or stats.inbox:
        faults.append(f"something was stored: {stats}")
    return faults


# --- fixes ---------------------------------------------------------------------------------------


def mended(text: str, one: Diagnostic, found: list[Diagnostic]) -> list[str]:
    """The fix of a diagnostic removes it, adds none, and leaves the rest of the text alone."""
    source = SourceText(FILE, text)
    change = replacement(source, one)
    if change is None:
        return [f"the fix of {one.code} at {one.line} has no edits"]
    after = apply_edits(text, change.edits)
    now, was = codes(diagnostics(after)), codes(found)
    faults = []
    if now[one.code] != was[one.code] - 1:
        faults.append(f"the fix of {one.code} at {one.line} does not remove it: {change.edits}")
    for code, count in (now - was).items():
        if code in TOLERATED:
            continue
        faults.append(f"the fix of {one.code} at {one.line} adds {count} of {code}: {change.edits}")
    edges = [(text.count("\n", 0, start), text.count("\n", 0, end)) for start, end, _ in change.edits]
    if any(last - first > 6 for first, last in edges) or len(edges) > 4:
        faults.append(f"the fix of {one.code} at {one.line} reaches far: {change.edits}")
    return faults


def _restored(workspace: Workspace, mistake: Planted, written: Written, found: list[Diagnostic]) -> list[str]:
    """The fix of a slip gives the text that was meant: without any finding that was not there before."""
    at = [one for one in found if one.code == mistake.code and one.fix is not None]
    if not at:
        return [
            f"{mistake.name}: {mistake.code} at {[one.line for one in found if one.code == mistake.code]} has no fix"
        ]
    return []


# --- what changes the hash -----------------------------------------------------------------------


def hashed(seed: int) -> list[str]:
    """Another look of the same text keeps every definition's hash; another meaning changes its own."""
    workspace = make(seed, 1 + size_of(seed) // 2)
    first = _hashes(write(workspace.documents, Style(seed)).text)
    faults = []
    for number in range(2):
        documents = reformed(workspace.documents, random.Random(f"{seed}/{number}"))
        text = write(documents, Style(seed * 31 + number)).text
        again = _hashes(text)
        if again != first:
            faults.append(
                f"form {number} has other hashes: {[name for name in first if again.get(name) != first[name]]}"
            )
    rng = random.Random(seed)
    for _ in range(4):
        what, documents = changed(workspace.documents, rng)
        other = _hashes(write(documents, Style(seed)).text)
        if other == first:
            faults.append(f"another meaning has the same hash: {what}")
    return faults


def _hashes(text: str) -> dict[str, str]:
    model: FileModel = read_file(SourceText(FILE, text))
    return {one.name.value: definition_hash(one) for one in model.workflows if one.name is not None}
