"""``interlock check`` as people and programs call it: options, streams, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from check_support import Run, put

CLEAN = "workflow: clean\nsteps:\n  - id: x\n    block: log\n    params: {message: hi}\n"
WARNED = """\
workflow: warned
steps:
  - id: claim
    concurrency: {resource: k, lifetime: run, on_busy: skip}
"""
HINTED = "workflow: hinted\ninputs: {a: string}\nsteps:\n  - id: x\n    block: log\n    params: {message: hi}\n"
WRONG = "workflow: wrong\nsteps:\n  - id: x\n    blok: log\n    params: {message: hi}\n"
LOCKS = """\
workflow: {name}
steps:
  - id: one
    concurrency: {{resource: {first}, lifetime: run}}
  - id: two
    concurrency: {{resource: {second}, lifetime: run}}
"""


# -- exit codes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "code", "strict"), [(CLEAN, 0, 0), (HINTED, 0, 0), (WARNED, 0, 1), (WRONG, 1, 1)])
def test_exit_codes(run: Run, tmp_path: Path, text: str, code: int, strict: int) -> None:
    put(tmp_path, {"a.workflow.yaml": text})
    assert run("check").code == code
    assert run("check", "--strict").code == strict


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "xml"], "invalid choice: 'xml'"),
        (["--select", "nested-wiat"], 'no rule is called "nested-wiat"; did you mean "nested-wait"?'),
        (["--ignore", "qqqqqq"], "interlock rules lists them"),
        (["--ignore", "IL40"], 'no rule is called "IL40"; rules are named one by one, and interlock rules lists them'),
        (["--select", "il4xx"], "rules are named one by one"),
        (["--fix", "--diff"], "choose one"),
        (["--update-baseline"], "needs --baseline"),
        (["--baseline", "none.json"], "--update-baseline writes one"),
        (["--baseline", "."], "cannot be read"),
        (["--stdin-filename", "x.yaml", "y.yaml"], '"-"'),
        (["-", "a.workflow.yaml"], "stdin"),
        (["--watch", "-"], "stdin"),
        (["--changed-since", "HEAD"], "not a git repository"),
        (["none.workflow.yaml"], '"none.workflow.yaml" cannot be read: no such file or folder.'),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_wrong_usage_is_one_line(run: Run, tmp_path: Path, words: list[str], message: str) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN})
    done = run("check", *words)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_wrong_setting_is_one_line_with_its_place(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN, "interlock.toml": "\nselct = []\n"})
    done = run("check")
    assert (done.code, done.out) == (2, "")
    assert done.err == 'interlock check: interlock.toml:2: there is no setting "selct"; did you mean "select"?\n'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"workflow: \xff\n", "not UTF-8"),
        ("workflow: w\n".encode("utf-16"), "UTF-16"),
        (b"a\0b", "binary"),
        (None, "circle"),
    ],
)
def test_one_unreadable_file_does_not_hide_the_others(run: Run, tmp_path: Path, data: bytes | None, why: str) -> None:
    put(tmp_path, {"wrong.workflow.yaml": WRONG})
    bad = tmp_path / "bad.workflow.yaml"
    if data is None:
        bad.symlink_to(bad)
        done = run("check", "bad.workflow.yaml", "wrong.workflow.yaml", "--format", "json")
    else:
        bad.write_bytes(data)
        done = run("check", "--format", "json")
    assert done.code == 2
    assert done.names == ["unknown-field"]
    assert done.err.count("\n") == 1
    assert '"bad.workflow.yaml" cannot be read: ' in done.err
    assert why in done.err


def test_what_cannot_be_read_is_not_called_clean(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.workflow.yaml").write_bytes(b"workflow: \xff\n")
    done = run("check", "bad.workflow.yaml")
    assert (done.code, done.out) == (2, "")
    assert '"bad.workflow.yaml" cannot be read: ' in done.err


def test_a_folder_without_workflows_is_told_and_is_no_error(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"docs/readme.md": "x"})
    done = run("check", "docs")
    assert done.code == 0
    assert 'there is no workflow file in "docs"' in done.err


# -- what is seen and what is reported ------------------------------------------------------------


def test_rules_across_files_see_the_workspace_and_report_what_is_named(run: Run, tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "a.workflow.yaml": LOCKS.format(name="a", first="k", second="l"),
            "deep/b.workflow.yaml": LOCKS.format(name="b", first="l", second="k"),
            "deep/c.workflow.yaml": WRONG,
        },
    )
    done = run("check", "a.workflow.yaml", "--format", "json")
    assert done.names == ["lock-order-cycle"]
    assert {one["file"] for one in done.json["diagnostics"][0]["related"]} == {
        "a.workflow.yaml",
        "deep/b.workflow.yaml",
    }
    assert done.json["summary"]["files"] == 1
    assert run("check", "deep", "--format", "json").names == ["lock-order-cycle", "unknown-field"]


def test_a_named_file_counts_whatever_it_is_called(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"deploy.yaml": WRONG})
    assert run("check", "--format", "json").json["diagnostics"] == []
    assert run("check", "deploy.yaml", "--format", "json").names == ["unknown-field"]


def test_paths_are_shown_from_the_current_folder(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"deep/a.workflow.yaml": WRONG, "interlock.toml": ""})
    assert run("check", "--format", "json").json["diagnostics"][0]["file"] == "deep/a.workflow.yaml"
    inside = run("check", "--format", "json", cwd=tmp_path / "deep")
    assert inside.json["diagnostics"][0]["file"] == "a.workflow.yaml"


def test_settings_choose_and_are_judged_themselves(run: Run, tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "a.workflow.yaml": WARNED + "    wehn: true\n",
            "interlock.toml": 'ignore = ["unchecked-claim", "unknown-field", "nonsense"]\n',
        },
    )
    done = run("check", "--format", "json")
    assert [(one["file"], one["name"]) for one in done.json["diagnostics"]] == [
        ("a.workflow.yaml", "unknown-field"),
        ("interlock.toml", "cannot-suppress"),
        ("interlock.toml", "unknown-rule"),
    ]
    assert "interlock.toml:1:30: warning[cannot-suppress]" in run("check").out


def test_the_command_line_cannot_silence_an_error_of_the_language(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG, "b.workflow.yaml": WARNED})
    done = run("check", "--ignore", "unknown-field,IL316", "--format", "json")
    assert done.names == ["unknown-field"]
    assert done.code == 1
    assert done.err.startswith("interlock check: --ignore unknown-field: ")
    assert run("check", "--select", "unchecked-claim", "--format", "json").names == ["unchecked-claim"]


def test_blocks_of_the_host_are_known_from_its_manifest(run: Run, tmp_path: Path) -> None:
    text = "workflow: w\nsteps:\n  - id: x\n    block: mine\n    params: {a: 1}\n"
    put(tmp_path, {"a.workflow.yaml": text})
    assert run("check", "--format", "json").names == ["unknown-block"]
    params = {"type": "object", "properties": {"a": {"type": "string"}}}
    manifest = {"version": 1, "blocks": {"mine": {"params": params}}}
    put(tmp_path, {"interlock.blocks.json": json.dumps(manifest)})
    assert run("check", "--format", "json").names == ["block-params"]
    put(tmp_path, {"interlock.blocks.json": "{"})
    done = run("check")
    assert done.code == 2
    assert done.err.startswith("interlock check: interlock.blocks.json")
    assert done.err.count("\n") == 1


# -- stdin ----------------------------------------------------------------------------------------


def test_stdin_stands_for_a_file_of_the_workspace(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": LOCKS.format(name="a", first="k", second="l"), "b.workflow.yaml": CLEAN})
    text = LOCKS.format(name="b", first="l", second="k").encode()
    done = run("check", "-", "--stdin-filename", "b.workflow.yaml", "--format", "json", stdin=text)
    assert {(one["file"], one["name"]) for one in done.json["diagnostics"]} == {("b.workflow.yaml", "lock-order-cycle")}
    new = run("check", "--stdin-filename", "new/c.workflow.yaml", "--format", "json", stdin=WRONG.encode())
    assert [one["file"] for one in new.json["diagnostics"]] == ["new/c.workflow.yaml"]
    assert run("check", "-", stdin=WARNED.encode()).code == 0
    assert run("check", "-", stdin=b"\xff").code == 2


def test_stdin_that_repeats_a_workflow_of_the_workspace_asks_for_its_name(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN})
    done = run("check", "-", stdin=CLEAN.encode())
    assert (done.code, "duplicate-workflow" in done.out) == (1, True)
    assert (done.err.count("\n"), "--stdin-filename" in done.err) == (1, True)
    assert run("check", "-", stdin=WRONG.encode()).err == ""
    named = run("check", "-", "--stdin-filename", "a.workflow.yaml", stdin=CLEAN.encode())
    assert (named.code, named.err) == (0, "")


def test_stdin_is_mended_onto_stdout(run: Run) -> None:
    done = run("check", "-", "--fix", stdin=b"\xef\xbb\xbf" + WRONG.replace("\n", "\r\n").encode())
    assert done.code == 0
    assert done.out == "\ufeff" + WRONG.replace("blok", "block").replace("\n", "\r\n")


# -- fixes ----------------------------------------------------------------------------------------


def test_fixes_are_written_and_the_rest_is_reported(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG, "b.workflow.yaml": WARNED, "c.workflow.yaml": WRONG})
    done = run("check", "a.workflow.yaml", "b.workflow.yaml", "--fix", "--format", "json")
    assert done.code == 0
    assert done.names == ["unchecked-claim"]
    assert done.json["fixed"] == {"unknown-field": 1}
    assert (tmp_path / "a.workflow.yaml").read_text() == WRONG.replace("blok", "block")
    assert (tmp_path / "c.workflow.yaml").read_text() == WRONG
    assert run("check", "a.workflow.yaml").out == "Clean: 1 file checked, nothing found.\n"


def test_a_diff_writes_nothing_and_can_be_applied(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"deep/a.workflow.yaml": WRONG})
    done = run("check", "--diff")
    assert done.code == 1
    assert (tmp_path / "deep/a.workflow.yaml").read_text() == WRONG
    assert "would mend 1 place in 1 file" in done.err
    subprocess.run(["git", "apply", "-"], input=done.out.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "deep/a.workflow.yaml").read_text() == WRONG.replace("blok", "block")
    assert run("check", "--diff").out == ""


def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"shut/a.workflow.yaml": WRONG, "b.workflow.yaml": WRONG.replace("wrong", "other")})
    (tmp_path / "shut").chmod(0o500)
    try:
        if os.access(tmp_path / "shut", os.W_OK):
            pytest.skip("this user may write everywhere")
        done = run("check", "--fix")
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert done.code == 2
    assert '"shut/a.workflow.yaml" cannot be written' in done.err
    assert "block" in (tmp_path / "b.workflow.yaml").read_text()


# -- what is new ----------------------------------------------------------------------------------


def test_a_baseline_hides_what_it_knows(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG, "sub/x.txt": ""})
    written = run("check", "--baseline", "base.json", "--update-baseline")
    assert (written.code, written.out) == (0, "")
    assert "wrote 1 known diagnostic" in written.err
    assert run("check", "--baseline", "base.json").code == 0
    assert run("check", "--baseline", "base.json", "--fix").code == 0
    assert (tmp_path / "a.workflow.yaml").read_text() == WRONG
    put(tmp_path, {"b.workflow.yaml": "# moved\n" + WRONG.replace("wrong", "other")})
    done = run("check", "--baseline", "base.json", "--format", "json")
    assert [one["file"] for one in done.json["diagnostics"]] == ["b.workflow.yaml"]
    (tmp_path / "base.json").write_text("{}")
    assert "no baseline" in run("check", "--baseline", "base.json").err


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_only_files_that_changed_since_a_revision(run: Run, tmp_path: Path) -> None:
    names = ["a", "b", "sub/c", "é d"]
    put(tmp_path, {f"{name}.workflow.yaml": WRONG.replace("wrong", f"w{n}") for n, name in enumerate(names)})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    assert run("check", "--changed-since", "HEAD", "--format", "json").json["summary"]["files"] == 0
    for name in ("sub/c", "é d"):
        with open(tmp_path / f"{name}.workflow.yaml", "a", encoding="utf-8") as file:
            file.write("# more\n")
    (tmp_path / "b.workflow.yaml").unlink()
    put(tmp_path, {"new.workflow.yaml": WRONG.replace("wrong", "new")})
    done = run("check", "--changed-since", "HEAD", "--format", "json")
    expected = ["new.workflow.yaml", "sub/c.workflow.yaml", "é d.workflow.yaml"]
    assert [one["file"] for one in done.json["diagnostics"]] == expected
    inside = run("check", ".", "--changed-since", "HEAD", "--format", "json", cwd=tmp_path / "sub")
    assert [one["file"] for one in inside.json["diagnostics"]] == ["c.workflow.yaml"]
    unknown = run("check", "--changed-since", "nowhere")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)
    assert run("check", "--changed-since", "--output=x").code == 2


def test_what_a_change_breaks_in_files_that_start_its_workflows(run: Run, tmp_path: Path) -> None:
    child = "workflow: child\ninputs: {x: string}\nsteps: [{id: a, block: log, params: {message: '{inputs.x}'}}]\n"
    calls = "workflow: NAME\nsteps: [{id: r, run_workflow: {workflow: child, inputs: {x: '1'}, result_key: out}}]\n"
    other = WRONG.replace("wrong", "other")
    files = {"c.workflow.yaml": child, "sub/p.workflow.yaml": calls.replace("NAME", "p"), "o.workflow.yaml": other}
    put(tmp_path, files)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")

    def found(*words: str, cwd: Path = tmp_path) -> list[tuple[str, str]]:
        said = run("check", *words, "--changed-since", "HEAD", "--format", "json", cwd=cwd).json
        return [(one["file"], one["name"]) for one in said["diagnostics"]]

    assert found() == []
    put(tmp_path, {"c.workflow.yaml": child.replace("x: string", "y: string").replace("inputs.x", "inputs.y")})
    assert found() == [("sub/p.workflow.yaml", "child-inputs")]
    assert found("c.workflow.yaml") == []  # only of what is named
    (tmp_path / "c.workflow.yaml").unlink()
    assert found() == [("sub/p.workflow.yaml", "unknown-workflow")]


# -- reports --------------------------------------------------------------------------------------


def test_each_format_comes_out_whole(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG})
    assert "error[unknown-field]" in run("check").out
    assert run("check", "--format", "json").json["version"] == 1
    assert run("check", "--format", "sarif").json["version"] == "2.1.0"
    assert run("check", "--format", "github").out.startswith("::error file=a.workflow.yaml,line=4,col=5,")
    assert ElementTree.fromstring(run("check", "--format", "junit").out).tag == "testsuites"


def test_the_encoding_of_the_terminal_is_no_reason_to_fail(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG.replace("hi", '"é😀"').replace("wrong", "w")})
    done = run("check", "-", stdin=WRONG.replace("blok", '"é😀"').encode(), env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 1
    assert "unknown-field" in done.out


def test_statistics_count_rules_and_show_what_workflows_use(run: Run, tmp_path: Path) -> None:
    loop = """\
workflow: loop
budget: {max_transitions: 9}
steps:
  - id: ask
    block: http
    params: {url: http://a.example}
    next: "{ask.status == 200 ? 'end' : 'ask'}"
"""
    put(tmp_path, {"a.workflow.yaml": WRONG, "b.workflow.yaml": loop, "c.workflow.yaml": CLEAN})
    done = run("check", "--statistics", "--format", "json")
    statistics = done.json["statistics"]
    assert statistics["rules"] == {"unknown-field": 1}
    rows = {row["workflow"]: row for row in statistics["workflows"]}
    assert rows["loop"]["transitions"] == [1, 9, 9]
    assert rows["clean"]["transitions"] == [1, 1, None]
    assert rows["loop"]["file"] == "b.workflow.yaml"
    assert [
        row["workflow"]
        for row in run("check", "c.workflow.yaml", "--statistics", "--format", "json").json["statistics"]["workflows"]
    ] == ["clean"]
    text = run("check", "--statistics").out
    assert "Diagnostics by rule:\n  unknown-field  1\n" in text
    assert "1..9" in text


def test_statistics_say_what_a_run_needs_beyond_its_budget(run: Run, tmp_path: Path) -> None:
    text = "workflow: w\nbudget: {max_cost_units: 5}\nsteps:\n  - {id: a, block: set, cost_units: 20}\n"
    put(tmp_path, {"a.workflow.yaml": text})
    done = run("check", "--statistics")
    assert done.code == 1
    row = next(line for line in done.out.splitlines() if line.startswith("  w "))
    assert " at least 20 (limit 5) " in row
    assert ".." not in row.split(" at least ")[0]


# -- the process ----------------------------------------------------------------------------------

HEAVY = ("asyncio", "networkx", "rich", "pygls", "lsprotocol", "interlock.engine", "multiprocessing")


def imported(folder: Path, code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
    )
    return set(done.stderr.split())


CALL = "from interlock.server.cli.main import main\nmain(['check'])"


def test_a_check_imports_nothing_heavy(tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": CLEAN, "b.workflow.yaml": WRONG})
    first = imported(tmp_path, CALL)
    assert "interlock.analyzer.analysis" in first
    assert first.isdisjoint({*HEAVY, "tomllib", "pickle", "subprocess", "tempfile", "difflib"})
    again = imported(tmp_path, CALL)
    assert "interlock.analyzer.analysis" not in again
    assert not any(name.startswith(("ruamel", "interlock.analyzer.graph")) for name in again)


def test_what_is_kept_is_what_would_be_found(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG, "b.workflow.yaml": WARNED})
    first = run("check", "--format", "json")
    assert run("check", "--format", "json") == first
    assert run("check", "--format", "json", "--no-cache") == first
    put(tmp_path, {"interlock.toml": '[severity]\nunchecked-claim = "error"\n'})
    assert [one["severity"] for one in run("check", "--format", "json").json["diagnostics"]] == ["error", "error"]
    put(tmp_path, {"a.workflow.yaml": CLEAN})
    assert run("check", "--format", "json").names == ["unchecked-claim"]


def test_runs_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    put(tmp_path, {f"{n}.workflow.yaml": WRONG.replace("wrong", f"w{n}") for n in range(20)})
    command = [sys.executable, "-m", "interlock.server.cli.main", "check", "--format", "json"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    started = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, env=environment, text=True) for _ in range(4)
    ]
    reports = [process.communicate(timeout=60)[0] for process in started]
    assert len(set(reports)) == 1
    assert json.loads(reports[0])["summary"]["errors"] == 20


def test_a_reader_that_goes_away_is_no_failure(run: Run, tmp_path: Path) -> None:
    put(tmp_path, {f"{n}.workflow.yaml": WRONG.replace("wrong", f"w{n}") for n in range(300)})
    command = f"{sys.executable} -m interlock.server.cli.main check --no-cache | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_watch_checks_again_when_a_file_changes(tmp_path: Path) -> None:
    put(tmp_path, {"a.workflow.yaml": WRONG})
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "interlock.server.cli.main", "check", "--watch"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    try:
        assert process.stdout is not None
        seen = ""
        while "1 error in 1 file." not in seen:
            seen += process.stdout.readline()
        time.sleep(0.1)
        put(tmp_path, {"a.workflow.yaml": CLEAN})
        while "Clean: 1 file" not in seen:
            seen += process.stdout.readline()
        put(tmp_path, {"b.workflow.yaml": WRONG})
        while "1 error in 2 files." not in seen:
            seen += process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_settings_that_cannot_be_are_removed(run: Run, tmp_path: Path) -> None:
    settings = '# ours\nignore = ["unused-input", "nested-wait"]  # two\n'
    put(tmp_path, {"a.workflow.yaml": WRONG, "interlock.toml": settings})
    shown = run("check", "--diff")
    assert '-ignore = ["unused-input", "nested-wait"]  # two\n+ignore = ["unused-input"]  # two\n' in shown.out
    assert "would mend 2 places in 2 files" in shown.err
    assert (tmp_path / "interlock.toml").read_text() == settings
    done = run("check", "--fix", "--format", "json")
    assert (done.code, done.json["fixed"]) == (0, {"unknown-field": 1, "cannot-suppress": 1})
    assert (tmp_path / "interlock.toml").read_text() == '# ours\nignore = ["unused-input"]  # two\n'
