"""Questions about the whole workspace are answered from the whole workspace, however early they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from client import CAPABILITIES, Client, Failure
from documents import edits_of

BASE = """\
workflow: base.one
inputs: {n: integer}
steps:
  - {id: go, block: set, params: {n: "{inputs.n}"}}
"""
COUNT = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.workflow.yaml").write_text(BASE)
    for number in range(COUNT):
        text = (
            f"workflow: call{number}\nsteps:\n  - {{id: a, run_workflow: {{workflow: base.one, inputs: {{n: 1}}}}}}\n"
        )
        (tmp_path / f"call{number}.workflow.yaml").write_text(text)
    return tmp_path


def begun(client: Client, folder: Path) -> str:
    """A client that opens a file and asks at once."""
    client.initialize(folder)
    uri = (folder / "base.workflow.yaml").as_uri()
    client.open(uri, BASE)
    return uri


def outcome(client: Client, asked: int) -> Any:
    """An answer, or the code of an error."""
    try:
        return client.result(asked)
    except Failure as failure:
        return failure.code


@pytest.mark.parametrize("again", [False, True])
def test_references_and_renames_right_after_the_start(client: Client, folder: Path, again: bool) -> None:
    if again:  # a server before this one has kept what it found
        first = Client()
        uri = begun(first, folder)
        first.request("textDocument/references", first.at(uri, 0, 12, context={"includeDeclaration": True}))
        first.diagnostics(uri)
        first.close()
    uri = begun(client, folder)
    asked = [
        client.begin("textDocument/rename", client.at(uri, 0, 12, newName="base.two")),
        client.begin("textDocument/references", client.at(uri, 0, 12, context={"includeDeclaration": True})),
        client.begin("textDocument/references", client.at(uri, 1, 9, context={"includeDeclaration": True})),
        client.begin("textDocument/prepareCallHierarchy", client.at(uri, 0, 12)),
        client.begin("workspace/symbol", {"query": "call"}),
    ]
    renamed, named, inputs, [item], symbols = (client.result(number) for number in asked)
    assert len(renamed["documentChanges"]) == COUNT + 1
    assert len(edits_of(renamed, (folder / "call7.workflow.yaml").as_uri())) == 1
    assert len(named) == COUNT + 1
    assert len(inputs) == COUNT + 2
    assert len(client.request("callHierarchy/incomingCalls", {"item": item})) == COUNT
    assert {f"call{number}" for number in range(COUNT)} <= {one["name"] for one in symbols}


def test_a_lens_counts_callers_that_are_read_later(client: Client, folder: Path) -> None:
    uri = begun(client, folder)
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any(str(COUNT) in one["command"]["title"] for one in lenses)


def test_a_question_that_waits_is_outdated_by_an_edit_of_its_document(client: Client, folder: Path) -> None:
    uri = begun(client, folder)
    asked = client.begin("textDocument/rename", client.at(uri, 0, 12, newName="base.two"))
    client.replace(uri, "# a line more\n" + BASE)
    found = outcome(client, asked)
    # Where the scan was over before the edit came, there is an answer for the text as it was.
    assert found == -32801 or len(found["documentChanges"]) == COUNT + 1


def test_a_question_that_waits_can_be_cancelled(client: Client, folder: Path) -> None:
    uri = begun(client, folder)
    asked = client.begin("textDocument/references", client.at(uri, 0, 12, context={"includeDeclaration": True}))
    client.notify("$/cancelRequest", {"id": asked})
    found = outcome(client, asked)
    assert found == -32800 or len(found) == COUNT + 1
    assert client.request("textDocument/hover", client.at(uri, 0, 12)) is not None


def test_lenses_are_asked_for_again_when_the_last_file_was_read(client: Client, folder: Path) -> None:
    first = Client()
    uri = begun(first, folder)
    first.request("textDocument/references", first.at(uri, 0, 12, context={"includeDeclaration": True}))
    first.diagnostics(uri)
    first.close()
    workspace = {**CAPABILITIES["workspace"], "codeLens": {"refreshSupport": True}}
    client.initialize(folder, capabilities={**CAPABILITIES, "workspace": workspace})
    client.open(uri, BASE)
    client.wait(lambda: any(method == "workspace/codeLens/refresh" for method, _ in client.asked))
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any(str(COUNT) in one["command"]["title"] for one in lenses)
