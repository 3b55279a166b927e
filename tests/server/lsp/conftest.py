from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from client import Client


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    """One initialized server for a module, without folders; every test opens documents of its own."""
    client = Client()
    client.initialize()
    yield client
    client.close()


@pytest.fixture
def client() -> Iterator[Client]:
    """A server that the test initializes itself."""
    found = Client()
    yield found
    found.close()
