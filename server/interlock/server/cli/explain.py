"""``interlock explain``: the page of a rule."""

from __future__ import annotations

import argparse
import os
import re
import sys

from interlock.analyzer.rules.catalog import Rule, advice, find_rule
from interlock.server.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="RULE", help="a rule by its name or code, such as nested-wait or IL401")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    rule = _rule(options.rule)
    from interlock.analyzer.rules.pages import page_of, standing

    try:
        page = page_of(rule)
    except OSError as error:
        raise UsageError(f'the page of "{rule.name}" is missing from this installation') from error
    if options.json:
        import msgspec

        from interlock.server.cli.rules import as_json

        row = as_json(rule) | {
            "summary": page.summary,
            "why": page.why,
            "bad": page.bad,
            "good": page.good,
            "how_to_mend": page.mend or None,
        }
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(row), indent=2).decode() + "\n")
        return 0
    title, _, rest = page.text.partition("\n")
    sys.stdout.write(_styled(f"{title}\n\n{standing(rule)}\n{rest}"))
    return 0


def _rule(word: str) -> Rule:
    rule = find_rule(word)
    if rule is None:
        raise UsageError(f'no rule is called "{word}"; {advice(word)}')
    return rule


def _styled(text: str) -> str:
    """Headings in bold and examples set in, on a terminal; the Markdown itself elsewhere."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    text = re.sub(
        r"^```yaml\n(.*?)^```\n",
        lambda found: re.sub(r"^", "    ", found[1], flags=re.MULTILINE).rstrip(" "),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    return re.sub(r"^#+ (.+)$", "\x1b[1m\\1\x1b[0m", text, flags=re.MULTILINE)
