# SPDX-License-Identifier: Apache-2.0
"""The fixtures of tests on a Spark session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.fixtures import *  # noqa: F403
from tests.support.on_connect import JVM, looks_into_the_jvm, resolve_reads_at_once

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


@pytest.fixture(autouse=True)
def _reads_are_resolved_at_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--on-connect`, an error of a read comes when the read is made, as on a classic session."""
    with pytest.MonkeyPatch.context() as patch:
        if request.config.getoption("--on-connect"):
            resolve_reads_at_once(patch)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test that asks for the JVM, if its session has none."""
    return (yield from _without_jvm())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    """Skip a test whose fixture asks for the JVM, if its session has none."""
    return (yield from _without_jvm())


def _without_jvm() -> Generator[None, object, object]:
    try:
        return (yield)
    except Exception as error:
        if looks_into_the_jvm(error):
            pytest.skip(JVM)
        raise
