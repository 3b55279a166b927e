"""Renaming changes every place of a name, wherever its value has gone, or is refused with a reason."""

from __future__ import annotations

import pytest
from client import Client, Failure
from documents import Opened, edits_of

EACH = """\
workflow: each.use
steps:
  - id: each
    for_each:
      items: [1, 2]
      as: x
      steps:
        - {id: one, block: set, params: {v: "{x}"}}
      outputs: {r: "{one.v}"}
  - id: kept
    block: set
    params: {all: "{each.results}", first: "{each.results[0]}"}
  - id: held
    concurrency:
      resource: shelf
      steps:
        - {id: two, block: set, params: {v: "{each.winner}"}}
      outputs: {w: "{two.v}"}
  - id: again
    for_each:
      items: "{kept.all}"
      as: k
      steps:
        - {id: three, block: set, params: {v: "{k.r}"}}
  - id: told
    block: log
    params:
      message:
        - "{each.results[0].r} {each.results[0]['r']} {state.each.results[1].r}"
        - "{each.results.map(k, k.r)} {each.results.filter(k, k.r > 1).map(k, [k]).size()}"
        - "{each.winner.output.r} {kept.first.?r.orValue(0)} {held.output.w.output.r}"
        - "{[each.results[0], each.results[1]].exists(a, has(a.r))} {'r' in each.results[0]}"
outputs: {last: "{kept.all[0].r}"}
"""


def test_the_output_of_an_item_is_renamed_wherever_it_has_gone(shared: Client) -> None:
    opened = Opened(shared, EACH)
    assert opened.diagnostics() == []
    wanted = EACH.replace(".r}", ".got}").replace(".?r.", ".?got.").replace("['r']", "['got']").replace("{r:", "{got:")
    wanted = wanted.replace("k.r)", "k.got)").replace("k.r >", "k.got >").replace("a.r)", "a.got)")
    wanted = wanted.replace("'r' in", "'got' in")
    for needle, into in (("{r:", 1), ("results[0].r}", 11), ("k.r >", 2), ("held.output.w.output.r", 21)):
        edits = edits_of(opened.ask("rename", needle, into, newName="got"), opened.uri)
        assert opened.edited(edits) == wanted
    opened.replace(wanted)
    assert opened.diagnostics() == []


BRANCHES = """\
workflow: branches.use
steps:
  - id: both
    concurrency:
      branches:
        left:
          steps:
            - {id: a, block: set, params: {n: 1}}
          outputs: {n: "{a.n}"}
  - id: kept
    block: set
    params: {all: "{both.branches}"}
  - id: told
    block: log
    params: {message: "{both.branches.left.output.n} {both.branches['left'].output['n']} {kept.all.left.output.n}"}
outputs: {m: "{state.both.branches.left.output.n + kept.all.left.output.n}"}
"""


@pytest.mark.parametrize(
    ("needle", "new", "pairs"),
    [
        ("left:", "west", [("left:", "west:"), (".left.", ".west."), ("['left']", "['west']")]),
        ('n: "{a', "m", [('{n: "{a', '{m: "{a'), ("output.n", "output.m"), ("output['n']", "output['m']")]),
    ],
)
def test_branches_and_their_outputs(shared: Client, needle: str, new: str, pairs: list[tuple[str, str]]) -> None:
    opened = Opened(shared, BRANCHES)
    assert opened.diagnostics() == []
    wanted = BRANCHES
    for old, other in pairs:
        wanted = wanted.replace(old, other)
    assert opened.edited(edits_of(opened.ask("rename", needle, 0, newName=new), opened.uri)) == wanted


CHILDREN = """\
workflow: shows
steps:
  - {id: a, block: set, params: {n: 1}}
outputs: {done: "{a.n}"}
---
workflow: bare
inputs: {n: integer}
steps:
  - {id: work, block: set, params: {n: "{inputs.n}"}}
---
workflow: parent
steps:
  - {id: one, run_workflow: {workflow: shows, result_key: answer}}
  - {id: two, run_workflow: {workflow: bare, inputs: {n: 1}, result_key: whole}}
  - {id: three, run_workflow: {workflow: shows}}
  - {id: four, block: set, params: {all: ["{answer}"], x: "{whole.work.n} {state.done} {state.whole.work}"}}
  - {id: five, block: log, params: {message: "{four.all[0].done} {answer['done']}"}}
  - id: six
    start_workflows: {items: [{n: 1}, {n: 2}], workflow: bare, result_key: ids}
"""


def test_what_a_child_gives(shared: Client) -> None:
    opened = Opened(shared, CHILDREN)
    assert opened.diagnostics() == []
    wanted = CHILDREN.replace("{done:", "{ok:").replace(".done}", ".ok}").replace("['done']", "['ok']")
    assert opened.edited(edits_of(opened.ask("rename", "{done", 1, newName="ok"), opened.uri)) == wanted
    assert opened.edited(edits_of(opened.ask("rename", "state.done", 7, newName="ok"), opened.uri)) == wanted
    wanted = CHILDREN.replace("id: work", "id: job").replace("whole.work", "whole.job")
    assert opened.edited(edits_of(opened.ask("rename", "whole.work", 7, newName="job"), opened.uri)) == wanted
    wanted = CHILDREN.replace("inputs: {n: ", "inputs: {count: ").replace("inputs.n", "inputs.count")
    wanted = wanted.replace("[{n: 1}, {n: 2}]", "[{count: 1}, {count: 2}]")
    assert opened.edited(edits_of(opened.ask("rename", "{n: integer", 1, newName="count"), opened.uri)) == wanted


WAITS = """\
workflow: waits
inputs: {order: string}
steps:
  - {id: found, block: set, params: {n: 1}}
  - {id: paid, wait_for_signal: {name: paid, result_key: payment, correlation_key: order}}
  - {id: sent, wait_for_signal: {name: sent, result_key: parcel, correlation_key: found}}
  - {id: agreed, wait_for_approval: {}}
  - {id: told, block: log, params: {message: "{approval} {payment} {parcel}"}}
"""


@pytest.mark.parametrize(("name", "new", "count"), [("order", "number", 2), ("found", "known", 2)])
def test_a_correlation_key_goes_with_what_it_names(shared: Client, name: str, new: str, count: int) -> None:
    opened = Opened(shared, WAITS)
    assert opened.diagnostics() == []
    wanted = WAITS.replace(f"{name}:", f"{new}:").replace(f": {name}", f": {new}")
    for needle in (f"correlation_key: {name}", f"{{{name}: string" if name == "order" else f"id: {name}"):
        edits = edits_of(
            opened.ask("rename", needle, len(needle) - (8 if "string" in needle else 1), newName=new), opened.uri
        )
        assert len(edits) == count
        assert opened.edited(edits) == wanted
    places = opened.ask("references", f"correlation_key: {name}", 18, context={"includeDeclaration": True})
    assert len(places) == count


@pytest.mark.parametrize(
    ("text", "needle", "into", "new", "why"),
    [
        (WAITS, "{order:", 1, "found", "would then mean"),
        (WAITS, "id: found", 4, "order", "would then mean"),
        (WAITS.replace("id: found", "id: order").replace("key: found", "key: order"), "{order:", 1, "x", "mean both"),
        (WAITS, "{approval}", 1, "yes", "default result key"),
    ],
)
def test_a_name_that_would_change_what_is_meant_is_refused(
    shared: Client, text: str, needle: str, into: int, new: str, why: str
) -> None:
    opened = Opened(shared, text)
    with pytest.raises(Failure, match=why):
        opened.ask("rename", needle, into, newName=new)


def test_a_step_with_a_default_result_key_is_renamed_alone(shared: Client) -> None:
    opened = Opened(shared, WAITS)
    edits = edits_of(opened.ask("rename", "id: agreed", 4, newName="yes"), opened.uri)
    assert opened.edited(edits) == WAITS.replace("id: agreed", "id: yes")


@pytest.mark.parametrize(("name", "text"), [("order", "**order** · input"), ("found", 'step "found"')])
def test_hover_and_definition_of_a_correlation_key(shared: Client, name: str, text: str) -> None:
    opened = Opened(shared, WAITS)
    needle = f"correlation_key: {name}"
    assert text in opened.ask("hover", needle, 18)["contents"]["value"]
    [place] = opened.ask("definition", needle, 18)
    assert place["range"] == opened.range_of(name, 0)


def test_completion_of_a_correlation_key(shared: Client) -> None:
    opened = Opened(shared, WAITS)
    labels = {one["label"] for one in opened.ask("completion", "correlation_key: order", 17)["items"]}
    assert {"order", "found", "payment", "parcel"} <= labels
