"""The claims that hold our expressions and the runtime together, tried with as many generated ones as are asked for.

The generators and the claims are those of the everyday tests; this only gives them a seed and a number.
"""

from __future__ import annotations

import importlib.util
import time
import traceback
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, seed, settings

CLAIMS = Path(__file__).parents[1] / "analyzer" / "expressions" / "test_runtime_agreement.py"


def claims() -> dict[str, Any]:
    """The generated tests, by name."""
    spec = importlib.util.spec_from_file_location("fuzz_expression_claims", CLAIMS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: test for name, test in vars(module).items() if hasattr(test, "hypothesis")}


def hold(first: int, count: int) -> int:
    """Every claim with ``count`` expressions; the answer is how many do not hold, each told with its example."""
    broken = 0
    limits = settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    for name, test in claims().items():
        begun = time.monotonic()
        try:
            # Hypothesis lets nobody decorate a test twice, and reads what it was decorated with from here.
            test._hypothesis_internal_use_settings = limits
            seed(first)(test)()
        except Exception:
            broken += 1
            traceback.print_exc(limit=-2)
        print(f"{name}: {count:,} expressions in {time.monotonic() - begun:,.0f} s", flush=True)
    return broken
