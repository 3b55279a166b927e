"""What is wrong is told for the newest version, completely, and for files that nobody has opened."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from client import CAPABILITIES, Client, edit
from documents import WORKFLOW, Opened

BROKEN = "workflow: a\nsteps:\n  - id: a\n    blok: log\n    params: {message: hi}\n"


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in found]


def test_an_opened_file_is_checked(shared: Client) -> None:
    opened = Opened(shared, BROKEN)
    [one] = opened.diagnostics()
    assert one["code"] == "unknown-field"
    assert one["severity"] == 1
    assert one["source"] == "interlock"
    assert opened.said(one["range"]) == "blok"
    assert 'Did you mean "block"?' in one["message"]
    assert one["codeDescription"]["href"].endswith("IL103-unknown-field.md")


def test_an_edit_mends_what_it_mends(shared: Client) -> None:
    opened = Opened(shared, BROKEN)
    assert names(opened.diagnostics()) == ["unknown-field"]
    shared.change(opened.uri, edit((3, 4), (3, 8), "block"))
    assert shared.diagnostics(opened.uri) == []


def test_columns_are_utf_16_units(shared: Client) -> None:
    opened = Opened(shared, 'workflow: a\nsteps: [{id: "😀", blok: log, params: {message: x}}]\n')
    found = {one["code"]: one for one in opened.diagnostics()}
    assert found["bad-name"]["range"] == {"start": {"line": 1, "character": 13}, "end": {"line": 1, "character": 17}}
    assert found["unknown-field"]["range"]["start"]["character"] == 19


def test_other_places_of_the_story_are_told(shared: Client) -> None:
    text = "workflow: a\nsteps:\n  - id: a\n    block: log\n    params: {message: x}\n"
    text += "  - id: a\n    block: log\n    params: {message: x}\n"
    opened = Opened(shared, text)
    [one] = opened.diagnostics()
    assert one["code"] == "duplicate-id"
    [related] = one["relatedInformation"]
    assert related["location"]["uri"] == opened.uri
    assert opened.said(related["location"]["range"]) == "a"


def test_what_is_of_no_use_is_tagged_as_unnecessary(shared: Client) -> None:
    text = "workflow: a\ninputs:\n  spare: string\nsteps:\n  - id: a\n    block: log\n    params: {message: x}\n"
    [one] = Opened(shared, text).diagnostics()
    assert one["code"] == "unused-input"
    assert one["tags"] == [1]


def test_a_burst_of_edits_tells_nothing_of_versions_in_between(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    assert opened.diagnostics() == []
    before = len(shared.published[opened.uri])
    messages = b""
    for number in range(2, 42):
        shared.versions[opened.uri] = number
        messages += shared.frame(
            {
                "jsonrpc": "2.0",
                "method": "textDocument/didChange",
                "params": {
                    "textDocument": {"uri": opened.uri, "version": number},
                    "contentChanges": [edit((0, 0), (0, 0), "#"), edit((0, 0), (0, 1), "")],
                },
            }
        )
    shared.write(messages)
    assert shared.diagnostics(opened.uri) == []
    assert len(shared.published[opened.uri]) - before <= 3


def test_a_document_broken_in_the_middle_keeps_what_is_wrong_elsewhere(shared: Client) -> None:
    text = BROKEN + '  - id: b\n    block: "log\n  - id: c\n    blok: log\n    params: {message: x}\n'
    found = Opened(shared, text).diagnostics()
    assert names(found).count("unknown-field") == 2
    assert "yaml-syntax" in names(found)


def test_what_was_wrong_before_is_not_told_of_a_later_text(shared: Client) -> None:
    opened = Opened(shared, BROKEN)
    opened.diagnostics()
    opened.replace(WORKFLOW)
    assert opened.diagnostics() == []


def test_a_closed_file_that_is_nowhere_else_is_forgotten(shared: Client) -> None:
    opened = Opened(shared, BROKEN)
    opened.diagnostics()
    shared.notify("textDocument/didClose", {"textDocument": {"uri": opened.uri}})
    shared.wait(lambda: shared.published[opened.uri][-1]["diagnostics"] == [], "the last word")


def test_an_untitled_document_is_checked_once_it_says_that_it_is_a_workflow(shared: Client) -> None:
    shared.open("untitled:Untitled-1", "a: 1\n")
    shared.replace("untitled:Untitled-1", BROKEN)
    assert names(shared.diagnostics("untitled:Untitled-1")) == ["unknown-field"]


def test_other_yaml_is_left_alone(shared: Client) -> None:
    shared.open("file:///nowhere/compose.yaml", "services: {}\n")
    opened = Opened(shared, BROKEN)
    opened.diagnostics()
    assert "file:///nowhere/compose.yaml" not in shared.published


def test_a_first_comment_makes_any_yaml_a_workflow_file(shared: Client) -> None:
    uri = "file:///nowhere/other.yaml"
    shared.open(uri, "# interlock: workflow\n" + BROKEN)
    assert names(shared.diagnostics(uri)) == ["unknown-field"]


# -- pull ----------------------------------------------------------------------------------------


def test_a_client_that_asks_gets_answers_and_no_messages(client: Client) -> None:
    capabilities = {**CAPABILITIES, "textDocument": {**CAPABILITIES["textDocument"], "diagnostic": {}}}
    client.initialize(capabilities=capabilities)
    opened = Opened(client, BROKEN)
    report = opened.whole("diagnostic")
    assert report["kind"] == "full"
    assert names(report["items"]) == ["unknown-field"]
    again = opened.whole("diagnostic", previousResultId=report["resultId"])
    assert again == {"kind": "unchanged", "resultId": report["resultId"]}
    opened.replace(WORKFLOW)
    changed = opened.whole("diagnostic", previousResultId=report["resultId"])
    assert changed["kind"] == "full"
    assert changed["items"] == []
    assert client.published == {}


def test_the_whole_workspace_can_be_asked_for(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.workflow.yaml").write_text(BROKEN)
    client.initialize(tmp_path)
    uri = (tmp_path / "a.workflow.yaml").as_uri()

    def asked() -> Any:
        report = client.request("workspace/diagnostic", {"previousResultIds": []})
        return [one for one in report["items"] if one["uri"] == uri]

    client.wait(lambda: client.published.get(uri), "the file to be read")
    [item] = asked()
    assert names(item["items"]) == ["unknown-field"]
    previous = [{"uri": uri, "value": item["resultId"]}]
    report = client.request("workspace/diagnostic", {"previousResultIds": previous})
    assert [one["kind"] for one in report["items"]] == ["unchanged"]


# -- several files -------------------------------------------------------------------------------

CHILD = 'workflow: child\ninputs: {n: string}\nsteps:\n  - id: a\n    block: log\n    params: {message: "{inputs.n}"}\n'
PARENT = "workflow: parent\nsteps:\n  - id: a\n    run_workflow: {workflow: child, result_key: r, inputs: {n: x}}\n"


def last(client: Client, path: Path) -> Any:
    found = client.published.get(path.as_uri())
    return found[-1]["diagnostics"] if found else None


def test_files_that_nobody_has_opened_are_told_of(client: Client, tmp_path: Path) -> None:
    child, parent = tmp_path / "child.workflow.yaml", tmp_path / "parent.workflow.yaml"
    child.write_text(CHILD)
    parent.write_text(PARENT)
    client.initialize(tmp_path)
    client.open(child.as_uri(), CHILD)
    assert client.diagnostics(child.as_uri()) == []
    client.replace(child.as_uri(), CHILD.replace("{n: string}", "{n: integer}"))
    client.wait(lambda: names(last(client, parent) or []) == ["child-inputs"], "the parent's complaint")
    client.replace(child.as_uri(), CHILD)
    client.wait(lambda: last(client, parent) == [], "the parent's peace")


def test_files_changed_outside_of_the_editor_are_read_again(client: Client, tmp_path: Path) -> None:
    child, parent = tmp_path / "child.workflow.yaml", tmp_path / "parent.workflow.yaml"
    child.write_text(CHILD)
    parent.write_text(PARENT)
    client.initialize(tmp_path)
    client.open(parent.as_uri(), PARENT)
    client.wait(lambda: last(client, parent) == [], "the workspace to be read")

    def tell(kind: int) -> None:
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": child.as_uri(), "type": kind}]})

    child.unlink()
    tell(3)
    client.wait(lambda: names(last(client, parent)) == ["unknown-workflow"], "the missing child")
    child.write_text(CHILD)
    tell(1)
    client.wait(lambda: last(client, parent) == [], "the child to be back")
    child.write_text(CHILD.replace("workflow: child", "workflow: kid"))
    tell(2)
    client.wait(lambda: names(last(client, parent)) == ["unknown-workflow"], "the renamed child")


def test_an_open_file_is_as_its_editor_has_it_not_as_it_is_on_disk(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a.workflow.yaml"
    path.write_text(BROKEN)
    client.initialize(tmp_path)
    client.open(path.as_uri(), WORKFLOW)
    assert client.diagnostics(path.as_uri()) == []
    client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
    client.wait(lambda: names(last(client, path)) == ["unknown-field"], "the text on disk")


def test_folders_are_separate_workspaces_and_can_come_and_go(client: Client, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "interlock.toml").write_text("")
    (one / "child.workflow.yaml").write_text(CHILD)
    (two / "parent.workflow.yaml").write_text(PARENT)
    client.initialize(one)
    added = [{"uri": two.as_uri(), "name": "two"}]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
    parent = two / "parent.workflow.yaml"
    client.wait(lambda: names(last(client, parent) or []) == ["unknown-workflow"], "the other folder")
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": added}})
    client.wait(lambda: last(client, parent) == [], "its leaving")


def test_reading_many_files_shows_progress(client: Client, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"w{number}.workflow.yaml").write_text(CHILD.replace("workflow: child", f"workflow: w{number}"))
    client.initialize(tmp_path)
    client.wait(lambda: [n for m, n in client.notes if m == "$/progress" and n["value"]["kind"] == "end"], "the end")
    assert [method for method, _ in client.asked if method == "window/workDoneProgress/create"]
    kinds = [note["value"]["kind"] for method, note in client.notes if method == "$/progress"]
    assert kinds[0] == "begin"
    assert "report" in kinds


# -- incremental is the same as fresh ------------------------------------------------------------

PIECES = [
    "  - id: x\n    block: log\n",
    "}",
    "{",
    '"',
    "\n",
    "  ",
    "- ",
    ": ",
    "inputs.",
    "fetch",
    "#",
    "\r\n",
    "&a ",
    "*a",
    "😀",
]


def test_after_any_edits_the_diagnostics_are_those_of_the_text_read_anew(shared: Client) -> None:
    chance = random.Random(11)
    opened = Opened(shared, WORKFLOW)
    text = WORKFLOW
    for round_number in range(40):
        for _ in range(chance.randint(1, 3)):
            start = chance.randint(0, len(text))
            end = min(len(text), start + chance.choice((0, 0, 1, 5, 40)))
            new = chance.choice(PIECES) if chance.random() < 0.7 else ""
            if round_number % 8 == 7:
                start, end, new = 0, len(text), WORKFLOW
            first, last = (Place(text, at) for at in (start, end))
            shared.change(opened.uri, edit(first, last, new))
            text = text[:start] + new + text[end:]
        fresh = Opened(shared, text)
        assert shared.diagnostics(opened.uri) == relocated(fresh.diagnostics(), fresh.uri, opened.uri)
        shared.notify("textDocument/didClose", {"textDocument": {"uri": fresh.uri}})


def relocated(found: list[dict[str, Any]], old: str, new: str) -> Any:
    import json

    return json.loads(json.dumps(found).replace(old, new))


def Place(text: str, offset: int) -> tuple[int, int]:
    from interlock.server.lsp.document import Lines

    return tuple(Lines(text, "utf-16").place(offset))  # type: ignore[return-value]


# -- configuration -------------------------------------------------------------------------------

SPARE = "workflow: a\ninputs:\n  spare: string\nsteps:\n  - id: a\n    block: log\n    params: {message: x}\n"


def test_the_configuration_of_a_workspace_holds_and_can_change(client: Client, tmp_path: Path) -> None:
    settings, path = tmp_path / "interlock.toml", tmp_path / "flows" / "a.yaml"
    path.parent.mkdir()
    settings.write_text('patterns = ["flows/*.yaml"]\n[severity]\nunused-input = "error"\n')
    path.write_text(SPARE)
    client.initialize(tmp_path)
    client.wait(lambda: [one["severity"] for one in last(client, path) or []] == [1], "the severity")
    settings.write_text('patterns = ["flows/*.yaml"]\nignore = ["unused-input"]\n')
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 2}]})
    client.wait(lambda: last(client, path) == [], "the silence")


def test_what_is_wrong_with_settings_is_told_at_the_settings(client: Client, tmp_path: Path) -> None:
    settings, path = tmp_path / "interlock.toml", tmp_path / "a.workflow.yaml"
    settings.write_text('# é\nignore = ["unused-inputt"]\n')
    path.write_text(SPARE)
    client.initialize(tmp_path)
    client.wait(lambda: names(last(client, settings) or []) == ["unknown-rule"], "the settings")
    assert last(client, settings)[0]["range"]["start"] == {"line": 1, "character": 10}
    settings.write_text('ignore = ["unused-input"]\n')
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": settings.as_uri(), "type": 2}]})
    client.wait(lambda: last(client, settings) == [] and last(client, path) == [], "the silence")


def test_a_file_that_is_renamed_elsewhere_is_followed(client: Client, tmp_path: Path) -> None:
    child, parent = tmp_path / "child.workflow.yaml", tmp_path / "parent.workflow.yaml"
    child.write_text(CHILD)
    parent.write_text(PARENT)
    client.initialize(tmp_path)
    client.open(parent.as_uri(), PARENT)
    client.wait(lambda: last(client, parent) == [], "the workspace to be read")

    def tell(old: Path, new: Path) -> None:
        old.rename(new)
        changes = [{"uri": old.as_uri(), "type": 3}, {"uri": new.as_uri(), "type": 1}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    tell(child, tmp_path / "child.txt")
    client.wait(lambda: names(last(client, parent)) == ["unknown-workflow"], "the child to be none")
    tell(tmp_path / "child.txt", tmp_path / "kid.workflow.yaml")
    client.wait(lambda: last(client, parent) == [], "the child to be back")


def test_a_configuration_that_cannot_be_read_is_told_and_the_files_are_checked_all_the_same(
    client: Client, tmp_path: Path
) -> None:
    (tmp_path / "interlock.toml").write_text("patterns = 3\n")
    path = tmp_path / "a.workflow.yaml"
    path.write_text(SPARE)
    client.initialize(tmp_path)
    client.wait(lambda: names(last(client, path) or []) == ["unused-input"], "the file")
    client.wait(lambda: last(client, tmp_path / "interlock.toml"), "the settings")
    [told] = last(client, tmp_path / "interlock.toml")
    assert "must be a list of texts" in told["message"]
    assert not any(method == "window/showMessage" for method, _ in client.notes)


def test_blocks_of_a_host_are_known_by_its_manifest(client: Client, tmp_path: Path) -> None:
    (tmp_path / "interlock.blocks.json").write_text('{"version": 1, "blocks": {"mail": {"doc": "Sends a mail."}}}')
    path = tmp_path / "a.workflow.yaml"
    text = "workflow: a\nsteps:\n  - id: a\n    block: mail\n"
    path.write_text(text)
    client.initialize(tmp_path)
    client.wait(lambda: [one for one in client.notes if one[0] == "$/progress"] or True)
    client.open(path.as_uri(), text)
    client.wait(lambda: last(client, path) == [], "the block")
