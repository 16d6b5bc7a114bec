# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a Spark session with bayou on it, and Delta tables that end with the test.

pytest loads this module at each start, because it is an entry point of the package. Each fixture imports what needs PySpark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from bayou.testing.session import DeltaTables


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let Python's own importer load bayou. pytest calls this hook before it loads conftest.py.

    pytest rewrites the assertions of every module of a package with a plugin, and keeps its own compiled copies of them. The first
    import after an installation then takes 0.7 s more. Only `bayou.testing` has assertions that a test shows.
    """
    marked = getattr(pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set) and "bayou" in marked:  # no public function takes a package out
        marked.discard("bayou")
        pytest.register_assert_rewrite("bayou.testing")


@pytest.fixture(scope="session")
def delta_session_settings() -> Mapping[str, str]:
    """Override this fixture in `conftest.py` to give the shared session settings, `spark.master` among them."""
    return {}


@pytest.fixture(scope="session")
def delta_session(delta_session_settings: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Provide a small local Spark session with bayou on it, one for the whole run.

    A session that runs already is used as it is, and left running. The fixture stops the session that it starts.
    """
    from bayou.testing.session import enabled_session  # noqa: PLC0415  (it imports PySpark)

    with enabled_session(
        {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")), **delta_session_settings}
    ) as session:
        yield session


@pytest.fixture
def delta_table(delta_session: SparkSession, tmp_path: Path) -> Iterator[DeltaTables]:
    """Create Delta tables for one test: `delta_table([(1, "a")], "id BIGINT, name STRING")` returns a `DeltaTable`."""
    from bayou.testing.session import DeltaTables  # noqa: PLC0415  (it imports PySpark)

    tables = DeltaTables(delta_session, tmp_path)
    yield tables
    tables.drop()
