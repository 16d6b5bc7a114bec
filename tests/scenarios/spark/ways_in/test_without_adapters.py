# SPDX-License-Identifier: Apache-2.0
"""Where the Java adapters cannot be compiled, bayou's own functions still work, and say what does not."""

from __future__ import annotations

import pytest
from tests.support.tables.built import file_of, ids, numbers_table, without_rows

import bayou
from bayou.errors import SessionError
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.session.application import Application
from bayou.testing.table_builder import TableBuilder


@pytest.fixture
def bare(spark, monkeypatch):
    """The session as it is on a Spark without a compiler."""
    application = Application.of(spark)
    monkeypatch.setattr(application, "native", False)
    monkeypatch.setattr(application, "why_not_native", "The Java adapters cannot be compiled on this session.")
    return spark


@pytest.mark.smoke
def test_enable_warns_and_says_what_does_not_work(bare, monkeypatch):
    def without_compiler(_):
        raise SessionError("The Java adapters cannot be compiled on this session.")

    monkeypatch.setattr(Adapters, "of", without_compiler)
    with pytest.warns(UserWarning, match="cannot be compiled"):
        assert bayou.enable(bare) is bare


@pytest.mark.smoke
@pytest.mark.filterwarnings("ignore:The Java adapters")
def test_tables_are_read_with_their_deletion_vectors(bare, table_path):
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, 2, 3]}, **without_rows([1])))
    frame = bayou.read(bare, table_path)
    assert ids(frame) == [1, 3]
    assert "$Proxy" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.filterwarnings("ignore:The Java adapters")
def test_partition_filters_are_applied_exactly(bare, table_path):
    bayou.write(bare.range(10).selectExpr("id", "id % 3 as k"), table_path, partition_by=["k"])
    assert ids(bayou.read(bare, table_path).where("k = 1 or k + 1 = 3")) == [1, 2, 4, 5, 7, 8]


@pytest.mark.filterwarnings("ignore:The Java adapters")
def test_a_dataframe_reads_the_version_that_was_the_latest_when_it_was_made(bare, table_path):
    numbers_table(table_path, [1, 2])
    frame = bayou.read(bare, table_path)
    bayou.write(bare.range(3, 4), table_path, mode="append")
    assert ids(frame) == [1, 2]
    assert ids(bayou.read(bare, table_path)) == [1, 2, 3]
