"""Every feature, asked by a client of a running server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from client import CAPABILITIES, Client, Failure
from documents import WORKFLOW, Opened, apply, edits_of

CHILD = """\
workflow: child
inputs:
  n: {type: integer, default: 1}
steps:
  - id: work
    concurrency:
      resource: shelf
      steps:
        - id: a
          block: log
          params: {message: "{inputs.n}"}
outputs: {done: "yes"}
"""
PARENT = """\
workflow: parent
steps:
  - id: call
    run_workflow:
      workflow: child
      inputs: {n: 3}
      result_key: answer
  - id: say
    block: log
    params: {message: "{answer.done}"}
  - id: mine
    concurrency:
      resource: shelf
      steps:
        - id: b
          block: log
          params: {message: x}
"""


class Both:
    def __init__(self, client: Client, folder: Path) -> None:
        (folder / "child.workflow.yaml").write_text(CHILD)
        (folder / "parent.workflow.yaml").write_text(PARENT)
        client.initialize(folder)
        self.child = self.opened(client, folder / "child.workflow.yaml", CHILD)
        self.parent = self.opened(client, folder / "parent.workflow.yaml", PARENT)
        self.parent.diagnostics()

    @staticmethod
    def opened(client: Client, path: Path, text: str) -> Opened:
        found = Opened.__new__(Opened)
        found.client, found.uri, found.text = client, path.as_uri(), text
        client.open(found.uri, text)
        return found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Two workflows in one workspace, open in a server of their own; nobody changes them."""
    client = Client()
    yield Both(client, tmp_path_factory.mktemp("both"))
    client.close()


# -- completion, hover, signatures ---------------------------------------------------------------


def test_completion_replaces_the_word_and_is_in_order(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("    block: log\n", "    block: log\n    cost"))
    items = opened.ask("completion", "    cost", 8)["items"]
    [item] = [one for one in items if one["label"] == "cost_units"]
    assert opened.said(item["textEdit"]["range"]) == "cost"
    assert item["textEdit"]["newText"] == "cost_units: "
    assert [one["sortText"] for one in items] == sorted(one["sortText"] for one in items)


def test_documentation_comes_when_it_is_asked_for(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    items = opened.ask("completion", "block: log", 7)["items"]
    http = next(one for one in items if one["label"] == "http")
    assert "documentation" not in http
    resolved = shared.request("completionItem/resolve", http)
    assert resolved["documentation"]["kind"] == "markdown"
    assert "Sends one HTTP request." in resolved["documentation"]["value"]


def test_half_typed_expressions_are_completed(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW + '  x: "{inputs.')
    labels = [one["label"] for one in opened.ask("completion", '  x: "{inputs.', 14)["items"]]
    assert labels[:2] == ["order", "note"]


def test_a_client_without_snippets_gets_plain_text(client: Client) -> None:
    client.initialize(capabilities={})
    opened = Opened(client, "workflow: a\nsteps:\n  - ")
    items = opened.ask("completion", "  - ", 4)["items"]
    block = next(one for one in items if one["label"] == "block")
    assert "$" not in block["textEdit"]["newText"]
    assert "insertTextFormat" not in block


def test_a_blank_in_a_sentence_is_no_question(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    context = {"triggerKind": 2, "triggerCharacter": " "}
    assert opened.ask("completion", "block: log", 2, context=context)["items"] == []


@pytest.mark.parametrize(
    ("needle", "into", "text"),
    [
        ("block: http", 2, "One unit of outside work."),
        ("block: http", 8, "Sends one HTTP request."),
        ("max_transitions", 2, "A completed run uses"),
        ("{fetch.json}", 2, 'step "fetch"'),
        ("fetch.status ==", 8, "fetch.status: int"),
        ("size(", 2, "size(string) -> int"),
        ("inputs.note)", 9, "string"),
        ("resource:", 2, "At most 1 may hold it"),
        ("order: string", 1, "Must be given."),
        ("url: ", 1, "required"),
    ],
)
def test_hover_says_what_stands_there(shared: Client, needle: str, into: int, text: str) -> None:
    found = Opened(shared, WORKFLOW).ask("hover", needle, into)
    assert found is not None
    assert text in found["contents"]["value"]


def test_hover_shows_who_else_takes_a_key(both: Both) -> None:
    found = both.parent.ask("hover", "shelf", 1)
    assert "`child`: step `work`" in found["contents"]["value"]


def test_hover_on_a_workflow_says_what_it_takes_and_gives(both: Both) -> None:
    text = both.parent.ask("hover", "workflow: child", 12)["contents"]["value"]
    assert "`n`: int (optional)" in text
    assert "Outputs: `done`" in text
    assert "Costs" in text


def test_signature_help_follows_the_arguments(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("size(inputs.note)", "inputs.note.indexOf('a', "))
    found = opened.ask("signatureHelp", "'a', ", 5)
    assert found["activeParameter"] == 1
    active = found["signatures"][found["activeSignature"]]
    assert active["label"] == "string.indexOf(string, int) -> int"
    start, end = active["parameters"][1]["label"]
    assert active["label"][start:end] == "int"


# -- names ---------------------------------------------------------------------------------------


def test_definition_of_a_name_in_a_template(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    [place] = opened.ask("definition", "fetch.status ==", 2)
    assert place["uri"] == opened.uri
    assert place["range"] == opened.range_of("fetch")


def test_references_reach_into_templates_and_other_files(both: Both) -> None:
    found = both.child.ask("references", "n: {type", 0, context={"includeDeclaration": True})
    assert {(one["uri"], one["range"]["start"]["line"]) for one in found} == {
        (both.child.uri, 2),
        (both.child.uri, 10),
        (both.parent.uri, 5),
    }


def test_definition_crosses_files(both: Both) -> None:
    [place] = both.parent.ask("definition", "workflow: child", 12)
    assert place["uri"] == both.child.uri
    assert place["range"] == both.child.range_of("child")


def test_highlights_tell_definitions_from_uses(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    kinds = [one["kind"] for one in opened.ask("documentHighlight", "fetch.status ==", 2)]
    assert sorted(kinds) == [2, 2, 2, 3]


@pytest.mark.parametrize(
    ("needle", "into", "new", "count"),
    [
        ("id: fetch", 4, "get", 4),
        ("order: string", 0, "number", 3),
        ("TOKEN", 0, "KEY", 2),
        ("left:", 0, "west", 2),
        ("id: one", 4, "first", 2),
    ],
)
def test_renaming_leaves_a_workflow_as_healthy_as_it_was(
    shared: Client, needle: str, into: int, new: str, count: int
) -> None:
    opened = Opened(shared, WORKFLOW)
    assert opened.diagnostics() == []
    prepared = opened.ask("prepareRename", needle, into)
    assert opened.said(prepared["range"]) == prepared["placeholder"]
    edits = edits_of(opened.ask("rename", needle, into, newName=new), opened.uri)
    assert len(edits) == count
    opened.replace(opened.edited(edits))
    assert new in opened.text
    assert opened.diagnostics() == []


def test_renaming_a_workflow_renames_its_callers(both: Both) -> None:
    change = both.child.ask("rename", "child", 1, newName="kid")
    assert both.parent.edited(edits_of(change, both.parent.uri)) == PARENT.replace("workflow: child", "workflow: kid")
    assert both.child.edited(edits_of(change, both.child.uri)) == CHILD.replace("workflow: child", "workflow: kid")


def test_renaming_a_result_key(both: Both) -> None:
    edits = edits_of(both.parent.ask("rename", "answer.done", 1, newName="reply"), both.parent.uri)
    assert both.parent.edited(edits) == PARENT.replace("answer", "reply")


def test_renaming_an_anchor(shared: Client) -> None:
    text = WORKFLOW.replace("{n: 1}", "&p {n: 1}").replace("{n: 2}", "*p")
    opened = Opened(shared, text)
    edits = edits_of(opened.ask("rename", "*p", 1, newName="both_params"), opened.uri)
    assert opened.edited(edits) == text.replace("&p", "&both_params").replace("*p", "*both_params")


@pytest.mark.parametrize(
    ("needle", "into", "new", "why"),
    [
        ("id: fetch", 4, "told", "already"),
        ("id: fetch", 4, "one", "inside it already"),
        ("id: one", 4, "fetch", "already"),
        ("id: fetch", 4, "inputs", "root"),
        ("id: fetch", 4, "2nd", "not made of"),
        ("order: string", 0, "note", "already"),
        ("left:", 0, "right", "already"),
        ("order.ship", 0, "No Name", "lower-case"),
    ],
)
def test_a_name_that_would_collide_is_refused_with_a_reason(
    shared: Client, needle: str, into: int, new: str, why: str
) -> None:
    opened = Opened(shared, WORKFLOW)
    with pytest.raises(Failure, match=why) as caught:
        opened.ask("rename", needle, into, newName=new)
    assert caught.value.code == -32803


def test_sibling_branches_may_use_one_name(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    edits = edits_of(opened.ask("rename", "id: one", 4, newName="two"), opened.uri)
    opened.replace(opened.edited(edits))
    assert opened.diagnostics() == []


def test_what_is_no_name_cannot_be_renamed(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    assert opened.ask("prepareRename", "block:", 1) is None


# -- structure -----------------------------------------------------------------------------------


def flat(symbols: list[dict[str, Any]], depth: int = 0) -> list[tuple[int, str]]:
    found = []
    for one in symbols:
        found.append((depth, one["name"]))
        found.extend(flat(one.get("children", []), depth + 1))
    return found


def test_symbols_are_a_tree(shared: Client) -> None:
    found = flat(Opened(shared, WORKFLOW).whole("documentSymbol"))
    assert found == [
        (0, "order.ship"), (1, "order"), (1, "note"), (1, "TOKEN"), (1, "fetch"), (1, "both"), (2, "left"),
        (3, "one"), (2, "right"), (3, "two"), (1, "hold"), (2, "write"), (1, "told"), (1, "status"),
    ]  # fmt: skip


def test_every_symbol_holds_its_name_and_what_is_inside_it(shared: Client) -> None:
    def check(one: dict[str, Any]) -> None:
        def key(place: dict[str, int]) -> tuple[int, int]:
            return (place["line"], place["character"])

        for inner in [one["selectionRange"], *(child["range"] for child in one.get("children", []))]:
            assert key(one["range"]["start"]) <= key(inner["start"])
            assert key(inner["end"]) <= key(one["range"]["end"])
        for child in one.get("children", []):
            check(child)

    for symbol in Opened(shared, WORKFLOW).whole("documentSymbol"):
        check(symbol)


def test_workspace_symbols_are_found_by_their_letters(both: Both) -> None:
    found = both.child.client.request("workspace/symbol", {"query": "wrk"})
    assert [one["name"] for one in found] == ["work"]
    assert both.child.client.request("workspace/symbol", {"query": "prnt"})[0]["name"] == "parent"


def test_steps_and_comments_fold(shared: Client) -> None:
    opened = Opened(shared, "# one\n# two\n" + WORKFLOW)
    found = {(one["startLine"], one["endLine"]) for one in opened.whole("foldingRange")}
    assert (0, 1) in found
    line = opened.place("- id: both")["line"]
    assert any(start == line for start, _ in found)


def test_selections_grow(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    [found] = opened.whole("selectionRange", positions=[opened.place("fetch.status ==", 2)])
    texts = []
    at: Any = found
    while at is not None:
        texts.append(opened.said(at["range"]))
        at = at.get("parent")
    assert texts[:2] == ["fetch", "fetch.status"]
    assert all(small in large for small, large in pairwise(texts))
    assert texts[-1].startswith("workflow: order.ship")


def test_links_lead_to_other_workflows_and_to_pages_of_rules(both: Both) -> None:
    [link] = both.parent.whole("documentLink")
    assert link["target"] == both.child.uri + "#L1"
    opened = Opened(both.parent.client, "# interlock: ignore[unused-input] why\n" + WORKFLOW)
    [page] = opened.whole("documentLink")
    assert page["target"].endswith("IL210-unused-input.md")


def test_call_hierarchy_both_ways(both: Both) -> None:
    client = both.child.client
    [child] = both.parent.ask("prepareCallHierarchy", "workflow: child", 12)
    assert child["name"] == "child"
    [incoming] = client.request("callHierarchy/incomingCalls", {"item": child})
    assert incoming["from"]["name"] == "parent"
    assert both.parent.said(incoming["fromRanges"][0]) == "child"
    [outgoing] = client.request("callHierarchy/outgoingCalls", {"item": incoming["from"]})
    assert outgoing["to"]["name"] == "child"


def test_call_hierarchy_shows_waits_beside_the_starts_that_they_are_for(shared: Client) -> None:
    text = """\
workflow: starter
steps:
  - id: go
    start_workflows: {items: [{}], workflow: starter, result_key: ids, group_key: g}
  - id: rest
    wait_for_workflow_group: {group: g, result_key: all}
"""
    opened = Opened(shared, text)
    [item] = opened.ask("prepareCallHierarchy", "workflow: starter", 12)
    [outgoing] = shared.request("callHierarchy/outgoingCalls", {"item": item})
    assert [opened.said(one) for one in outgoing["fromRanges"]] == ["starter", "wait_for_workflow_group"]


# -- tokens, hints, lenses -----------------------------------------------------------------------


def decoded(text: str, data: list[int], legend: list[str]) -> list[tuple[str, str]]:
    lines = text.split("\n")
    line = character = 0
    found = []
    for at in range(0, len(data), 5):
        down, right, length, kind, _ = data[at : at + 5]
        line, character = line + down, right if down else character + right
        found.append((lines[line][character : character + length], legend[kind]))
    return found


def test_tokens_say_what_the_words_are(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    legend = shared.server["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
    found = decoded(opened.text, opened.whole("semanticTokens/full")["data"], legend)
    for token in (
        ("steps", "keyword"), ("block", "keyword"), ("http", "namespace"), ("url", "property"),
        ("inputs", "parameter"), ("fetch", "variable"), ("size", "function"), ("&&", "operator"),
        ("200", "number"), ("order.ship", "class"),
    ):  # fmt: skip
        assert token in found, token


def test_tokens_of_a_range_are_a_part_of_all(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    legend = shared.server["capabilities"]["semanticTokensProvider"]["legend"]["tokenTypes"]
    every = decoded(opened.text, opened.whole("semanticTokens/full")["data"], legend)
    some = decoded(opened.text, opened.whole("semanticTokens/range", range=opened.range_of("when: "))["data"], legend)
    assert ("when", "property") in some
    assert len(some) < len(every)
    assert set(some) <= set(every)


def test_the_difference_of_tokens_leads_from_the_old_to_the_new(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    before = opened.whole("semanticTokens/full")
    opened.replace(WORKFLOW.replace("block: log", "block: set"))
    delta = opened.whole("semanticTokens/full/delta", previousResultId=before["resultId"])
    data = list(before["data"])
    for change in sorted(delta["edits"], key=lambda one: one["start"], reverse=True):
        data[change["start"] : change["start"] + change["deleteCount"]] = change.get("data", [])
    assert data == opened.whole("semanticTokens/full")["data"]


def test_hints_show_defaults_budgets_and_durations(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    labels = [one["label"] for one in opened.whole("inlayHint", range=everything)]
    assert "limit: 1, on_busy: wait, lifetime: step" in labels
    assert "limit: 2, on_error: fail" in labels
    assert "= 1m30s" in labels
    assert any(label.startswith("uses ") for label in labels)


def test_hints_of_a_range_are_only_those_in_it(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    labels = [one["label"] for one in opened.whole("inlayHint", range=opened.range_of("timeout: 90"))]
    assert "= 1m30s" in labels
    assert "limit: 2, on_error: fail" not in labels


def test_lenses_count_references_and_takers(both: Both) -> None:
    titles = [one["command"]["title"] for one in both.child.whole("codeLens")]
    assert titles == ["Run", "1 reference", "taken by 2 workflows"]


# -- actions and commands ------------------------------------------------------------------------


def actions(opened: Opened, needle: str, **context: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = opened.whole(
        "codeAction", range=opened.range_of(needle), context={"diagnostics": [], **context}
    )
    return found


def applied(opened: Opened, action: dict[str, Any]) -> str:
    resolved = opened.client.request("codeAction/resolve", action) if "edit" not in action else action
    return apply(opened.text, edits_of(resolved["edit"], opened.uri))


def test_a_fix_is_offered_and_mends(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("block: log", "blok: log"))
    [fix] = [one for one in actions(opened, "blok") if one.get("isPreferred")]
    assert fix["title"] == 'Change it to "block"'
    assert "edit" not in fix
    assert applied(opened, fix) == WORKFLOW


@pytest.mark.parametrize(
    ("only", "kinds"),
    [("quickfix", {"quickfix"}), ("source", {"source.fixAll.interlock"}), ("refactor.inline", set()), ("quick", set())],
)
def test_a_client_that_asks_for_a_kind_gets_that_kind(shared: Client, only: str, kinds: set[str]) -> None:
    opened = Opened(shared, WORKFLOW.replace("block: log", "blok: log"))
    assert {one["kind"] for one in actions(opened, "blok", only=[only])} == kinds


def test_a_client_that_cannot_wait_gets_the_edit_at_once(client: Client) -> None:
    plain = {**CAPABILITIES, "textDocument": {**CAPABILITIES["textDocument"], "codeAction": {}}}
    client.initialize(capabilities=plain)
    opened = Opened(client, WORKFLOW.replace("block: log", "blok: log"))
    [fix] = [one for one in actions(opened, "blok") if one.get("isPreferred")]
    assert apply(opened.text, edits_of(fix["edit"], opened.uri)) == WORKFLOW


def test_all_fixes_of_a_file_at_once(shared: Client) -> None:
    text = (
        WORKFLOW.replace("block: log", "blok: log")
        .replace("method: PUT", "method: PUT")
        .replace("next: end", "nxt: end")
    )
    opened = Opened(shared, text)
    [action] = [one for one in actions(opened, "workflow", only=["source.fixAll"]) if one["kind"].startswith("source")]
    assert applied(opened, action) == WORKFLOW


def test_a_warning_can_be_suppressed_where_it_stands(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("inputs:\n", "inputs:\n  spare: string\n"))
    [action] = [one for one in actions(opened, "spare") if one["title"].startswith("Suppress")]
    text = applied(opened, action)
    assert "  spare: string  # interlock: ignore[unused-input]\n" in text
    opened.replace(text)
    assert opened.diagnostics() == []


def test_an_error_of_the_language_cannot_be_suppressed(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("block: log", "blok: log"))
    assert not [one for one in actions(opened, "blok") if one["title"].startswith("Suppress")]


def test_a_missing_field_is_added(shared: Client) -> None:
    text = "workflow: a\nsteps:\n  - block: log\n    params: {message: x}\n"
    opened = Opened(shared, text)
    found = [one for one in actions(opened, "block: log") if one["title"].startswith("Add")]
    opened.replace(applied(opened, found[0]))
    assert "missing-field" not in [one["code"] for one in opened.diagnostics()]


def test_a_literal_becomes_an_input(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    [action] = [one for one in actions(opened, "https://orders.example/write") if one["kind"] == "refactor.extract"]
    text = applied(opened, action)
    assert '  url: {type: string, default: "https://orders.example/write"}\n' in text
    assert 'url: "{inputs.url}"' in text
    opened.replace(text)
    assert opened.diagnostics() == []


def test_a_secret_is_declared(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW.replace("Bearer {secrets.TOKEN}", "Bearer {secrets.TOKEN} {secrets.OTHER}"))
    found = [one for one in actions(opened, "OTHER") if "ecret" in one["title"] and "OTHER" in one["title"]]
    assert found
    opened.replace(applied(opened, found[0]))
    assert [one["code"] for one in opened.diagnostics()] == []


def test_a_guard_is_added(shared: Client) -> None:
    text = WORKFLOW.replace("  - id: fetch\n", "  - id: fetch\n    when: \"{inputs.order != ''}\"\n")
    opened = Opened(shared, text)
    before = [one["code"] for one in opened.diagnostics()].count("maybe-absent")
    [action] = [one for one in actions(opened, "fetch.json") if one["title"] == 'Run only when "fetch" does']
    opened.replace(applied(opened, action))
    assert "          when: \"{inputs.order != ''}\"\n          block: http\n" in opened.text
    assert [one["code"] for one in opened.diagnostics()].count("maybe-absent") == before - 1


def test_the_graph_comes_as_json(shared: Client) -> None:
    opened = Opened(shared, WORKFLOW)
    graph = shared.request("workspace/executeCommand", {"command": "interlock.graph", "arguments": [opened.uri]})
    assert graph["workflow"] == "order.ship"
    assert [node["id"] for node in graph["lanes"][0]["nodes"]] == ["fetch", "both", "hold", "told"]


TWO = """\
# 𝔘 before the first
workflow: one
steps:
  - {id: 𝔘, block: log, params: {message: one}}
  - id: both
    concurrency:
      branches:
        left: {steps: [{id: 𝔘𝔘, block: log, params: {message: in}}]}
---
- no workflow
# two
---
workflow: two
steps:
  - {id: only, block: log, params: {message: two}}
"""


def test_the_graph_says_where_steps_and_the_workflow_stand_for_the_client(shared: Client) -> None:
    opened = Opened(shared, TWO)
    lines = TWO.splitlines()

    def drawn(name: str) -> Any:
        return shared.request(
            "workspace/executeCommand", {"command": "interlock.graph", "arguments": [opened.uri, name]}
        )

    def text_at(place: Any) -> str:
        line, end = place["start"]["line"], place["end"]["line"]
        assert line == end
        units = lines[line].encode("utf-16-le")
        return units[2 * place["start"]["character"] : 2 * place["end"]["character"]].decode("utf-16-le")

    one, two = drawn("one"), drawn("two")
    first, both = one["lanes"][0]["nodes"]
    assert text_at(first["range"]) == "{id: 𝔘, block: log, params: {message: one}}"
    [inside] = both["lanes"][0]["nodes"]
    assert text_at(inside["range"]) == "{id: 𝔘𝔘, block: log, params: {message: in}}"
    assert one["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 8, "character": 0}}
    assert two["range"] == {"start": {"line": 11, "character": 0}, "end": {"line": 15, "character": 0}}


def test_a_rule_is_explained(shared: Client) -> None:
    page = shared.request("workspace/executeCommand", {"command": "interlock.explain", "arguments": ["nested-wait"]})
    assert page["code"] == "IL401"
    assert "## Bad" in page["markdown"]
    with pytest.raises(Failure, match="No rule is called"):
        shared.request("workspace/executeCommand", {"command": "interlock.explain", "arguments": ["nonsense"]})


@pytest.mark.parametrize(
    ("tail", "label", "filtered", "wanted"),
    [
        ("   ", "id", " id", "  - id: "),
        ("    params: {message: {in", "inputs", "{inputs", '    params: {message: "{inputs$0}"'),
    ],
)
def test_an_item_that_replaces_more_than_the_word_is_found_by_all_of_it(
    shared: Client, tail: str, label: str, filtered: str, wanted: str
) -> None:
    head = "workflow: a\ninputs: {orders: string}\nsteps:\n  - id: b\n    block: log\n"
    opened = Opened(shared, head + tail)
    at = {"line": 5, "character": len(tail)}
    params = {"textDocument": {"uri": opened.uri}, "position": at}
    [item] = [one for one in shared.request("textDocument/completion", params)["items"] if one["label"] == label]
    assert item["filterText"] == filtered
    assert opened.edited([item["textEdit"]]) == head + wanted
