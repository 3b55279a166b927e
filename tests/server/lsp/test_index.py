"""What is said of files while others of their workspace are still to be read."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from interlock.analyzer.batch import Batch, load
from interlock.analyzer.cache import cache_for
from interlock.analyzer.diagnostics import Diagnostic
from interlock.server.lsp.document import Lines
from interlock.server.lsp.files import territories, uri_of
from interlock.server.lsp.index import Index

CHILD = """\
workflow: child
inputs: {must: string}
outputs: {v: 1}
steps:
  - id: a
    block: log
    params: {message: "{inputs.must}"}
"""
NEAR = CHILD.replace("workflow: child", "workflow: chile").replace("must", "other")
CALLER = """\
workflow: caller
steps:
  - id: call
    run_workflow: {workflow: child, inputs: {must: x}, result_key: back}
  - id: told
    block: log
    params: {message: "{back.v + 1} {back.w}"} # interlock: ignore[IL414]
  - id: bad
    block: log
    params: [1]
"""
ABOVE = """\
workflow: above
steps:
  - id: call
    run_workflow: {workflow: caller, result_key: back}
  - {id: lonely, block: log, params: {message: "{nothing}"}}
"""


def opened(folder: Path, **texts: str) -> Index:
    """A workspace of these files, of which those called ``open_…`` are open and the others not read yet."""
    (folder / "interlock.toml").write_text("")
    for name, text in texts.items():
        (folder / f"{name}.workflow.yaml").write_text(text)
    index = Index("utf-16")
    index.wait_for((str(folder),))
    for name, text in texts.items():
        if name.startswith("open_"):
            index.put(uri_of(str(folder / f"{name}.workflow.yaml")), "yaml", Lines(text, "utf-16"), 1)
    return index


def codes(index: Index) -> dict[str, list[str]]:
    index.check(lambda: None)
    return {
        Path(key).name.split(".")[0]: [one.code for one in found]
        for group in index.groups.values()
        for key, found in group.diagnostics.items()
    }


def test_nothing_is_said_before_it_is_known_which_settings_hold(tmp_path: Path) -> None:
    index = opened(tmp_path, open_one=CALLER)
    assert codes(index) == {}
    (tmp_path / "interlock.toml").write_text('[check]\nignore = ["unused-suppression"]\n')
    index.set_territories(territories([str(tmp_path)]))
    index.finish()
    assert "IL412" in codes(index)["open_one"]


def test_a_call_of_what_is_not_known_yet_is_no_mistake_and_says_nothing_of_the_rest(tmp_path: Path) -> None:
    index = opened(tmp_path, open_caller=CALLER, open_above=ABOVE, open_near=NEAR, z_child=CHILD)
    paths = index.set_territories(territories([str(tmp_path)]))
    before = codes(index)
    assert before == {"open_caller": ["IL105"], "open_above": [], "open_near": []}
    for path in paths:
        index.refresh(path)
    index.finish()
    after = codes(index)
    assert "IL412" not in after["open_caller"]
    assert {"IL105", "IL701"} <= set(after["open_caller"])
    assert after["open_above"] == ["IL202"]


def test_what_no_other_file_decides_is_said_at_once(tmp_path: Path) -> None:
    index = opened(tmp_path, open_alone=CHILD.replace("inputs.must", "input.must"), z_child=CHILD)
    index.set_territories(territories([str(tmp_path)]))
    assert codes(index)["open_alone"] == ["IL202"]


# -- files that are as they were -----------------------------------------------------------------

FILES = {
    "a": CALLER,
    "b": CHILD,
    "c": ABOVE,
    "d": CHILD.replace("workflow: child", "workflow: alone").replace("inputs.must", "input.must"),
    "e": "workflow: broken\nsteps:\n  - id: [\n",
    "f": "workflow: child\nsteps: [{id: x, delay: 1s}]\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = tmp_path / "work"
    found.mkdir()
    (found / "interlock.toml").write_text("")
    for name, text in FILES.items():
        (found / f"{name}.workflow.yaml").write_text(text)
    return found


def started(folder: Path, **texts: str) -> Index:
    """An index of a folder as it is at the start of a server, with documents that are open in it."""
    index = Index("utf-16")
    for name, text in texts.items():
        index.put(uri_of(str(folder / f"{name}.workflow.yaml")), "yaml", Lines(text, "utf-16"), 1)
    for path in index.set_territories(territories([str(folder)])):
        index.load(path)
    index.finish()
    return index


def told(index: Index) -> dict[str, list[Diagnostic]]:
    index.check(lambda: None)
    return {key: found for group in index.groups.values() for key, found in group.diagnostics.items()}


def asleep(index: Index) -> set[str]:
    return {Path(key).name[0] for group in index.groups.values() for key in group.asleep}


def checked(folder: Path) -> None:
    """What ``interlock check`` does in the folder."""
    files = [load(str(path), path.name) for path in sorted(folder.glob("*.workflow.yaml"))]
    cache = cache_for(str(folder), str(folder))
    Batch(files, cache=cache).check()  # type: ignore[arg-type]
    cache.save()


@pytest.mark.parametrize("by", ["the server", "interlock check"])
def test_what_was_found_before_is_told_without_reading(folder: Path, by: str) -> None:
    first = told(started(folder)) if by == "the server" else None
    if first is None:
        checked(folder)
    index = started(folder)
    again = told(index)
    assert asleep(index) == set("abcdef")
    assert [one.model for one in index.entries()] == [None] * 6
    while index.wake_one():
        pass
    assert asleep(index) == set()
    assert told(index) == again
    assert first is None or first == again


def test_files_that_are_tied_to_what_has_changed_are_read(folder: Path) -> None:
    path = str(folder / "a.workflow.yaml")
    assert "IL413" not in {one.code for one in told(started(folder))[path]}
    (folder / "b.workflow.yaml").write_text(CHILD.replace("must", "most"))
    index = started(folder)
    found = told(index)
    assert asleep(index) == set("de")
    assert "IL413" in {one.code for one in found[path]}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_edited_while_others_sleep_is_judged_as_if_they_were_read(folder: Path, seed: int) -> None:
    told(started(folder))
    chance = random.Random(seed)
    texts = dict(FILES)
    index = started(folder)
    for number in range(25):
        name = chance.choice("abcdf")
        old, new = chance.choice(
            [
                ("workflow: child", "workflow: chill"),
                ("must", "most"),
                ("workflow: caller", "workflow: child"),
                ("{", ""),
            ]
        )
        texts[name] = FILES[name] if chance.random() < 0.3 else texts[name].replace(old, new, 1)
        if chance.random() < 0.5:
            (folder / f"{name}.workflow.yaml").write_text(texts[name])
            index.refresh(str(folder / f"{name}.workflow.yaml"))
        else:
            index.put(uri_of(str(folder / f"{name}.workflow.yaml")), "yaml", Lines(texts[name], "utf-16"), number)
        if chance.random() < 0.2:
            index.wake_one()
        now = told(index)
        opened = {Path(one.path).name[0]: one.lines.text for one in index.entries() if one.version is not None}
        assert now == told(started_without_memory(folder, opened))


def started_without_memory(folder: Path, opened: dict[str, str]) -> Index:
    index = Index("utf-16")
    for name, text in opened.items():
        index.put(uri_of(str(folder / f"{name}.workflow.yaml")), "yaml", Lines(text, "utf-16"), 1)
    for path in index.set_territories(territories([str(folder)])):
        index.refresh(path)
    for group in index.groups.values():
        group.memory = None
    index.finish()
    return index
