"""``interlock rules``: lists the rules, or writes their pages for a documentation."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from interlock.analyzer.rules.catalog import RULES, Rule, can_suppress
from interlock.server.cli.main import UsageError

_PAGE = re.compile(r"IL\d{3}-[a-z-]+\.md")

FAMILIES = {
    "1": "Form",
    "2": "Expressions, references and flow",
    "3": "Fields of concurrency",
    "4": "Leases, waits and calls",
    "5": "Secrets",
    "6": "Budgets and loops",
    "7": "Suppressions",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--write", metavar="DIR", help="write a page for each rule, and an index, into a folder")


def run(options: argparse.Namespace) -> int:
    if options.write is not None:
        return _write(options.write)
    if options.json:
        import msgspec

        rows = [as_json(rule) for rule in RULES.values()]
        sys.stdout.write(
            msgspec.json.format(msgspec.json.encode({"version": 1, "rules": rows}), indent=2).decode() + "\n"
        )
        return 0
    width = max(len(rule.name) for rule in RULES.values())
    for rule in RULES.values():
        fix = "fix" if rule.fixable else ""
        print(f"{rule.code}  {rule.name.ljust(width)}  {rule.severity.ljust(7)}  {fix.ljust(3)}  {rule.title}")
    return 0


def as_json(rule: Rule) -> dict[str, Any]:
    """One rule as the commands tell it."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "fixable": rule.fixable,
        "suppressible": can_suppress(rule),
        "title": rule.title,
    }


def _write(folder: str) -> int:
    from interlock.analyzer.rules.pages import page_name, page_of, standing

    pages = {"README.md": index()}
    for rule in RULES.values():
        title, _, rest = page_of(rule).text.partition("\n")
        pages[page_name(rule)] = f"{title}\n\n*{standing(rule)}*\n{rest}"
    try:
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if _PAGE.fullmatch(name) and name not in pages:
                os.remove(os.path.join(folder, name))
        for name, text in pages.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        raise UsageError(f'the pages cannot be written to "{folder}": {reason}') from error
    return 0


def index() -> str:
    """The page that lists all others."""
    from interlock.analyzer.rules.pages import page_name

    lines = [
        "# Rules",
        "",
        "Each rule has a code and a name; both work in `--select`, `--ignore`, the settings, and in comments such",
        "as `# interlock: ignore[nested-wait] why`.  `interlock explain NAME` prints these pages.",
    ]
    family = ""
    for rule in RULES.values():
        if rule.code[2] != family:
            family = rule.code[2]
            lines += ["", f"## {FAMILIES[family]}", "", "| code | name | severity | fix | what it finds |"]
            lines.append("| --- | --- | --- | --- | --- |")
        fix = "yes" if rule.fixable else ""
        name = f"[{rule.name}]({page_name(rule)})"
        lines.append(f"| {rule.code} | {name} | {rule.severity} | {fix} | {rule.title} |")
    return "\n".join(lines) + "\n"
