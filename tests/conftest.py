# SPDX-License-Identifier: Apache-2.0
"""What every test may use: hypothesis profiles and the folder of published tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# The same examples on every run: a change fails for what it changes. `make soak` draws new ones, and many.
settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("default"), derandomize=False, max_examples=5_000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside this checkout with tables and tools that projects share; skips the test without it."""
    folder = Path(os.environ.get("BAYOU_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the shared folder is not beside this checkout (BAYOU_SHARED names another place)")
    return folder


@pytest.fixture(scope="session")
def corpora(shared: Path) -> Path:
    """Delta tables that other projects published as test data."""
    folder = shared / "corpora" / "open"
    if not folder.is_dir():
        pytest.skip("the shared folder has no published tables")
    return folder
