"""However files are grouped, kept, and dealt out to processes: what is found is the same."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock.analyzer import processes
from interlock.analyzer.analysis import check_texts, read_file
from interlock.analyzer.batch import Batch, Blocks, load, load_bytes, loaded
from interlock.analyzer.cache import Cache, cache_for
from interlock.analyzer.config import ConfigError
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.links import Links, groups, links_of
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.rules.pages import page_of
from interlock.analyzer.source.read import Unreadable
from interlock.analyzer.source.text import SourceText


def bad_examples() -> dict[str, str]:
    """A workspace in which every rule has something to say, and files are tied in many ways."""
    return {f"{rule.code}.workflow.yaml": page_of(rule).bad for rule in RULES.values()}


def batch(texts: dict[str, str], cache: Cache | None = None, count: int = 1) -> Batch:
    return Batch([loaded(shown, text) for shown, text in sorted(texts.items())], None, cache, count)


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths of the files that are parsed."""
    read: list[str] = []

    def counted(sources: list[SourceText], count: int = 1) -> list[object]:
        read.extend(source.path for source in sources)
        return list(map(read_file, sources))

    monkeypatch.setattr(processes, "read_files", counted)
    return read


def test_groups_give_what_the_whole_gives() -> None:
    texts = bad_examples()
    assert batch(texts).check() == check_texts(dict(sorted(texts.items())))


def test_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WORTH_IT", 1)
    texts = bad_examples()
    assert batch(texts, count=3).check() == check_texts(dict(sorted(texts.items())))


def test_a_process_that_dies_leaves_its_part_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WORTH_IT", 1)
    parent = os.getpid()

    def dying(source: SourceText) -> object:
        if os.getpid() != parent:
            os._exit(9)
        return read_file(source)

    monkeypatch.setattr(processes, "read_file", dying)
    texts = bad_examples()
    assert batch(texts, count=2).check() == check_texts(dict(sorted(texts.items())))


@pytest.mark.parametrize("seed", range(6))
def test_changes_to_a_kept_workspace_give_what_a_fresh_one_gives(seed: int) -> None:
    chance = random.Random(seed)
    texts = dict(chance.sample(sorted(bad_examples().items()), 24))
    cache = Cache()
    for _ in range(6):
        for name in chance.sample(sorted(texts), 2):
            lines = texts[name].split("\n")
            del lines[chance.randrange(len(lines))]
            texts[name] = "\n".join(lines)
        if len(texts) > 10:
            del texts[chance.choice(sorted(texts))]
        expected = check_texts(dict(sorted(texts.items())))
        assert batch(texts, cache).check() == expected
        some = set(chance.sample(sorted(texts), 3))
        assert batch(texts, cache).check(some) == [one for one in expected if one.file in some]


def test_only_what_is_tied_to_a_change_is_read_again(no_reading: list[str]) -> None:
    texts = {
        "a.yaml": "workflow: a\nsteps: [{id: x, run_workflow: {workflow: b}}]\n",
        "b.yaml": "workflow: b\nsteps: [{id: x, block: log, params: {message: x}}]\n",
        "c.yaml": "workflow: c\nsteps: [{id: x, concurrency: {resource: k, lifetime: run}}]\n",
        "d.yaml": "workflow: d\nsteps: [{id: x, concurrency: {resource: k, lifetime: run, limit: 2}}]\n",
        "e.yaml": "workflow: e\nsteps: [{id: x, concurrency: {resource: other, lifetime: run}}]\n",
    }
    cache = Cache()
    first = batch(texts, cache).check()
    assert sorted(no_reading) == sorted(texts)
    assert [one.name for one in first] == ["limit-conflict"]
    no_reading.clear()
    assert batch(texts, cache).check() == first
    assert no_reading == []
    texts["d.yaml"] = texts["d.yaml"].replace("limit: 2", "limit: 1")
    assert batch(texts, cache).check() == []
    assert sorted(no_reading) == ["c.yaml", "d.yaml"]
    no_reading.clear()
    texts["a.yaml"] += "# a note\n"
    assert batch(texts, cache).check({"c.yaml"}) == []
    assert no_reading == ["a.yaml"]


def test_a_cache_outlives_the_process(tmp_path: Path, no_reading: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("interlock.analyzer.cache.code_stamp", lambda: "this version")
    texts = bad_examples()
    cache = cache_for("/w", "/w")
    first = batch(texts, cache).check()
    cache.save()
    no_reading.clear()
    assert batch(texts, cache_for("/w", "/w")).check() == first
    assert no_reading == []
    assert cache_for("/other", "/other").results == {}
    assert cache_for("/w", "/w/sub").results == {}


def test_another_analyzer_does_not_trust_what_was_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "x.bin")
    cache = Cache(path, "one")
    cache.links["a"] = Links(names=("w",))
    cache.save()
    assert Cache(path, "one").links == {"a": Links(names=("w",))}
    assert Cache(path, "two").links == {}


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "folder"])
def test_a_damaged_cache_is_no_cache(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.bin"
    cache = Cache(str(path), "s")
    cache.links["a"] = Links(names=("w",))
    cache.save()
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-3] ^= 1
    path.write_bytes({"cut": data[:-5], "flip": data, "empty": b"", "text": b"hello"}.get(damage, data))
    if damage == "folder":
        path.unlink()
        path.mkdir()
    again = Cache(str(path), "s")
    assert again.links == {}
    again.links["b"] = Links()
    again.save()
    if damage != "folder":
        assert Cache(str(path), "s").links == {"b": Links()}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x.bin"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(str(tmp_path / "file" / "x.bin"), "s")
    cache.links["a"] = Links()
    cache.save()


def test_caches_of_workspaces_not_used_for_long_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.analyzer.cache.MOST_FILES", 3)
    for number in range(5):
        cache = Cache(str(tmp_path / f"{number}.bin"), "s")
        cache.links["a"] = Links()
        cache.save()
        os.utime(tmp_path / f"{number}.bin", (number, number))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["2.bin", "3.bin", "4.bin"]


def test_blocks_are_part_of_what_a_result_depends_on() -> None:
    text = "workflow: w\nsteps: [{id: x, block: mine, params: {}}]\n"
    cache = Cache()
    files = [loaded("a.yaml", text)]
    manifest = b'{"version": 1, "blocks": {"mine": {"params": {"type": "object"}}}}'
    assert [one.name for one in Batch(files, Blocks(), cache).check()] == ["unknown-block"]
    assert Batch(files, Blocks({"b.json": manifest}), cache).check() == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", r"^b\.json(:1)?: The manifest is not JSON"),
        (b'{"version": 1, "blocks": {"a b": {}}}', r"^b\.json: .*a b"),
    ],
)
def test_a_wrong_manifest_names_itself(data: bytes, message: str) -> None:
    files = [loaded("a.yaml", "workflow: w\nsteps: [{id: x, block: mine}]\n")]
    with pytest.raises(ConfigError, match=message):
        Batch(files, Blocks({"b.json": data})).check()


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfworkflow: w\r\n")
    found = load(str(path), "a.yaml")
    assert not isinstance(found, Unreadable)
    assert (found.source.text, found.had_bom) == ("workflow: w\r\n", True)
    plain = load_bytes(b"workflow: w\r\n", "a.yaml")
    assert not isinstance(plain, Unreadable)
    assert plain.content == found.content == loaded("a.yaml", "workflow: w\r\n").content
    assert isinstance(load(str(tmp_path), "x"), Unreadable)
    assert isinstance(load(str(tmp_path / "none"), "x"), Unreadable)
    assert isinstance(load_bytes(b"a\0b", "x"), Unreadable)


# -- what ties files ------------------------------------------------------------------------------


def links(text: str) -> Links:
    return links_of(read_file(SourceText("a.yaml", text)))


def test_the_loose_ends_of_a_file() -> None:
    found = links(
        """\
workflow: a
steps:
  - id: x
    run_workflow: {workflow: b}
  - id: y
    start_workflows: {items: [1], workflow: c, payload_key: n, result_key: ids}
  - id: z
    wait_for_workflows: {workflows: [one, "{ids[0]}"]}
  - id: k
    concurrency:
      resource: "key:{ inputs.a }"
      steps: [{id: q, concurrency: {resource: plain, lifetime: run, on_busy: skip}}]
---
workflow: a2
steps: [{id: x, block: log, params: {message: x}}]
"""
    )
    assert found == Links(("a", "a2"), ("b", "c"), ("one",), ("template key:{inputs.a}", "literal plain"))


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([Links(("a",)), Links(("b",)), Links(("a",))], [[0, 2], [1]]),
        ([Links(("a",), ("b",)), Links(("b",), ("c",)), Links(("c",))], [[0, 1, 2]]),
        ([Links(("a",), ("gone",)), Links(("b",), ("gone",))], [[0, 1]]),
        ([Links(("a",), ("gone",)), *(Links((f"b{n}",)) for n in range(8))], [[0, 1, 2, 3, 4, 5, 6], [7], [8]]),
        ([Links(("a",), ("flow-one",)), Links(("flow-ona",)), Links(("flow-onb",))], [[0, 1, 2]]),
        ([Links(("a",), ("gone",)), Links(nameless=True), Links(("c",))], [[0, 1], [2]]),
        ([Links(("a",), (), ("b",)), Links(("b",)), Links(("c",), (), ("run-1",))], [[0, 1], [2]]),
        ([Links(keys=("literal k",)), Links(keys=("literal l",)), Links(keys=("literal k",))], [[0, 2], [1]]),
        ([], []),
    ],
)
def test_groups(ends: list[Links], expected: list[list[int]]) -> None:
    assert groups(ends) == expected


def test_without_keys_only_names_tie() -> None:
    assert groups([Links(keys=("literal k",)), Links(keys=("literal k",))], keys=False) == [[0], [1]]


def found_by(texts: dict[str, str]) -> list[Diagnostic]:
    return batch(texts).check()


def test_a_near_name_in_another_group_is_still_found() -> None:
    texts = {
        "a.yaml": "workflow: a\nsteps: [{id: x, run_workflow: {workflow: invoice.snd}}]\n",
        "b.yaml": "workflow: invoice.send\nsteps: [{id: x, block: log, params: {message: x}}]\n",
    }
    (one,) = found_by(texts)
    assert (one.name, one.hint) == ("unknown-workflow", 'Did you mean "invoice.send"?')


@pytest.mark.parametrize("others", [0, 1, 4, 5, 6, 7, 12])
def test_the_names_that_are_told_are_those_of_the_whole(others: int) -> None:
    texts = {f"b{number}": f"workflow: w{number}\nsteps:\n  - {{id: a, delay: 1s}}\n" for number in range(others)}
    texts["a"] = "workflow: w00\nsteps:\n  - id: a\n    run_workflow: {workflow: quite-elsewhere}\n"
    files = [loaded(f"{name}.workflow.yaml", text) for name, text in texts.items()]
    batch = Batch(files)
    whole = batch.check()
    alone = Batch(files).check(["a.workflow.yaml"])
    assert [one for one in whole if one.file == "a.workflow.yaml"] == alone
    (told,) = (one for one in alone if one.code == "IL412")
    assert (told.hint or "").count('"w') == min(others, 5)
    assert ("others" in (told.hint or "")) == (others > 5)
