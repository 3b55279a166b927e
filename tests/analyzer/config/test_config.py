"""Settings are read with their places, wrong ones name file and line, and errors cannot be silenced."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.analyzer.analysis import check_texts
from interlock.analyzer.config import Choice, Config, ConfigError, Settings, has_settings, load_config

CLAIM = """\
workflow: w
inputs: {a: string, b: string}
steps:
  - id: claim
    concurrency: {resource: "x", lifetime: run, on_busy: skip}
  - id: say
    block: log
    params: {message: "{inputs.c}", level: "{inputs.a}"}
"""


def settings(folder: Path, text: str, name: str = "interlock.toml") -> Config:
    (folder / name).write_text(text, encoding="utf-8")
    return load_config(str(folder / name), name)


def names(config: Config, choice: Choice | None = None) -> list[str]:
    found = check_texts({"w.workflow.yaml": CLAIM})
    return [one.name for one in Settings(config, choice).apply(found, {"w.workflow.yaml": "w.workflow.yaml"})]


def test_without_a_file_everything_is_reported() -> None:
    assert names(Config()) == ["unused-input", "unchecked-claim", "unknown-member"]


def test_every_setting_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"version": 1, "blocks": {}}')
    config = settings(
        tmp_path,
        """\
patterns = ["flows/*.yaml", "*.flow"]
exclude = ["vendor/"]
select = ["unused-input", "IL316"]
ignore = ["unused-input"]
blocks = ["mine.json"]

[severity]
unchecked-claim = "error"

[per-file-ignores]
"old/*.yaml" = ["IL316"]
""",
    )
    assert config.patterns == ("flows/*.yaml", "*.flow")
    assert config.exclude == ("vendor/",)
    assert config.select == {"IL210", "IL316"}
    assert config.ignore == {"IL210"}
    assert config.severity == {"IL316": "error"}
    assert config.per_file_ignores == (("old/*.yaml", frozenset({"IL316"})),)
    assert config.manifests == (str(tmp_path / "mine.json"),)
    assert config.problems == ()


def test_ignored_rules_are_not_reported(tmp_path: Path) -> None:
    assert names(settings(tmp_path, 'ignore = ["unchecked-claim"]')) == ["unused-input", "unknown-member"]


def test_a_selection_leaves_out_other_rules_but_no_error_of_the_language(tmp_path: Path) -> None:
    assert names(settings(tmp_path, 'select = ["unchecked-claim"]')) == ["unchecked-claim", "unknown-member"]


def test_the_command_line_asks_for_exactly_what_it_selects(tmp_path: Path) -> None:
    config = settings(tmp_path, 'ignore = ["unchecked-claim"]')
    assert names(config, Choice(frozenset({"IL316"}))) == ["unchecked-claim"]
    assert names(config, Choice(None, frozenset({"IL210"}))) == ["unknown-member"]


@pytest.mark.parametrize(("level", "severity"), [("error", "error"), ("hint", "hint"), ("off", None)])
def test_severities_of_warnings_can_be_changed(tmp_path: Path, level: str, severity: str | None) -> None:
    config = settings(tmp_path, f'[severity]\nunchecked-claim = "{level}"\n')
    found = Settings(config).apply(check_texts({"w.workflow.yaml": CLAIM}), {})
    assert {one.name: one.severity for one in found}.get("unchecked-claim") == severity


def test_ignores_by_file_count_from_the_root(tmp_path: Path) -> None:
    config = settings(tmp_path, '[per-file-ignores]\n"old/**" = ["unchecked-claim"]\n')
    found = check_texts({"w.workflow.yaml": CLAIM})
    inside = Settings(config).apply(found, {"w.workflow.yaml": "old/deep/w.workflow.yaml"})
    outside = Settings(config).apply(found, {"w.workflow.yaml": "new/w.workflow.yaml"})
    assert "unchecked-claim" not in {one.name for one in inside}
    assert "unchecked-claim" in {one.name for one in outside}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('ignore = ["unused-input", "unknown-member"]', 1),
        ('\n[severity]\nunused-input = "off"\nunknown-member = "warning"', 4),
        ('[per-file-ignores]\n"a.yaml" = [\n  "unused-input",\n  "IL205",\n]', 4),
    ],
)
def test_an_error_of_the_language_stays_and_the_setting_is_reported_where_it_stands(
    tmp_path: Path, text: str, line: int
) -> None:
    config = settings(tmp_path, text)
    assert [(one.name, one.file, one.line) for one in config.problems] == [("cannot-suppress", "interlock.toml", line)]
    assert "unknown-member" in names(config)


@pytest.mark.parametrize("rule", ["limit-conflict", "lock-order-cycle", "wait-cycle", "admission-deadlock"])
def test_errors_of_the_workspace_can_be_ignored(tmp_path: Path, rule: str) -> None:
    assert settings(tmp_path, f'ignore = ["{rule}"]').problems == ()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('ignore = ["unused-inputs"]', 1, 11),
        ('select = [\n  # one\n  "unused-inputs",\n]', 3, 3),
        ('[severity]\n"unused-inputs" = "off"', 2, 1),
    ],
)
def test_a_name_that_is_no_rule_is_reported_at_its_place(tmp_path: Path, text: str, line: int, column: int) -> None:
    problem = settings(tmp_path, text).problems[0]
    assert (problem.name, problem.line, problem.column) == ("unknown-rule", line, column)
    assert problem.hint == 'Did you mean "unused-input"?'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("patern = []", 'interlock.toml:1: there is no setting "patern"; did you mean "patterns"?'),
        ("\nignore = 3", 'interlock.toml:2: "ignore" must be a list of texts, such as ignore = ["…"]'),
        ('exclude = [\n "a",\n 7,\n]', 'interlock.toml:3: "exclude" must be a list of texts, and 7 is none'),
        ('severity = "off"', 'interlock.toml:1: "severity" must be a table'),
        (
            '[severity]\nmaybe-absent = "loud"',
            'interlock.toml:2: the severity of "maybe-absent" must be one of error, warning, hint, off',
        ),
        ('blocks = ["none.json"]', 'interlock.toml:1: there is no manifest of blocks at "none.json"'),
        ('exclude = ["[z-a]"]', 'interlock.toml:1: "[z-a]" is no pattern for paths: its brackets hold no range'),
        ("ignore = [\n\n", "interlock.toml:2: not TOML: "),
        ("a = 1\nb = = 2", "interlock.toml:2: not TOML: "),
        ("a = 1\na = 2", "interlock.toml:2: not TOML: "),
    ],
)
def test_a_wrong_setting_is_one_line_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text)
    said = str(caught.value)
    assert "\n" not in said
    if "not TOML" in message:
        assert said.startswith(("interlock.toml:1: not TOML: ", "interlock.toml:2: not TOML: "))
    else:
        assert said.startswith(message)


def test_a_shared_file_counts_with_its_table_alone(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "interlock"\n[tool.other]\nx = 1\n')
    assert has_settings(str(tmp_path)) is None
    project.write_text('[tool.interlock]\nignore = ["unused-input"]\n')
    assert has_settings(str(tmp_path)) == str(project)
    assert load_config(str(project)).ignore == {"IL210"}


def test_the_own_file_counts_before_the_shared_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.interlock]\n")
    (tmp_path / "interlock.toml").write_text("")
    assert has_settings(str(tmp_path)) == str(tmp_path / "interlock.toml")


def test_the_manifest_beside_the_settings_is_used_unless_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "interlock.blocks.json").write_text("{}")
    assert settings(tmp_path, "").manifests == (str(tmp_path / "interlock.blocks.json"),)
    assert settings(tmp_path, "blocks = []").manifests == ()


def test_a_broken_shared_file_that_may_be_ours_is_no_silence(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.interlock]\nignore = [\n")
    path = has_settings(str(tmp_path))
    assert path is not None
    with pytest.raises(ConfigError, match=r"pyproject\.toml:\d+: not TOML: "):
        load_config(path)
