# SPDX-License-Identifier: Apache-2.0
"""The fixtures of tests on a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.fixtures import *  # noqa: F403
from tests.support.on_connect import resolve_reads_at_once

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _reads_are_resolved_at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--on-connect`, an error of a read comes when the read is made, as on a classic session."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--on-connect"):
            resolve_reads_at_once(patch)
        yield
