from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from client import Client


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What servers remember of the folders of tests is not kept among what the person here has checked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("LOCALAPPDATA", str(tmp_path_factory.mktemp("local")))
        yield


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
