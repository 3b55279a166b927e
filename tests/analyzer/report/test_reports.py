"""The five forms of a report, and baselines."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.diagnostics import Diagnostic, RelatedPlace, place
from interlock.analyzer.findings import Finding, Related
from interlock.analyzer.report.baseline import BadBaseline, new_ones, read_baseline, write_baseline
from interlock.analyzer.report.github import render_github
from interlock.analyzer.report.json import render_json
from interlock.analyzer.report.junit import render_junit
from interlock.analyzer.report.sarif import render_sarif
from interlock.analyzer.report.text import render_text
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.rules.pages import page_of
from interlock.analyzer.source.text import Piece, SourceText, Span

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))

TEXT = """\
workflow: album.reorder
inputs: {album: string}
steps:
  - id: lock
    concurrency:
      resource: "album:{inputs.album}"
      steps:
        - id: covér
          concurrency: {resource: "é😀{inputs.albun}", lifetime: run}
        - id: save
          blok: log
          params: {message: hi}
"""


def found(text: str = TEXT) -> list[Diagnostic]:
    return check_texts({"a.workflow.yaml": text})


def everything() -> list[Diagnostic]:
    """Diagnostics of every rule, with what belongs to them."""
    return check_texts({f"dir with space/{rule.code}.workflow.yaml": page_of(rule).bad for rule in RULES.values()})


def test_the_examples_cover_the_rules() -> None:
    assert {one.code for one in everything()} == set(RULES)


# -- JSON -----------------------------------------------------------------------------------------


def test_json_has_the_shape_that_is_promised() -> None:
    report = json.loads(render_json(everything(), 85))
    assert report["version"] == 1
    assert set(report["summary"]) == {"files", "errors", "warnings", "hints"}
    assert report["summary"]["files"] == 85
    severities = Counter(one["severity"] for one in report["diagnostics"])
    assert report["summary"]["errors"] == severities["error"]
    assert report["summary"]["warnings"] == severities["warning"]
    assert report["summary"]["hints"] == severities["hint"]
    wanted = {
        "code",
        "name",
        "severity",
        "message",
        "file",
        "line",
        "column",
        "end_line",
        "end_column",
        "related",
        "fix",
    }
    for one in report["diagnostics"]:
        assert wanted <= set(one)
        assert {"message", "file", "line", "column"} <= set().union(*one["related"], wanted)
        assert one["fix"] is None or {"title", "edits"} == set(one["fix"])
    assert any(one["related"] for one in report["diagnostics"])
    assert any(one["fix"] for one in report["diagnostics"])


def test_json_counts_code_points_from_one() -> None:
    report = json.loads(render_json(found(), 1))
    member = next(one for one in report["diagnostics"] if one["name"] == "unknown-member")
    line = TEXT.split("\n")[member["line"] - 1]
    assert line[member["column"] - 1 : member["end_column"] - 1] == "albun"


# -- SARIF ----------------------------------------------------------------------------------------


def test_sarif_is_valid_by_the_published_schema() -> None:
    report = json.loads(render_sarif(everything(), "1.2.3"))
    validator = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert list(validator.iter_errors(report)) == []
    broken = json.loads(json.dumps(report))
    broken["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert list(validator.iter_errors(broken)) != []
    assert list(validator.iter_errors(json.loads(render_sarif([], "1.2.3")))) == []


def test_sarif_says_what_the_json_says() -> None:
    diagnostics = everything()
    (run,) = json.loads(render_sarif(diagnostics, "1.2.3"))["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(RULES)
    levels = {"error": "error", "warning": "warning", "hint": "note"}
    for one, result in zip(diagnostics, run["results"], strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == one.code
        assert result["level"] == levels[one.severity]
        assert result["message"]["text"].startswith(one.message)
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == one.file.replace(" ", "%20")
        assert place["region"] == {
            "startLine": one.line,
            "startColumn": one.column,
            "endLine": one.end_line,
            "endColumn": one.end_column,
        }
        assert len(result.get("relatedLocations", [])) == len(one.related)
        assert ("fixes" in result) == (one.fix is not None and RULES[one.code].fixable)


# -- GitHub ---------------------------------------------------------------------------------------


def odd(one: Diagnostic) -> Diagnostic:
    return msgspec.structs.replace(
        one, file="a,b:c%.yaml", message="50% of\nthem: all, ::error::", hint=None, related=(), fix=None
    )


def test_github_annotations_escape_what_would_end_them() -> None:
    line = render_github([odd(found()[0])])
    assert line.count("\n") == 1
    head, _, text = line.rstrip("\n").partition("::")[2].partition("::")
    assert text == "50%25 of%0Athem: all, ::error::"
    kind, _, properties = head.partition(" ")
    assert kind == "error"
    assert dict(pair.split("=", 1) for pair in properties.split(","))["file"] == "a%2Cb%3Ac%25.yaml"


def test_github_annotations_have_a_line_each() -> None:
    lines = render_github(everything()).splitlines()
    assert len(lines) == len(everything())
    assert {line[2:].split(" ", 1)[0] for line in lines} == {"error", "warning", "notice"}
    assert render_github([]) == ""


# -- JUnit ----------------------------------------------------------------------------------------


def test_junit_has_a_suite_for_each_file_and_a_failure_for_each_error_and_warning() -> None:
    diagnostics = everything()
    files = sorted({one.file for one in diagnostics} | {"clean.workflow.yaml"})
    root = ElementTree.fromstring(render_junit(diagnostics, files))
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == files
    failures = sum(one.severity != "hint" for one in diagnostics)
    assert int(root.get("failures", "")) == len(root.findall(".//failure")) == failures
    assert int(root.get("tests", "")) == len(root.findall(".//testcase"))
    for suite in suites:
        assert int(suite.get("tests", "")) == len(suite.findall("testcase")) >= 1
        assert int(suite.get("failures", "")) == len(suite.findall(".//failure"))


def test_junit_holds_any_text() -> None:
    one = msgspec.structs.replace(found()[0], message='<&">\x00\x1b]]>\ud800', file="a&b.yaml")
    root = ElementTree.fromstring(render_junit([one], []))
    assert root.findall(".//failure")[0].get("message") == '<&">\ufffd\ufffd]]>\ufffd'


# -- text -----------------------------------------------------------------------------------------


def text_of(diagnostics: list[Diagnostic], text: str = TEXT, **options: Any) -> str:
    return render_text(diagnostics, {"a.workflow.yaml": SourceText("a.workflow.yaml", text)}, 1, **options)


def test_text_shows_the_line_a_mark_and_what_to_do() -> None:
    one = next(one for one in found() if one.name == "unknown-field")
    assert text_of([one]) == (
        'a.workflow.yaml:11:11: error[unknown-field] "blok" is no field of a step.\n'
        "11 |           blok: log\n"
        "   |           ^^^^\n"
        '   = help: Did you mean "block"?\n'
        '   = fix: Change it to "block" (interlock check --fix)\n'
        "\n"
        "1 error in 1 file.\n"
    )


def test_marks_stand_under_wide_characters() -> None:
    one = next(one for one in found() if one.name == "unknown-member")
    shown = text_of([one]).split("\n")
    line, mark = shown[1], shown[2]
    cells = sum(2 if character == "😀" else 1 for character in line[: line.index("albun")])
    assert mark.index("^") == cells
    assert mark.count("^") == len("albun")


def test_other_places_are_labelled_also_in_other_files() -> None:
    one = found()[0]
    related = (
        RelatedPlace("taken here", "a.workflow.yaml", 6, 7, 6, 15),
        RelatedPlace("and here", "b.yaml", 1, 1, 1, 9),
        RelatedPlace("out of sight", "c.yaml", 7, 3, 7, 9),
    )
    one = msgspec.structs.replace(one, related=related, hint=None, fix=None)
    sources = {"a.workflow.yaml": SourceText("a.workflow.yaml", TEXT), "b.yaml": SourceText("b.yaml", "workflow: b\n")}
    assert render_text([one], sources, 1).split("\n")[3:-3] == [
        '6 |       resource: "album:{inputs.album}"',
        "  |       -------- taken here",
        "  :: b.yaml:1:1",
        "1 | workflow: b",
        "  | -------- and here",
        "  :: c.yaml:7:3: out of sight",
    ]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    diagnostics = everything()
    sources = {
        f"dir with space/{rule.code}.workflow.yaml": SourceText("x", page_of(rule).bad) for rule in RULES.values()
    }
    text = render_text(diagnostics, sources, 85, width=width)
    allowed = max(width, 40)
    for line in text.split("\n"):
        if "dir with space/" not in line and len(max(line.split(" "), key=len)) < allowed // 2:
            assert len(line) <= allowed, line
    plain = render_text(diagnostics, sources, 85)
    for one in diagnostics:
        assert one.message in plain
        assert one.message.replace(" ", "") in text.replace("\n", "").replace(" ", "")


def test_long_lines_are_cut_around_the_place() -> None:
    text = "workflow: w\nsteps: [" + "{id: x, block: log, params: {message: hi}}, " * 40 + "{id: y, blok: log}]\n"
    one = next(one for one in found(text) if one.name == "unknown-field")
    lines = text_of([one], text).split("\n")
    assert len(lines[1]) < 200
    start = lines[2].index("^")
    assert lines[1][start : start + 4] == "blok"


def test_colours_only_where_asked_for() -> None:
    assert "\x1b" not in text_of(found())
    colored = text_of(found(), color=True)
    assert "\x1b[31;1m" in colored
    assert colored.count("\x1b[0m") * 2 == colored.count("\x1b[")


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = 'workflow: w\nsteps:\n  - {id: x, blok: log, params: {message: "\u009b31m\u202e"}}\n'
    one = next(one for one in found(text) if one.name == "unknown-field")
    assert "\u009b" not in text_of([one], text)
    assert "\u202e" not in text_of([one], text)


def test_a_tab_is_seen_in_the_line() -> None:
    text = "workflow: w\nsteps:\n  - id: x\n\tblock: log\n"
    (one,) = (one for one in found(text) if one.name == "yaml-syntax")
    lines = text_of([one], text).splitlines()
    assert lines[1:3] == ["4 | →block: log", "  | ^"]


def test_a_clean_report_says_so() -> None:
    assert text_of([]) == "Clean: 1 file checked, nothing found.\n"
    assert render_text([], {}, 3) == "Clean: 3 files checked, nothing found.\n"


# -- baselines ------------------------------------------------------------------------------------


def baseline_of(text: str) -> bytes:
    return write_baseline(found(text), {"a.workflow.yaml": SourceText("a", text)}, {})


def new_in(text: str, data: bytes) -> list[str]:
    sources = {"a.workflow.yaml": SourceText("a", text)}
    return [one.name for one in new_ones(found(text), read_baseline(data), sources, {})]


def test_what_was_there_is_known_also_after_it_has_moved() -> None:
    data = baseline_of(TEXT)
    assert new_in(TEXT, data) == []
    assert new_in("# a note\n\n" + TEXT, data) == []
    assert new_in(TEXT + "  - {id: z, block: log, parms: {message: hi}}\n", data) == ["unknown-field"]


def test_as_many_alike_are_known_as_were_written_down() -> None:
    twice = TEXT + "  - id: a\n    blok: log\n    params: {message: hi}\n"
    thrice = twice + "  - id: b\n    blok: log\n    params: {message: hi}\n"
    assert new_in(thrice, baseline_of(twice)) == ["unknown-field"]


def test_a_changed_line_is_new() -> None:
    assert new_in(TEXT.replace("blok: log", "blok: set"), baseline_of(TEXT)) == ["unknown-field"]


def test_a_baseline_is_the_same_each_time() -> None:
    assert baseline_of(TEXT) == baseline_of(TEXT)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"version": 2, "known": []}', b'{"version": 1, "known": [3]}', b"\xff"])
def test_what_is_no_baseline_is_refused(data: bytes) -> None:
    with pytest.raises(BadBaseline):
        read_baseline(data)


def test_a_long_story_is_cut_and_says_how_much_is_left_out() -> None:
    piece = Piece(SourceText("a.workflow.yaml", "x\n" * 40), "x\n" * 40)
    spans = [Span(piece, 2 * number, 2 * number + 1) for number in range(40)]
    finding = Finding("IL101", spans[0], "m", None, tuple(Related(span, "here") for span in spans))
    related = place(finding).related
    assert [one.line for one in related] == list(range(1, 22))
    assert related[19].message == "here"
    assert related[20].message == "… and 20 more like this"
    whole = place(Finding("IL101", spans[0], "m", None, tuple(Related(span, "here") for span in spans[:20]))).related
    assert [one.message for one in whole] == ["here"] * 20


def test_no_two_other_places_of_a_story_are_the_same() -> None:
    piece = Piece(SourceText("a.workflow.yaml", "x\n" * 9), "x\n" * 9)
    first, second = Span(piece, 0, 1), Span(piece, 2, 3)
    said = (Related(second, "b"), Related(first, "a"), Related(second, "b"), Related(first, "b"), Related(first, "a"))
    related = place(Finding("IL101", first, "m", None, said)).related
    assert [(one.line, one.message) for one in related] == [(2, "b"), (1, "a"), (1, "b")]
    many = (*said, *(Related(first, str(number)) for number in range(20)))
    assert place(Finding("IL101", first, "m", None, many)).related[-1].message == "… and 3 more like this"
