"""Which files are seen together, and which of them are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.analyzer import workspace as module
from interlock.analyzer.workspace import MissingPath, Workspace, find_root, workspaces

MODELINE = "# interlock: workflow\nworkflow: m\n"


def make(folder: Path, *names: str, text: str = "workflow: w\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def one(here: Path, *paths: str) -> Workspace:
    (found,) = workspaces(paths, str(here))
    return found


def seen(space: Workspace) -> list[str]:
    return [member.relative for member in space.members]


def asked(space: Workspace) -> list[str]:
    return sorted(space.wanted)


def test_the_nearest_settings_make_the_root(tmp_path: Path) -> None:
    make(tmp_path, "interlock.toml", "a/interlock.toml", text="")
    make(tmp_path, "a/b/x.workflow.yaml")
    (tmp_path / ".git").mkdir()
    root = find_root(str(tmp_path / "a" / "b"))
    assert root is not None
    assert (root.folder, root.kind) == (str(tmp_path / "a"), "settings")


def test_settings_above_a_repository_count_before_it(tmp_path: Path) -> None:
    make(tmp_path, "interlock.toml", text="")
    (tmp_path / "a" / ".git").mkdir(parents=True)
    root = find_root(str(tmp_path / "a"))
    assert root is not None
    assert root.folder == str(tmp_path)


def test_else_the_repository_and_else_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    make(tmp_path, "repo/deep/x.workflow.yaml", "plain/y.workflow.yaml")
    assert one(tmp_path / "repo" / "deep").root.folder == str(tmp_path / "repo")
    assert one(tmp_path / "plain").root.folder == str(tmp_path / "plain")
    assert one(tmp_path / "plain").root.kind == "folder"


def test_by_default_the_whole_workspace_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    make(tmp_path, "x.workflow.yaml", "deep/y.workflow.yml", "deep/other.yaml")
    space = one(tmp_path / "deep")
    assert seen(space) == ["deep/y.workflow.yml", "x.workflow.yaml"]
    assert asked(space) == sorted(["y.workflow.yml", str(tmp_path / "x.workflow.yaml")])


def test_named_files_are_asked_for_and_all_are_seen(tmp_path: Path) -> None:
    make(tmp_path, "x.workflow.yaml", "a/y.workflow.yaml", "a/b/z.workflow.yaml")
    space = one(tmp_path, "a/y.workflow.yaml")
    assert seen(space) == ["a/b/z.workflow.yaml", "a/y.workflow.yaml", "x.workflow.yaml"]
    assert asked(space) == ["a/y.workflow.yaml"]
    assert asked(one(tmp_path, "a")) == ["a/b/z.workflow.yaml", "a/y.workflow.yaml"]


def test_a_file_counts_by_its_first_comment_or_because_it_is_named(tmp_path: Path) -> None:
    make(tmp_path, "deploy.yaml", "late.yaml", text="name: x\n# interlock: workflow\n")
    make(tmp_path, "flows/marked.yml", text=MODELINE)
    assert seen(one(tmp_path)) == ["flows/marked.yml"]
    named = one(tmp_path, "deploy.yaml")
    assert seen(named) == ["deploy.yaml", "flows/marked.yml"]
    assert asked(named) == ["deploy.yaml"]


def test_patterns_and_excludes_of_the_settings(tmp_path: Path) -> None:
    make(tmp_path, "interlock.toml", text='patterns = ["flows/*.flow"]\nexclude = ["flows/old*"]\n')
    make(tmp_path, "flows/a.flow", "flows/old.flow", "b.workflow.yaml")
    assert seen(one(tmp_path)) == ["flows/a.flow"]


def test_what_is_named_is_checked_even_where_it_is_excluded(tmp_path: Path) -> None:
    make(tmp_path, "interlock.toml", text='exclude = ["old"]\n')
    make(tmp_path, "old/a.workflow.yaml")
    assert asked(one(tmp_path, "old/a.workflow.yaml")) == ["old/a.workflow.yaml"]


@pytest.mark.parametrize("folder", [".hidden", "node_modules", "__pycache__", "env"])
def test_folders_of_tools_are_left_alone(tmp_path: Path, folder: str) -> None:
    make(tmp_path, f"{folder}/a.workflow.yaml", f"deep/{folder}/a.workflow.yaml", "b.workflow.yaml")
    for base in ("", "deep/"):
        make(tmp_path, f"{base}env/pyvenv.cfg", text="")
    assert seen(one(tmp_path)) == ["b.workflow.yaml"]


def test_a_hidden_folder_that_is_named_is_looked_into(tmp_path: Path) -> None:
    make(tmp_path, ".flows/a.workflow.yaml", "b.workflow.yaml")
    assert asked(one(tmp_path, ".flows")) == [".flows/a.workflow.yaml"]


def test_links_are_followed_to_files_once_and_never_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "a/x.workflow.yaml")
    make(tmp_path.parent / f"{tmp_path.name}-outside", "y.workflow.yaml")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "b.workflow.yaml").symlink_to(tmp_path / "a" / "x.workflow.yaml")
    (tmp_path / "c.workflow.yaml").symlink_to(tmp_path.parent / f"{tmp_path.name}-outside" / "y.workflow.yaml")
    (tmp_path / "gone.workflow.yaml").symlink_to(tmp_path / "nowhere")
    space = one(tmp_path)
    assert seen(space) == ["a/x.workflow.yaml", "c.workflow.yaml"]
    assert asked(space) == seen(space)


def test_a_workspace_inside_is_one_of_its_own(tmp_path: Path) -> None:
    make(tmp_path, "interlock.toml", "sub/interlock.toml", text="")
    make(tmp_path, "x.workflow.yaml", "sub/y.workflow.yaml")
    outer, inner = workspaces([], str(tmp_path))
    assert (seen(outer), seen(inner)) == (["x.workflow.yaml"], ["y.workflow.yaml"])
    assert asked(inner) == ["sub/y.workflow.yaml"]
    (only,) = workspaces(["x.workflow.yaml"], str(tmp_path))
    assert seen(only) == ["x.workflow.yaml"]


def test_named_paths_of_several_workspaces(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / ".git").mkdir(parents=True)
        make(tmp_path, f"{name}/x.workflow.yaml")
    spaces = workspaces(["a", "b/x.workflow.yaml"], str(tmp_path))
    assert [space.root.folder for space in spaces] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert [asked(space) for space in spaces] == [["a/x.workflow.yaml"], ["b/x.workflow.yaml"]]


def test_a_file_elsewhere_is_seen_with_its_neighbours(tmp_path: Path) -> None:
    make(tmp_path, "here/a.workflow.yaml", "there/b.workflow.yaml", "there/c.workflow.yaml", "there/d/e.workflow.yaml")
    space = one(tmp_path / "here", "../there/b.workflow.yaml")
    assert [os.path.basename(member.path) for member in space.members] == ["b.workflow.yaml", "c.workflow.yaml"]
    assert asked(space) == [str(tmp_path / "there" / "b.workflow.yaml")]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingPath, match=r"^none\.workflow\.yaml$"):
        workspaces(["none.workflow.yaml"], str(tmp_path))
    space = workspaces(["none.workflow.yaml"], str(tmp_path), "none.workflow.yaml")[0]
    assert asked(space) == ["none.workflow.yaml"]


def test_a_folder_without_workflows_is_told(tmp_path: Path) -> None:
    make(tmp_path, "docs/readme.yaml", "a.workflow.yaml")
    assert one(tmp_path, "docs").notes == ('there is no workflow file in "docs" (*.workflow.yaml, *.workflow.yml)',)
    assert one(tmp_path).notes == ()


def test_a_large_tree_that_nothing_marks_is_not_searched_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"d{number}/x.workflow.yaml" for number in range(30)))
    monkeypatch.setattr(module, "MOST_ENTRIES", 40)
    space = one(tmp_path)
    assert 0 < len(space.members) < 30
    assert "only a part of" in space.notes[0]
    (tmp_path / ".git").mkdir()
    assert len(one(tmp_path).members) == 30


def test_a_folder_that_may_not_be_read_is_told_and_the_rest_is_found(tmp_path: Path) -> None:
    make(tmp_path, "a.workflow.yaml", "shut/b.workflow.yaml")
    (tmp_path / "shut").chmod(0)
    try:
        if os.access(tmp_path / "shut", os.R_OK):
            pytest.skip("this user may read everything")
        space = one(tmp_path)
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert seen(space) == ["a.workflow.yaml"]
    assert space.notes == ('"shut" cannot be looked into',)


def test_a_name_that_is_not_utf_8_can_be_told(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.workflow.yaml"
    with open(path, "wb") as file:
        file.write(b"workflow: w\n")
    space = one(tmp_path)
    assert asked(space) == ["\ufffd.workflow.yaml"]
    assert os.path.exists(space.members[0].path)
