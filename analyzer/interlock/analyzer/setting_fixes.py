"""Applying the fixes of what is wrong with settings to the text that holds them.

Writing the file is left to the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from interlock.analyzer.config import Config, ConfigError, read_config
from interlock.analyzer.diagnostics import Diagnostic
from interlock.analyzer.fixes import apply_edits, replacement
from interlock.analyzer.source.text import SourceText


def mend_settings(
    config: Config, report: Callable[[list[Diagnostic]], list[Diagnostic]]
) -> tuple[Config, dict[str, int]]:
    """The settings without those that ``report`` keeps and a fix removes, and how many went, by rule.

    One at a time: what is removed moves what stands beside it.
    """
    applied: Counter[str] = Counter()
    while config.path is not None and config.source is not None:
        fixable = [one for one in report(list(config.problems)) if one.fix is not None]
        fix = replacement(config.source, fixable[0]) if fixable else None
        if fix is None:
            break
        source = SourceText(config.source.path, apply_edits(config.source.text, fix.edits))
        try:
            mended = read_config(config.path, source)
        except ConfigError:
            break
        if len(mended.problems) >= len(config.problems):
            break
        config = mended
        applied[fix.diagnostic.name] += 1
    return config, dict(applied)
