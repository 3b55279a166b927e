"""Each fix removes its diagnostic, adds none, and leaves every other character alone."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.batch import Loaded, loaded
from interlock.analyzer.diagnostics import Diagnostic, PlacedFix, TextEdit
from interlock.analyzer.fixes import Fixed, Fixer, apply_edits, replacement, unified_diff, write_text
from interlock.analyzer.report.json import as_json
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.rules.pages import page_of
from interlock.analyzer.source.text import SourceText

FIXABLE = [rule.code for rule in RULES.values() if rule.fixable]


def run(*files: Loaded, wanted: set[str] | None = None) -> Fixed:
    return Fixer(files, wanted or {one.shown for one in files}, lambda found: found).run()


def mended(text: str, shown: str = "nightly-report.workflow.yaml") -> str:
    fixed = run(loaded(shown, text))
    return fixed.files[shown].source.text if shown in fixed.files else text


def codes(text: str) -> list[str]:
    return [one.code for one in check_texts({"x.workflow.yaml": text})]


def step(fields: str, head: str = "") -> str:
    return f"workflow: w\n{head}steps:\n  - id: x\n{fields}"


U = "inputs: {u: string}\n"
LOG = "    block: log\n    params: {message: hi}\n"

#: For each rule texts with ⟦wrong⟧⟪mended⟫ where the fix acts.
CASES: dict[str, list[str]] = {
    "IL103": [
        step(LOG + "    ⟦timout⟧⟪timeout⟫: 3s  # soon\n"),
        step("    block: http\n    params: {url: http://a.example}\n    retry: {⟦max_attemps⟧⟪max_attempts⟫: 3}\n"),
        step("    ⟦blok⟧⟪block⟫: log\n    params: {message: hi}\n"),
    ],
    "IL104": [
        "workflow: w\nsteps:\n  # first\n  - ⟦⟧⟪id: log_1\n    ⟫block: log\n    params: {message: hi}\n",
        "workflow: w\nsteps: [{⟦⟧⟪id: log_1, ⟫block: log, params: {message: hi}}]\n",
        "workflow: w\nsteps:\n-   ⟦⟧⟪id: log_1_\n    ⟫block: log\n    params: {message: log_1}\n",
        step(LOG) + "  - ⟦⟧⟪id: delay_1\n    ⟫delay: 1s\n",
        step(LOG) + "  - ⟦⟧⟪id: log_2\n    ⟫block: log\n    params: {message: hi}\n",
        step("    block: http\n    params: {url: http://a.example}\n    retry: {⟦⟧⟪max_attempts: 3, ⟫delay: 1s}\n"),
        step("    block: http\n    params: {url: http://a.example}\n    retry: {⟦⟧⟪max_attempts: 3⟫}\n"),
        step(
            "    block: http\n    params: {url: http://a.example}\n"
            "    retry:  # twice\n      ⟦⟧⟪max_attempts: 3\n      ⟫delay: 1s\n"
        ),
        "# A report.\n⟦⟧⟪workflow: nightly-report\n⟫version: v1\nsteps:\n  - id: x\n" + LOG,
        "{⟦⟧⟪workflow: nightly-report, ⟫steps: [{id: x, block: log, params: {message: hi}}]}\n",
        step(LOG) + "---\n⟦⟧⟪workflow: nightly-report-7\n⟫steps:\n  - id: x\n" + LOG,
    ],
    "IL109": [
        step("    block: http\n    params:\n      url: ⟦{inputs.u}⟧⟪\"{inputs.u}\"⟫ # where\n", U),
        step("    when: ⟦{inputs.u == \"a\"}⟧⟪'{inputs.u == \"a\"}'⟫\n" + LOG, U),
    ],
    "IL112": [
        step(
            "    block: http\n    params: {url: http://a.example}\n"
            "    retry: {max_attempts: 2, backoff: ⟦expotential⟧⟪exponential⟫}\n"
        ),
        step("    concurrency: {resource: k, lifetime: ⟦runs⟧⟪run⟫}\n"),
    ],
    "IL202": [step('    block: log\n    params: {message: "{⟦input⟧⟪inputs⟫.u} {inputs.u}"}\n', U)],
    "IL205": [
        step(
            '    block: log\n    params: {message: "é😀 {inputs.⟦adress⟧⟪address⟫} {inputs.address}"}\n',
            "inputs: {address: string}\n",
        ),
    ],
    "IL208": [step("    block: ⟦lgo⟧⟪log⟫\n    params: {message: hi}\n")],
    "IL215": [
        step("    wait_for_decision: {}\n")
        + "  - id: y\n    when: \"{decision.outcome == '⟦aproved⟧⟪approved⟫'}\"\n"
        + LOG,
    ],
    "IL304": [
        step("    concurrency: {resource: k, lifetime: run, on_busy: ⟦fial⟧⟪fail⟫}\n"),
        step(LOG, "concurrency: {limit: 1, on_busy: ⟦watt⟧⟪wait⟫}\n"),
    ],
    "IL305": [
        step(LOG, U + "concurrency: {limit: ⟦2⟧⟪1⟫, on_busy: supersede, supersession_key: '{inputs.u}'}\n"),
        step(
            LOG,
            U + "concurrency:\n  ⟦⟧⟪limit: 1\n  ⟫on_busy: supersede\n  supersession_key: '{inputs.u}'\n",
        ),
        step(LOG, U + "concurrency: {⟦⟧⟪limit: 1, ⟫on_busy: supersede, supersession_key: '{inputs.u}'}\n"),
    ],
    "IL315": [
        step(
            '    when: "{⟦inputs.a⟧⟪inputs.a && (inputs.b || inputs.c)⟫}"\n    concurrency:\n'
            '⟦      when: "{inputs.b || inputs.c}"\n⟧⟪⟫      resource: k\n      lifetime: run\n',
            "inputs: {a: boolean, b: boolean, c: boolean}\n",
        ),
        step(
            "    when: '{inputs.a}'\n    concurrency: {⟦when: '{inputs.a}', ⟧⟪⟫resource: k, lifetime: run}\n",
            "inputs: {a: boolean}\n",
        ),
    ],
    "IL411": [
        "workflow: w\nsteps:\n  - id: x\n"
        "    start_workflows: {items: [{}], workflow: c, result_key: ids, group_key: workers}\n"
        '  - id: y\n    wait_for_workflow_group: {group: "⟦worker⟧⟪workers⟫", result_key: done}\n'
        "---\nworkflow: c\nsteps:\n  - id: x\n" + LOG,
    ],
    "IL412": [
        step("    run_workflow:\n      workflow: '⟦chidl⟧⟪child⟫'\n      result_key: r\n")
        + "---\nworkflow: child\nsteps:\n  - id: x\n"
        + LOG,
    ],
    "IL506": [
        step(
            '    block: http\n    params: {url: http://a.example, headers: {X: "{secrets.⟦TOKN⟧⟪TOKEN⟫}"}}\n',
            "secrets: [TOKEN]\n",
        ),
        "workflow: w\n⟦⟧⟪secrets: [KEY]\n⟫steps:\n  - id: x\n"
        '    block: http\n    params: {url: http://a.example, headers: {X: "{secrets.KEY}"}}\n',
        step(
            '    block: http\n    params: {url: http://a.example, headers: {X: "{secrets.KEY}"}}\n',
            "secrets:\n  - FIRST⟦⟧⟪\n  - KEY⟫\n",
        ),
    ],
    "IL701": [
        step("    block: log⟦  # interlock: ignore[maybe-absent] not any more⟧⟪⟫\n    params: {message: hi}\n"),
        step("    block: log\n⟦    # interlock: ignore[maybe-absent]\n⟧⟪⟫    params: {message: hi}\n"),
        step(
            LOG + "  - id: y\n    concurrency:\n      resource: k\n      lifetime: run\n"
            "      on_busy: skip  # interlock: ignore[⟦maybe-absent, ⟧⟪⟫unchecked-claim] why\n"
        ),
    ],
}  # fmt: skip


def split(case: str) -> tuple[str, str]:
    """The text before and after."""
    before = re.sub("⟪[^⟫]*⟫|⟦|⟧", "", case)
    after = re.sub("⟦[^⟧]*⟧|⟪|⟫", "", case)
    return before, after


ALL = [(code, number) for code, cases in CASES.items() for number in range(len(cases))]


def test_every_fixable_rule_has_cases() -> None:
    assert set(FIXABLE) - set(CASES) == {"IL703"}


@pytest.mark.parametrize(("code", "number"), ALL)
def test_a_fix_mends_exactly_its_place(code: str, number: int) -> None:
    before, after = split(CASES[code][number])
    assert codes(before) == [code]
    assert mended(before) == after
    assert codes(after) == []


@pytest.mark.parametrize(("code", "number"), ALL)
def test_line_ends_and_the_byte_order_mark_stay(code: str, number: int) -> None:
    before, after = (text.replace("\n", "\r\n") for text in split(CASES[code][number]))
    fixed = run(loaded("nightly-report.workflow.yaml", before, had_bom=True))
    (file,) = fixed.files.values()
    assert (file.source.text, file.had_bom) == (after, True)


@pytest.mark.parametrize("code", FIXABLE)
def test_the_example_of_the_rule_can_be_mended(code: str) -> None:
    bad = page_of(RULES[code]).bad
    if code == "IL205":
        assert "fix" not in bad  # its name is near to none: what is meant cannot be known
        return
    text = mended(bad)
    assert text != bad
    assert codes(text) == (["IL111"] if code == "IL703" else [])


@pytest.mark.parametrize(
    "case",
    [
        step("    concurrency: {resource: k, lifetime: run, on_busy: ⟦supersede⟧⟪wait⟫}\n"),
        step(LOG, "concurrency: {limit: 1, on_busy: ⟦skip⟧⟪wait⟫}\n"),
    ],
)
def test_a_policy_of_another_place_becomes_the_default(case: str) -> None:
    before, after = split(case)
    (one,) = check_texts({"x.workflow.yaml": before})
    assert one.fix is not None
    assert (one.code, one.fix.title) == ("IL304", 'Change it to "wait", the default')
    assert mended(before) == after


def test_an_error_that_cannot_be_suppressed_keeps_its_place() -> None:
    before = step("    delay: soon  # interlock: ignore[bad-duration] really\n")
    assert mended(before) == step("    delay: soon\n")


def test_many_fixes_of_one_file_come_together() -> None:
    text = "workflow: w\nsteps:\n" + "".join(
        f"  - block: lgo\n    params: {{mesage: hi, level: info}}\n    timout: {n}s\n" for n in range(1, 30)
    )
    fixed = run(loaded("a.workflow.yaml", text))
    (file,) = fixed.files.values()
    assert {one.code for one in check_texts({"a": file.source.text})} <= {"IL209", "IL302"}
    assert fixed.applied["missing-field"] == fixed.applied["unknown-block"] == 29
    assert file.source.text.count("\n    block: log\n") == 29


def test_only_what_is_reported_is_mended() -> None:
    text = step("    blok: log\n    params: {message: hi}\n    timout: 3s\n")
    fixed = Fixer(
        [loaded("a.yaml", text)], {"a.yaml"}, lambda found: [one for one in found if '"timout"' in one.message]
    ).run()
    assert fixed.files["a.yaml"].source.text == text.replace("timout", "timeout")


def test_only_what_is_wanted_is_mended() -> None:
    broken = step("    blok: log\n    params: {message: hi}\n")
    fixed = run(
        loaded("a.yaml", broken), loaded("b.yaml", broken.replace("workflow: w", "workflow: v")), wanted={"b.yaml"}
    )
    assert list(fixed.files) == ["b.yaml"]


def test_a_name_of_another_file_is_mended_with_its_help() -> None:
    caller = step("    run_workflow: {workflow: chidl, result_key: r}\n")
    child = "workflow: child\nsteps:\n  - id: x\n" + LOG
    fixed = run(loaded("a.yaml", caller), loaded("b.yaml", child))
    assert fixed.files["a.yaml"].source.text == caller.replace("chidl", "child")


def test_what_was_hidden_behind_a_mistake_may_come_to_light() -> None:
    text = step("    block: log\n    params:\n      message: {inputs.gone}\n")
    assert mended(text) == text.replace("{inputs.gone}", '"{inputs.gone}"')


def test_two_files_of_one_name_do_not_get_one_name_for_their_workflows() -> None:
    texts = ["steps:\n  - id: x\n" + LOG, "version: v2\nsteps:\n  - id: x\n" + LOG]
    fixed = run(*(loaded(f"{n}/daily.workflow.yaml", text) for n, text in enumerate(texts)))
    assert [file.source.text for file in fixed.files.values()] == ["workflow: daily\n" + texts[0]]


def other(one: Diagnostic, *edits: tuple[int, int, str]) -> Diagnostic:
    """The diagnostic with another fix, given in columns of its own line."""
    placed = tuple(TextEdit(one.file, one.line, start, one.line, end, text) for start, end, text in edits)
    return msgspec.structs.replace(one, fix=PlacedFix("another", placed))


@pytest.mark.parametrize("text", ["[", "timoot", "x: {", "timeout: 3s\n    timeout"])
def test_a_fix_that_does_harm_or_mends_nothing_is_taken_back(text: str) -> None:
    """Whatever a rule proposes: the fixer looks at what came of it."""
    wrong = step(LOG + "    timout: 3s\n")

    def report(found: list[Diagnostic]) -> list[Diagnostic]:
        return [other(one, (5, 11, text)) for one in found if one.code == "IL103"]

    fixed = Fixer([loaded("a.yaml", wrong)], {"a.yaml"}, report).run()
    assert fixed.files == {}
    assert fixed.count == 0


def test_a_bad_fix_does_not_stop_the_good_ones_beside_it() -> None:
    text = step(LOG + "    timout: 3s\n") + "  - id: y\n    blok: log\n    params: {message: hi}\n"

    def report(found: list[Diagnostic]) -> list[Diagnostic]:
        return [other(one, (5, 11, "[")) if '"timout"' in one.message else one for one in found]

    fixed = Fixer([loaded("a.yaml", text)], {"a.yaml"}, report).run()
    assert fixed.files["a.yaml"].source.text == text.replace("blok", "block")


def test_fixes_that_undo_each_other_end() -> None:
    text = step(LOG + "    timout: 3s\n")
    words = {"timout": "tiemout", "tiemout": "timout"}

    def report(found: list[Diagnostic]) -> list[Diagnostic]:
        return [other(one, (5, 11, new)) for one in found for old, new in words.items() if f'"{old}"' in one.message]

    fixed = Fixer([loaded("a.yaml", text)], {"a.yaml"}, report).run()
    (file,) = fixed.files.values() if fixed.files else (loaded("a.yaml", text),)
    assert len(codes(file.source.text)) == 1


def test_a_fix_that_reaches_into_another_file_is_not_applied() -> None:
    (one,) = check_texts({"a.yaml": step(LOG + "    timout: 3s\n")})
    source = SourceText("a.yaml", step(LOG + "    timout: 3s\n"))
    assert replacement(source, one) is not None
    assert one.fix is not None
    edit = msgspec.structs.replace(one.fix.edits[0], file="b.yaml")
    assert replacement(source, msgspec.structs.replace(one, fix=PlacedFix("x", (edit,)))) is None


def test_edits_count_code_points_and_lines_as_the_language_does() -> None:
    text = "a\u2028b\u0085c\n😀 xyz\n"
    assert apply_edits(text, [(8, 9, "Y"), (0, 1, "")]) == "\u2028b\u0085c\n😀 Yyz\n"


def test_a_diff_is_a_patch() -> None:
    before, after = "a\nb\u2028x\nc", "a\nB\u2028x\nc"
    assert unified_diff("d/f.yaml", before, after) == (
        "--- a/d/f.yaml\n+++ b/d/f.yaml\n@@ -1,3 +1,3 @@\n a\n-b\u2028x\n+B\u2028x\n c\n\\ No newline at end of file\n"
    )
    assert unified_diff("f", before, before) == ""


def test_a_file_keeps_its_mode_and_stays_behind_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    real.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(str(link), loaded("link.yaml", "a: 2\r\n", had_bom=True))
    assert link.is_symlink()
    assert real.read_bytes() == b"\xef\xbb\xbfa: 2\r\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    block: http\n    params: {url: 'http://x', ⟦metod⟧⟪method⟫: GET}\n", "method"),
        ("    block: http\n    params: {url: 'http://x', method: ⟦'PSOT'⟧⟪POST⟫}\n", "POST"),
        ("    delay: 1s\n    next: ⟦en⟧⟪end⟫\n", "end"),
        ("    delay: 1s\n    next: \"{run.attempt > 1 ? ⟦'en'⟧⟪'end'⟫ : 'end'}\"\n", "end"),
    ],
)
def test_a_near_name_of_a_rule_without_a_fix_is_offered_to_editors_only(before: str, after: str) -> None:
    wrong, right = split(step(before))
    (one,) = check_texts({"x.workflow.yaml": wrong})
    assert one.fix is not None
    assert (one.fix.title, one.fix.sure, as_json(one)["fix"]) == (f'Change it to "{after}"', False, None)
    change = replacement(SourceText("x.workflow.yaml", wrong), one)
    assert change is not None
    assert apply_edits(wrong, change.edits) == right
    assert mended(wrong) == wrong


def test_a_name_of_one_letter_is_not_turned_into_another_unasked() -> None:
    text = step("    block: set\n    params: {v: 1}\n") + "outputs: {o: '{x.w}'}\n"
    (one,) = check_texts({"x.workflow.yaml": text})
    assert one.fix is not None
    assert (one.code, one.fix.title, one.fix.sure) == ("IL205", 'Change it to "v"', False)
    assert mended(text) == text


def test_a_word_with_escapes_is_left_to_the_writer() -> None:
    text = step('    delay: 1s\n    next: "{run.attempt > 1 ? \\"en\\" : \'end\'}"\n')
    (one,) = check_texts({"x.workflow.yaml": text})
    assert (one.code, one.hint, one.fix) == ("IL213", 'Did you mean "end"?', None)
