"""What the documentation shows works: YAML is checked or run, Python is run, commands are read."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from interlock.analyzer.analysis import diagnose, judge, read_file
from interlock.analyzer.language.blocks import load_manifest
from interlock.analyzer.rules.catalog import RULES
from interlock.analyzer.source.text import SourceText
from interlock.engine.client import Engine
from interlock.engine.errors import CALLER_CODES, RUN_CODES
from interlock.engine.events import KINDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"(?:<!-- ([a-z]+)(?:: (.*?))? -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Snippet(NamedTuple):
    """A fenced block; ``order`` and ``value`` come from a comment right before it."""

    page: str
    line: int
    kind: str
    text: str
    order: str | None
    value: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(*kinds: str) -> list[Snippet]:
    found = []
    for path in PAGES:
        page = path.read_text("utf-8")
        for match in FENCE.finditer(page):
            if match[3] in kinds:
                line = page.count("\n", 0, match.start()) + 1
                found.append(Snippet(path.name, line, match[3], match[4], match[1], match[2]))
    return found


def workflows() -> list[Snippet]:
    return [one for one in snippets("yaml") if not one.text.startswith("repos:")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module of docs/blocks.md and its manifest."""
    folder = tmp_path_factory.mktemp("shop")
    (named,) = [one for one in snippets("python") if one.text.startswith("# shop_blocks.py")]
    (folder / "shop_blocks.py").write_text(named.text, "utf-8")
    done = command(folder, "blocks", "export", "--blocks", "shop_blocks", "--output", "interlock.blocks.json")
    assert done.returncode == 0, done
    return folder


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "interlock.server.cli.main", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


# --- YAML ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("snippet", workflows(), ids=str)
def test_workflows_are_clean_or_show_the_mistake_that_they_are_about(snippet: Snippet, shop: Path) -> None:
    blocks: dict[str, Any] = {}
    if snippet.order == "manifest":
        blocks, problems = load_manifest((shop / "interlock.blocks.json").read_bytes())
        assert not problems
    file = read_file(SourceText("w.workflow.yaml", snippet.text))
    found = [one.name for one in diagnose([file], judge([file], blocks))]
    assert found == ([snippet.value] if snippet.order == "expect" else [])


@pytest.mark.parametrize("snippet", [one for one in workflows() if one.order == "run"], ids=str)
def test_workflows_of_the_guide_give_what_the_guide_says(snippet: Snippet, outside: Any, tmp_path: Path) -> None:
    told = json.loads((snippet.value or "").replace("OUTSIDE", outside.url))
    with Engine.open(f"sqlite:///{tmp_path}/state.db", secrets=told.get("secrets")) as engine:
        names = engine.define(snippet.text)
        result = engine.run(told.get("workflow", names[0]), told["inputs"])
    assert (result.error, result.outputs) == (None, told["outputs"])


def test_the_block_of_the_page_about_blocks_runs(shop: Path) -> None:
    (used,) = [one for one in workflows() if one.order == "manifest"]
    (shop / "parcel.workflow.yaml").write_text(used.text, "utf-8")
    done = command(shop, "run", "parcel.workflow.yaml", "--blocks", "shop_blocks", "--input", "order=o-1", "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["outputs"] == {"gross": 1200}


# --- Python --------------------------------------------------------------------------------------


@pytest.mark.parametrize("snippet", [one for one in snippets("python") if not one.text.startswith("# ")], ids=str)
def test_programs_print_what_their_comments_say(snippet: Snippet, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(snippet.text, "utf-8")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^ *print\(.*\) +# (.*)$", snippet.text, re.MULTILINE)
    assert said
    lines = done.stdout.splitlines()
    assert [line for line in lines if line in said] == said, lines


# --- commands ------------------------------------------------------------------------------------


def commands() -> list[tuple[str, str]]:
    """Every command line of ``interlock`` on the pages, and where it stands."""
    found = []
    for snippet in snippets("sh"):
        for line in snippet.text.replace("\\\n", " ").splitlines():
            parts = [part.strip() for part in line.partition(" # ")[0].split("|")]
            found += [(str(snippet), part) for part in parts if part.startswith("interlock ")]
    for path in (ROOT / "examples").rglob("*.workflow.yaml"):
        text = re.sub(r"\\\n# *", " ", path.read_text("utf-8"))
        found += [(path.name, line) for line in re.findall(r"^#   (interlock .*)$", text, re.MULTILINE)]
    return found


def test_every_command_on_the_pages_is_one_that_the_program_takes(reference: Any) -> None:
    lines = commands()
    assert len(lines) > 40
    for where, line in lines:
        words = [word for word in shlex.split(line) if word != "--help"]
        assert words[1] in {name for name, _, _ in reference.COMMANDS}, (where, line)
        try:
            reference.parser_of(words[1]).parse_args(words[2:])
        except SystemExit:
            raise AssertionError(f"{where}: {line}") from None


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_shell_snippets_are_shell() -> None:
    for snippet in snippets("sh"):
        done = subprocess.run(["sh", "-n"], input=snippet.text, capture_output=True, text=True)
        assert done.returncode == 0, (str(snippet), done.stderr)


# --- pages ---------------------------------------------------------------------------------------


def test_the_tables_are_those_that_the_software_makes_now(reference: Any) -> None:
    for path in PAGES:
        page = path.read_text("utf-8")
        assert reference.written(page) == page, f"{path.name} is out of date: make docs"


def test_every_command_mapping_code_event_and_setting_has_its_place(reference: Any) -> None:
    from interlock.analyzer.config import KEYS

    language = (ROOT / "docs/language.md").read_text("utf-8")
    for shape in reference.SHAPES:
        assert f'<a id="{reference.anchor(shape)}">' in language, shape
    for word in RUN_CODES | KINDS:
        assert f"`{word}`" in language, word
    api = (ROOT / "docs/python-api.md").read_text("utf-8")
    for word in CALLER_CODES:
        assert f"`{word}`" in api, word
    for name in ("dispatch", "run", "resume", "wait", "signal", "approve", "reject", "cancel", "retry", "review"):
        assert f"`{name}(" in api or f", `{name}(" in api, name
        assert callable(getattr(Engine, name))
    cli = (ROOT / "docs/cli.md").read_text("utf-8")
    for name, _, _ in reference.COMMANDS:
        assert f"\n### {name}\n" in cli, name
    settings = (ROOT / "docs/configuration.md").read_text("utf-8")
    for key in KEYS:
        assert f"`{key}`" in settings, key


def test_rules_that_the_pages_name_exist() -> None:
    names = {rule.name for rule in RULES.values()}
    for path in PAGES:
        for group in re.findall(r"interlock: ignore\[([a-z, -]+)\]", path.read_text("utf-8")):
            assert set(re.split(r", *", group)) <= names, path.name


def test_links_between_the_pages_lead_somewhere() -> None:
    for path in PAGES:
        page = path.read_text("utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", page):
            if "://" in target:
                continue
            name, _, place = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            assert other.exists(), f"{path.name}: {target}"
            if place and other.suffix == ".md":
                assert place in anchors(other.read_text("utf-8")), f"{path.name}: {target}"


def anchors(page: str) -> set[str]:
    page_without_code = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", page_without_code, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', page))


def test_the_settings_of_the_page_are_read_as_it_says(tmp_path: Path) -> None:
    (shown,) = [one for one in snippets("toml") if one.page == "configuration.md"]
    (tmp_path / "interlock.toml").write_text(shown.text, "utf-8")
    (tmp_path / "interlock.blocks.json").write_text('{"version": 1, "blocks": {}}', "utf-8")
    folder = tmp_path / "flows"
    folder.mkdir()
    text = """
workflow: w
inputs: {a: string}
steps:
  - id: c
    concurrency: {limit: 4, branches: {x: {steps: [{id: a, block: set}]}}}
"""
    (folder / "w.yaml").write_text(text, "utf-8")
    done = command(tmp_path, "check", "--format", "json")
    assert done.returncode == 0, done
    told = json.loads(done.stdout)
    assert told["summary"]["files"] == 1
    assert told["diagnostics"] == []
    (tmp_path / "interlock.toml").write_text('patterns = ["flows/*.yaml"]\n', "utf-8")
    told = json.loads(command(tmp_path, "check", "--format", "json").stdout)
    assert sorted(one["name"] for one in told["diagnostics"]) == ["idle-limit", "unused-input"]


def test_nothing_on_the_pages_is_of_one_machine() -> None:
    for path in PAGES:
        assert os.path.expanduser("~") + "/" not in path.read_text("utf-8")
