"""What is said of files while others of their workspace are still to be read."""

from __future__ import annotations

from pathlib import Path

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
