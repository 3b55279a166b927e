"""Workflow files of any size for the benchmarks: ordinary ones, of every common shape, and valid.

The same seed gives the same text.  Lines, not steps, are what a size counts, for a peer that knows
nothing of workflows reads the same files.
"""

from __future__ import annotations

import random
from collections.abc import Callable

_Make = Callable[[int, random.Random], str]


def _http(number: int, chance: random.Random) -> str:
    method = chance.choice(("GET", "POST", "PUT"))
    return f"""\
  # Step {number}: one request, tried again when it fails.
  - id: call_{number}
    block: http
    params:
      method: {method}
      url: "{{inputs.base_url}}/items/{number}"
      headers:
        Accept: application/json
        Authorization: "Bearer {{secrets.API_TOKEN}}"
      query: {{page: {chance.randint(1, 40)}, tag: "{{inputs.tag}}"}}
    retry: {{max_attempts: {chance.randint(2, 6)}, delay: 1s, backoff: exponential}}
    timeout: {chance.randint(5, 50)}s
  - id: keep_{number}
    when: "{{call_{number}.status == 200}}"
    block: set
    params:
      first: "{{call_{number}.json.items[0].name}}"
      label: "item {{call_{number}.json.id}} of {{inputs.tag}}"
"""


def _branches(number: int, _: random.Random) -> str:
    return f"""\
  - id: both_{number}
    concurrency:
      limit: 2
      on_error: collect
      branches:
        left:
          steps:
            - id: fetch
              block: http
              params: {{url: "{{inputs.base_url}}/left/{number}"}}
              timeout: 10s
          outputs:
            value: "{{fetch.json.value}}"
        right:
          steps:
            - id: fetch
              block: http
              params: {{url: "{{inputs.base_url}}/right/{number}"}}
            - id: shaped
              block: set
              params: {{value: "{{fetch.json.value + 1.0}}"}}
          outputs:
            value: "{{shaped.value}}"
  - id: joined_{number}
    when: "{{both_{number}.branches.left.status == 'completed'}}"
    block: log
    params: {{message: "left gave {{both_{number}.branches.left.output.value}}"}}
"""


def _section(number: int, chance: random.Random) -> str:
    return f"""\
  - id: guard_{number}
    concurrency:
      resource: "shelf-{number}:{{inputs.tag}}"
      protected: {chance.choice(("true", "false"))}
      steps:
        - id: write
          block: http
          params:
            method: POST
            url: "{{inputs.base_url}}/write/{number}"
            json: {{fence: "{{lease.fence}}", tag: "{{inputs.tag}}"}}
          timeout: 30s
      outputs: {{id: "{{write.json.id}}"}}
"""


def _each(number: int, chance: random.Random) -> str:
    return f"""\
  - id: rows_{number}
    for_each:
      items: [north, south, east, west]
      as: region
      limit: {chance.randint(1, 4)}
      steps:
        - id: detail
          block: http
          params: {{url: "{{inputs.base_url}}/regions/{{region}}/{number}"}}
      outputs:
        region: "{{region}}"
        total: "{{detail.json.total}}"
"""


def _wait(number: int, _: random.Random) -> str:
    return f"""\
  - id: ask_{number}
    wait_for_decision: {{result_key: answer_{number}}}
    timeout: 2d
  - id: pause_{number}
    when: "{{answer_{number}.outcome == 'approved'}}"
    delay: 10s
"""


_SHAPES: tuple[_Make, ...] = (_http, _branches, _http, _section, _each, _http, _wait)


def workflow_text(lines: int, seed: int = 0) -> str:
    """One workflow of ``lines`` lines, at least about 25."""
    chance = random.Random(seed)
    head = f"""\
# A generated workflow: number {seed}.
workflow: bench.flow{seed}
version: v1
description: Work of the common kinds, one after the other.
inputs:
  base_url: string
  tag: {{type: string, default: plain}}
secrets: [API_TOKEN]
budget: {{max_transitions: 100000}}
steps:
"""
    parts, left = [head], lines - head.count("\n")
    for number in range(1, lines):
        part = _SHAPES[(number + seed) % len(_SHAPES)](number, chance)
        if part.count("\n") <= left:
            parts.append(part)
            left -= part.count("\n")
        elif parts[1:]:
            break
    parts.extend(f"# note {rest}\n" for rest in range(left))
    return "".join(parts)


def workspace_texts(files: int, lines: int) -> dict[str, str]:
    """Files by name that together have ``lines`` lines, each of another length."""
    base = lines // files
    sizes = [base + (base // 3) * ((number % 3) - 1) for number in range(files)]
    sizes[-1] += lines - sum(sizes)
    return {
        f"team{number % 10}/flow{number}.workflow.yaml": workflow_text(size, number)
        for number, size in enumerate(sizes)
    }


def github_text(lines: int, seed: int = 0) -> str:
    """A GitHub Actions workflow of ``lines`` lines, for a peer that reads nothing else."""
    parts = [f"name: bench {seed}\non: push\npermissions: {{}}\njobs:\n"]
    left, job = lines - 4, 0
    while left >= 9:
        job += 1
        head = f"  job_{job}:\n    runs-on: ubuntu-24.04\n    timeout-minutes: {job % 50 + 1}\n    steps:\n"
        parts.append(head)
        left -= 4
        for step in range(min(30, left // 5)):
            parts.append(
                f"      - name: step {step}\n"
                f"        if: github.ref == 'refs/heads/{seed}'\n"
                "        env:\n"
                f"          TAG: ${{{{ github.sha }}}}-{job}-{step}\n"
                '        run: echo "$TAG"\n'
            )
            left -= 5
    parts.extend(f"# note {rest}\n" for rest in range(left))
    return "".join(parts)


def cloudformation_text(lines: int, seed: int = 0) -> str:
    """A CloudFormation template of ``lines`` lines, for a peer that reads nothing else."""
    parts = ["AWSTemplateFormatVersion: '2010-09-09'\nResources:\n"]
    left = lines - 2
    for number in range(max(1, left // 10)):
        parts.append(
            f"  Queue{number}:\n    Type: AWS::SQS::Queue\n    Properties:\n"
            f"      QueueName: work-{seed}-{number}\n      DelaySeconds: {number % 900}\n"
            f"      VisibilityTimeout: {number % 43200}\n      MessageRetentionPeriod: 86400\n"
            f"      Tags:\n        - Key: team\n          Value: t{number}\n"
        )
        left -= 10
    parts.extend(f"# note {rest}\n" for rest in range(left))
    return "".join(parts)
