"""What may be absent in a branch: its output when it failed, its error when it did not."""

from __future__ import annotations

import pytest
from found import diagnostics

TEXT = """
    workflow: w
    inputs: {{url: string}}
    steps:
      - id: both
        concurrency:
          on_error: collect
          branches:
            left:
              steps: [{{id: get, block: http, params: {{url: "{{inputs.url}}"}}}}]
              outputs: {{status: "{{get.status}}"}}
      - id: tell
        when: "{{{condition}}}"
        block: set
        params: {{x: "{{both.branches.left.{member}}}"}}
"""


@pytest.mark.parametrize(
    ("condition", "quiet"),
    [
        ("both.branches.left.status == 'failed'", "error"),
        ("both.branches.left.status != 'completed'", "error"),
        ("both.branches.left.output == null", "error"),
        ("both.branches.left.error != null", "error"),
        ("both.branches.left.status == 'completed'", "output"),
        ("both.branches.left.status != 'failed'", "output"),
        ("both.branches.left.error == null", "output"),
        ("both.branches.left.output != null", "output"),
    ],
)
def test_a_status_vouches_for_what_goes_with_it_and_for_nothing_else(condition: str, quiet: str) -> None:
    for member, name in (("error.message", "error"), ("output.status", "output")):
        found = diagnostics(TEXT.format(condition=condition, member=member))
        assert [one.name for one in found] == ([] if name == quiet else ["maybe-absent"]), member


def test_the_advice_for_an_error_is_to_look_whether_the_branch_failed() -> None:
    (found,) = diagnostics(TEXT.format(condition="inputs.url != ''", member="error.message"))
    assert "the branch may have completed" in found.message
    assert "both.branches.left.status == 'failed'" in (found.hint or "")
