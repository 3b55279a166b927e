"""Settings that somebody is writing, and documents outside of all folders, which have settings all the same."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from client import CAPABILITIES, Client, Failure

OWN = """\
workflow: own
inputs:
  spare: string
steps:
  - {id: a, block: mail}
"""
CALLER = """\
workflow: caller
steps:
  - {id: a, run_workflow: {workflow: own, inputs: {spare: x}}}
"""
MANIFEST = '{"version": 1, "blocks": {"mail": {"doc": "Sends a mail."}}}'


def told(client: Client, path: Path) -> list[dict[str, Any]] | None:
    rows = client.published.get(path.as_uri())
    return rows[-1]["diagnostics"] if rows else None


def names(found: list[dict[str, Any]] | None) -> list[str | None] | None:
    return None if found is None else [one.get("code") for one in found]


def saved(client: Client, path: Path, text: str) -> None:
    path.write_text(text)
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "own.workflow.yaml").write_text(OWN)
    (tmp_path / "flows" / "caller.workflow.yaml").write_text(CALLER)
    (tmp_path / "interlock.blocks.json").write_text(MANIFEST)
    (tmp_path / "interlock.toml").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "line", "character", "message"),
    [
        ("# é\nzzz = 1\n", 1, 0, 'There is no setting "zzz"'),
        ("# é\nignore = [", 1, 0, "Not TOML"),
        ("\n\nignore = [\n\n", 2, 0, "Not TOML"),
        ("ignore = 3\n", 0, 9, "must be a list of texts"),
        ('blocks = ["none.json"]\n', 0, 10, 'no manifest of blocks at "none.json"'),
        ('[severity]\nunused-input = "loud"\n', 1, 15, "must be one of"),
        ('patterns = ["[b-a]"]\n', 0, 12, "no pattern for paths"),
    ],
)
def test_a_setting_with_a_fault_is_told_at_its_line_and_costs_nothing_else(
    client: Client, folder: Path, text: str, line: int, character: int, message: str
) -> None:
    settings = folder / "interlock.toml"
    settings.write_text(text)
    client.initialize(folder)
    client.wait(lambda: told(client, settings), "the settings")
    [row] = told(client, settings) or []
    assert row["range"]["start"] == {"line": line, "character": character}
    assert row["severity"] == 1
    assert message in row["message"]
    client.wait(lambda: names(told(client, folder / "flows" / "own.workflow.yaml")) == ["unused-input"], "the file")
    assert not told(client, folder / "flows" / "caller.workflow.yaml")


def test_two_faults_are_two(client: Client, folder: Path) -> None:
    settings = folder / "interlock.toml"
    settings.write_text('zzz = 1\nselect = 3\nignore = ["unused-input"]\n')
    client.initialize(folder)
    client.wait(lambda: len(told(client, settings) or []) == 2, "the settings")
    assert not told(client, folder / "flows" / "own.workflow.yaml")


def test_while_settings_are_no_toml_the_last_ones_hold(client: Client, folder: Path) -> None:
    settings, own = folder / "interlock.toml", folder / "flows" / "own.workflow.yaml"
    settings.write_text('[severity]\nunused-input = "error"\n')
    client.initialize(folder)
    client.wait(lambda: [one["severity"] for one in told(client, own) or []] == [1], "the severity")
    client.open(own.as_uri(), OWN)
    saved(client, settings, '[severity]\nunused-input = "error"\n[sev')
    client.wait(lambda: told(client, settings), "the settings")
    client.replace(own.as_uri(), OWN + "# more\n")
    assert [one["severity"] for one in client.diagnostics(own.as_uri())] == [1]
    saved(client, settings, '[severity]\nunused-input = "off"\n')
    client.wait(lambda: told(client, settings) == [] and told(client, own) == [], "the new settings")


def test_settings_are_checked_as_they_are_typed_and_hold_when_they_are_saved(client: Client, folder: Path) -> None:
    settings, own = folder / "interlock.toml", folder / "flows" / "own.workflow.yaml"
    client.initialize(folder)
    client.wait(lambda: names(told(client, own)) == ["unused-input"], "the file")
    client.open(settings.as_uri(), "", "toml")
    assert client.diagnostics(settings.as_uri()) == []
    client.replace(settings.as_uri(), 'ignore = ["unused-inputt"]')
    assert names(client.diagnostics(settings.as_uri())) == ["unknown-rule"]
    client.replace(settings.as_uri(), 'ignore = ["unused-input"')
    [row] = client.diagnostics(settings.as_uri())
    assert "Not TOML" in row["message"]
    client.replace(settings.as_uri(), 'ignore = ["unused-input"]')
    assert client.diagnostics(settings.as_uri()) == []
    assert names(told(client, own)) == ["unused-input"]
    settings.write_text('ignore = ["unused-input"]')
    client.notify("textDocument/didSave", {"textDocument": {"uri": settings.as_uri()}})
    client.wait(lambda: told(client, own) == [], "the silence")


def test_closing_settings_that_were_not_saved_tells_of_those_on_disk(client: Client, folder: Path) -> None:
    settings = folder / "interlock.toml"
    settings.write_text("zzz = 1\n")
    client.initialize(folder)
    client.wait(lambda: told(client, settings), "the settings")
    client.open(settings.as_uri(), "", "toml")
    assert client.diagnostics(settings.as_uri()) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": settings.as_uri()}})
    client.wait(lambda: told(client, settings), "those on disk")


def test_a_pyproject_of_others_is_not_ours(client: Client, folder: Path) -> None:
    project = folder / "pyproject.toml"
    client.initialize(folder)
    client.open(project.as_uri(), "[project", "toml")
    assert client.diagnostics(project.as_uri()) == []
    client.replace(project.as_uri(), "[tool.interlock]\nzzz = 1\n")
    [row] = client.diagnostics(project.as_uri())
    assert row["range"]["start"]["line"] == 1


def test_a_client_that_asks_is_given_the_settings_too(client: Client, folder: Path) -> None:
    settings = folder / "interlock.toml"
    document = {**CAPABILITIES["textDocument"], "diagnostic": {}}
    client.initialize(folder, capabilities={**CAPABILITIES, "textDocument": document})
    client.open(settings.as_uri(), "zzz = 1\n", "toml")

    def ask() -> Any:
        for _ in range(50):
            with contextlib.suppress(Failure):  # the text has changed meanwhile: ask again
                return client.request("textDocument/diagnostic", {"textDocument": {"uri": settings.as_uri()}})
        raise AssertionError("the server never answers")

    assert ["zzz" in one["message"] for one in ask()["items"]] == [True]


def test_a_manifest_that_is_no_json_is_told_and_its_last_blocks_stay(client: Client, folder: Path) -> None:
    manifest, own = folder / "interlock.blocks.json", folder / "flows" / "own.workflow.yaml"
    client.initialize(folder)
    client.wait(lambda: names(told(client, own)) == ["unused-input"], "the file")
    saved(client, manifest, MANIFEST[:-2])
    client.wait(lambda: told(client, manifest), "the manifest")
    client.open(own.as_uri(), OWN)
    assert names(client.diagnostics(own.as_uri())) == ["unused-input"]
    saved(client, manifest, MANIFEST.replace('"mail"', '"post"'))
    client.wait(lambda: told(client, manifest) == [], "the manifest to be whole")
    client.wait(lambda: "unknown-block" in (names(told(client, own)) or []), "the block to be gone")


# -- outside of all folders ----------------------------------------------------------------------


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_document_outside_has_the_workspace_of_the_settings_above_it(
    client: Client, folder: Path, elsewhere: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    client.initialize(*([tmp_path_factory.mktemp("other")] if elsewhere else []))
    for name, text, wanted in (("caller", CALLER, []), ("own", OWN, ["unused-input"])):
        uri = (folder / "flows" / f"{name}.workflow.yaml").as_uri()
        client.open(uri, text)
        assert names(client.diagnostics(uri)) == wanted
        assert all(names(one["diagnostics"]) in ([], wanted) for one in client.published[uri])
    found = client.request("textDocument/references", client.at(uri, 0, 11, context={"includeDeclaration": True}))
    assert len(found) == 2


def test_without_settings_it_is_seen_with_its_neighbours_alone(client: Client, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    text = "workflow: own\nsteps:\n  - {id: a, block: log, params: {message: x}}\n"
    (tmp_path / "own.workflow.yaml").write_text(text)
    (tmp_path / "deep" / "far.workflow.yaml").write_text(text.replace("own", "far"))
    client.initialize()
    uri = (tmp_path / "caller.workflow.yaml").as_uri()
    near = "workflow: caller\nsteps:\n  - {id: a, run_workflow: {workflow: own}}\n"
    client.open(uri, near)
    assert client.diagnostics(uri) == []
    client.replace(uri, near.replace("workflow: own", "workflow: far"))
    assert names(client.diagnostics(uri)) == ["unknown-workflow"]


def test_what_is_told_of_neighbours_goes_with_the_last_document(client: Client, folder: Path) -> None:
    own, caller = folder / "flows" / "own.workflow.yaml", folder / "flows" / "caller.workflow.yaml"
    client.initialize()
    client.open(caller.as_uri(), CALLER)
    client.wait(lambda: names(told(client, own)) == ["unused-input"], "the neighbour")
    client.notify("textDocument/didClose", {"textDocument": {"uri": caller.as_uri()}})
    client.wait(lambda: told(client, own) == [], "its leaving")


# -- manifests as places -------------------------------------------------------------------------

POST = """\
{
  "version": 1,
  "blocks": {
    "other": {"doc": "mail", "params": {"type": "object", "properties": {"mail": {}}}},
    "mail": {
      "doc": "Sends a mail.",
      "params": {"type": "object", "properties": {
        "to": {"type": "object", "properties": {"zip": {"type": "string"}}}}},
      "result": {"type": "object", "properties": {
        "sent": {"type": "object", "properties": {"at": {"type": "string"}}}}}
    }
  }
}
"""
USES = """\
workflow: uses
steps:
  - id: a
    block: mail
    params: {to: {zip: "1"}}
  - id: b
    block: log
    params: {message: "{a.sent.at}"}
"""


@pytest.mark.parametrize(
    ("line", "character", "wanted"),
    [
        (3, 12, (4, 5, 9)),
        (4, 14, (7, 9, 11)),
        (4, 19, (7, 49, 52)),
        (7, 28, (9, 9, 13)),
        (7, 32, (9, 51, 53)),
        (6, 12, None),
        (7, 14, None),
    ],
)
def test_the_definition_of_a_block_is_in_its_manifest(
    client: Client, tmp_path: Path, line: int, character: int, wanted: tuple[int, int, int] | None
) -> None:
    manifest, path = tmp_path / "interlock.blocks.json", tmp_path / "uses.workflow.yaml"
    manifest.write_text(POST)
    path.write_text(USES)
    client.initialize(tmp_path)
    client.open(path.as_uri(), USES)
    found = client.request("textDocument/definition", client.at(path.as_uri(), line, character))
    if wanted is None:
        assert found is None
        return
    [place] = found
    assert place["uri"] == manifest.as_uri()
    row, start, end = wanted
    assert place["range"] == {"start": {"line": row, "character": start}, "end": {"line": row, "character": end}}


def test_completion_in_settings(client: Client, folder: Path) -> None:
    uri = (folder / "interlock.toml").as_uri()
    client.initialize(folder)
    client.open(uri, 'ignore = ["unused-in"]\n', "toml")
    items = client.request("textDocument/completion", client.at(uri, 0, 20))["items"]
    [item] = [one for one in items if one["label"] == "unused-input"]
    assert item["textEdit"]["range"] == {"start": {"line": 0, "character": 11}, "end": {"line": 0, "character": 20}}
    assert "nothing reads" in client.request("completionItem/resolve", item)["documentation"]["value"]
