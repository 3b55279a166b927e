"""Lets the tests import what they share, as the package ``fuzz``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
