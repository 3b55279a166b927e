"""From texts to diagnostics: what the command line, the language server and the engine call.

A file is read by itself (syntax, form, suppressions); then all files that are seen together are
judged.  Everything that a file gives by itself can be kept while its text stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from interlock.analyzer.diagnostics import Diagnostic, place
from interlock.analyzer.findings import Finding, Related, Sink, sentence
from interlock.analyzer.graph.program import Program, Unit
from interlock.analyzer.language.blocks import BUILT_IN, BlockSpec
from interlock.analyzer.model.nodes import Workflow
from interlock.analyzer.model.read import ReadSteps, read_document
from interlock.analyzer.rules.catalog import RULES, WORKSPACE_ERRORS
from interlock.analyzer.rules.registry import unit_rules, workspace_rules
from interlock.analyzer.rules.suppress import apply_suppressions
from interlock.analyzer.source.suppressions import Suppression, find_suppressions
from interlock.analyzer.source.text import SourceText, Span
from interlock.analyzer.syntax.nodes import Tree
from interlock.analyzer.syntax.parse import parse_tree


class FileModel:
    """One file: its tree, its workflows, and what is wrong with its syntax and form."""

    def __init__(self, source: SourceText, tree: Tree, before: FileModel | None = None) -> None:
        self.source = source
        self.tree = tree
        self.workflows: list[Workflow] = []
        self.findings: list[Finding] = [
            Finding(
                problem.code,
                problem.span,
                sentence(problem.message),
                sentence(problem.hint) if problem.hint is not None else None,
                tuple(Related(span, text) for span, text in problem.related),
            )
            for problem in tree.problems
        ]
        self.steps: ReadSteps = ReadSteps(before.steps if before is not None else None)
        for document in tree.documents:
            workflow, found = read_document(document, self.steps)
            self.findings.extend(found)
            if workflow is not None:
                self.workflows.append(workflow)
        if not tree.documents:
            self.findings.append(_nothing(tree))

    @cached_property
    def suppressions(self) -> tuple[Suppression, ...]:
        return find_suppressions(self.source, self.tree.comments)


def _nothing(tree: Tree) -> Finding:
    from interlock.analyzer.source.text import Piece

    piece = tree.chunks[0].piece if tree.chunks else Piece(tree.source, tree.source.text)
    return Finding(
        "IL104",
        Span(piece, 0, 0),
        'A workflow needs "workflow", and this file holds none at all.',
        "Begin it with workflow: NAME and steps.",
    )


def read_file(source: SourceText, previous: FileModel | None = None) -> FileModel:
    """Reads one file.  With ``previous``, what its text has in common with it is not parsed again."""
    return FileModel(source, parse_tree(source, previous.tree if previous is not None else None), previous)


def judge(files: Sequence[FileModel], blocks: Mapping[str, BlockSpec] | None = None) -> list[Finding]:
    """Every finding of files that are seen together, before suppressions and configuration."""
    program = program_of(files, blocks)
    findings = [finding for file in files for finding in file.findings]
    findings.extend(judge_units(program.units))
    findings.extend(judge_program(program))
    return weigh(findings)


def judge_units(units: Iterable[Unit]) -> list[Finding]:
    """What the rules of single workflows find in these."""
    findings: list[Finding] = []
    for unit in units:
        sink = Sink()
        for rule in unit_rules():
            rule(unit, sink)
        findings.extend(sink.findings())
    return findings


def judge_program(program: Program) -> list[Finding]:
    """What the rules of the whole workspace find."""
    sink = Sink()
    for rule in workspace_rules():
        rule(program, sink)
    return sink.findings()


def program_of(files: Iterable[FileModel], blocks: Mapping[str, BlockSpec] | None = None) -> Program:
    """The workflows of files as one program; host blocks add to the built-in ones."""
    known = {**BUILT_IN, **(blocks or {})}
    return Program([workflow for file in files for workflow in file.workflows], known)


#: Of two findings at one place, the first of these codes says it better (section 13).
_BETTER: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"IL309"}), frozenset({"IL113"})),
    (frozenset({"IL308"}), frozenset({"IL402"})),
    (frozenset({"IL403", "IL404"}), frozenset({"IL401", "IL402", "IL405"})),
    (frozenset({"IL508"}), frozenset({"IL505"})),
    (frozenset({"IL409"}), frozenset({"IL414"})),
)
_WEAKEST = frozenset({"IL105", "IL206"})


def weigh(findings: list[Finding]) -> list[Finding]:
    """Without repetitions, and at each place without what a more specific code says already."""
    at: dict[tuple[object, int], set[str]] = {}
    for finding in findings:
        at.setdefault((finding.span.piece, finding.span.start), set()).add(finding.code)
    same: dict[Span, set[str]] = {}
    for finding in findings:
        if len(at[finding.span.piece, finding.span.start]) > 1:
            same.setdefault(finding.span, set()).add(finding.code)
    kept: list[Finding] = []
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        here = at[finding.span.piece, finding.span.start]
        if len(here) > 1 and _outdone(finding.code, here, same[finding.span]):
            continue
        mark = (finding.code, finding.span.piece, finding.span.start, finding.span.end, finding.message)
        if mark not in seen:
            seen.add(mark)
            kept.append(finding)
    return kept


def _outdone(code: str, here: set[str], same: set[str]) -> bool:
    """``here`` are the codes that start where this one does, ``same`` those that also end there."""
    if code in _WEAKEST and any(other not in _WEAKEST and RULES[other].severity == "error" for other in same):
        return True
    return any(code in worse and here & better for better, worse in _BETTER)


def check_texts(texts: Mapping[str, str], blocks: Mapping[str, BlockSpec] | None = None) -> list[Diagnostic]:
    """The diagnostics of texts by path, as one workspace with the default configuration."""
    files = [read_file(SourceText(path, text)) for path, text in texts.items()]
    return diagnose(files, judge(files, blocks))


def diagnose(files: Sequence[FileModel], findings: list[Finding]) -> list[Diagnostic]:
    """Findings with the suppressions of their files applied, placed, in the order of the text."""
    kept = apply_suppressions(files, findings)
    return sorted((place(finding) for finding in kept), key=lambda one: one.order)


def refusing(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics for which the engine refuses a definition (section 13)."""
    return [one for one in diagnostics if RULES[one.code].severity == "error" and one.code not in WORKSPACE_ERRORS]
