# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin as a project that installs bayou uses it: its fixtures, its assertion, and the page that explains them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.pytester import SysModulesSnapshot
from pyspark.sql import functions as sf

from bayou import DeltaTable
from bayou.testing.session import DeltaTables
from bayou.testing.tables import SHOWN_ROWS, assert_tables_equal

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[4] / "docs" / "how_to" / "test_your_jobs.md"
# An installed bayou registers the plugin under the name `bayou`, and pytest refuses one module under two names.
OPTIONS = ("-p", "no:bayou", "-p", "bayou.testing.plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist")


@pytest.fixture
def run(pytester, spark, monkeypatch):
    """Runs the tests of the folder in this process, on the session that is there."""
    # pytester would take the modules of bayou that the run imports from this process again, and leave two of each.
    monkeypatch.setattr(SysModulesSnapshot, "restore", lambda _: None)
    return lambda *arguments: pytester.runpytest_inprocess(*OPTIONS, *arguments)


@pytest.fixture
def tables(spark, tmp_path):
    found = DeltaTables(spark, tmp_path)
    yield found
    found.drop()


def difference(actual, expected, **tolerance):
    with pytest.raises(AssertionError) as caught:
        assert_tables_equal(actual, expected, **tolerance)
    return str(caught.value).splitlines()


def test_the_blocks_of_the_page_pass(pytester, run):
    blocks = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert {"conftest.py", "test_orders.py"} == {name for name, _ in blocks}
    for name in dict(blocks):
        (pytester.path / name).write_text("\n\n".join(code for each, code in blocks if each == name), encoding="utf-8")
    result = run()
    passed = sum(code.count("def test_") for _, code in blocks)
    assert passed >= 3
    result.assert_outcomes(passed=passed)


def test_the_message_of_the_page_is_the_one_that_a_test_shows(tables):
    (shown,) = re.findall(r"^```text\nE +AssertionError: (.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    actual = tables([(1, "sent"), (2, "open"), (4, "open")], "id INT, status STRING")
    assert [re.sub(r"^E {7}", "", line) for line in shown.splitlines()] == difference(
        actual, [(1, "sent"), (2, "sent"), (3, "open")]
    )


def test_a_session_that_the_plugin_starts_is_enabled_has_the_settings_and_ends(pytester):
    """In a process of its own, because this one has a session."""
    pytester.makeconftest("""
        import pytest

        @pytest.fixture(scope="session")
        def delta_session_settings():
            return {"spark.master": "local[1]", "spark.sql.shuffle.partitions": "1"}

        def pytest_unconfigure():
            from pyspark.sql import SparkSession
            print("left running:", SparkSession.getActiveSession())
    """)
    pytester.makepyfile("""
        from bayou.testing.tables import assert_tables_equal

        def test_session(delta_session, tmp_path):
            assert delta_session.sparkContext.master == "local[1]"
            assert delta_session.conf.get("spark.sql.shuffle.partitions") == "1"
            delta_session.range(2).write.format("delta").saveAsTable("numbers")
            assert_tables_equal(delta_session.table("numbers"), [(0,), (1,)])

        def test_failure(delta_table):
            assert_tables_equal(delta_table([(1,)], "id INT"), [(2,)])
    """)
    result = pytester.runpytest_subprocess(*OPTIONS, "-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E*the rows differ: missing rows: 1, unexpected rows: 1", "left running: None"])
    result.stdout.no_fnmatch_line("*def assert_tables_equal*")


def test_a_table_has_what_was_asked_for(tables, spark):
    rows = [(1, "mon"), (2, "tue")]
    properties = {"delta.enableChangeDataFeed": "true"}
    table = tables(rows, "id INT, day STRING", partition_by=["day"], properties=properties, name="by_day")
    detail = table.detail().first()
    assert detail.partitionColumns == ["day"]
    assert detail.properties["delta.enableChangeDataFeed"] == "true"
    assert_tables_equal(spark.table("by_day"), rows)
    assert_tables_equal(detail.location, DeltaTable.forName(spark, "by_day"))
    tables.drop()
    assert not spark.catalog.tableExists("by_day")


def test_tables_are_separate_and_may_be_empty_or_of_a_frame(tables, spark):
    empty, filled = tables([], "id LONG"), tables(spark.range(3))
    assert_tables_equal(empty, [])
    assert_tables_equal(filled, spark.range(3))
    assert empty.detail().first().location != filled.detail().first().location


def test_order_does_not_matter_and_nulls_are_equal(spark):
    one = spark.sql("select * from values (1, null), (2, double('nan')), (3, 0D) as t (id, x)")
    other = spark.sql("select * from values (-0D, 3), (double('nan'), 2), (null, 1) as t (x, id)")
    assert_tables_equal(one, other)
    assert_tables_equal(one, other, atol=0.1)


def test_copies_count(spark):
    one = spark.sql("select * from values (1), (1), (2) as t (id)")
    assert difference(one, [(1,), (2,), (2,), (2,)]) == [
        "the rows differ: missing rows: 2, unexpected rows: 1",
        "missing:",
        "  id=2 (2 times)",
        "unexpected:",
        "  id=1",
    ]


def test_columns_come_before_rows(spark):
    one = spark.sql("select 1 id, 'a' name, 2 as `odd.one`")
    other = spark.sql("select 1L id, 'a' name, 2 more")
    assert difference(one, other) == [
        "the columns differ:",
        "  more: missing, expected int",
        "  odd.one: int, not expected",
        "  id: int, expected bigint",
    ]
    assert_tables_equal(one, [(1, "a", 2)])


def test_a_column_name_twice_is_not_compared(spark):
    assert difference(spark.sql("select 1 a, 2 a"), [(1, 2)])[1] == "  a: there are several columns of this name"


def test_values_are_shown_by_column(spark):
    one = spark.sql("select * from values (1, 'a', 1.5D), (2, 'b', 2.5D), (7, 'x', 0D) as t (id, name, amount)")
    assert difference(one, [(1, "a", 1.0), (2, "b", 2.5), (3, "c", 3.5)]) == [
        "the rows differ: missing rows: 2, unexpected rows: 2",
        "rows with other values:",
        "  id=1, name='a': amount is 1.5, expected 1.0",
        "missing:",
        "  id=3, name='c', amount=3.5",
        "unexpected:",
        "  id=7, name='x', amount=0.0",
    ]


def test_a_message_stays_short_however_many_rows_differ(spark):
    one = spark.range(5_000).select(sf.repeat(sf.lit("x"), 1000).alias("text"), "id")
    lines = difference(one, [])
    assert len(lines) == 3 + SHOWN_ROWS
    assert lines[-1] == f"  and {5_000 - SHOWN_ROWS} more unexpected"
    assert all(len(line) < 120 for line in lines)


NESTED = """
    select id, map('a', array({0}), 'b', array(2D)) m, named_struct('x', {0}, 'y', cast(null as double)) s, array(float({0})) f
    from range(3)
"""


def test_maps_are_compared_in_any_order(spark):
    one, other = spark.sql("select map('a', 1, 'b', 2) m"), spark.sql("select map('b', 2, 'a', 1) m")
    assert_tables_equal(one, other)
    assert difference(one, spark.sql("select map('a', 1, 'b', 3) m"))[0] == "the rows differ: missing rows: 1, unexpected rows: 1"


def test_numbers_within_the_tolerance_are_equal_at_any_depth(spark):
    one, other = spark.sql(NESTED.format("1.0D")), spark.sql(NESTED.format("1.01D"))
    assert difference(one, other, atol=0.005)
    assert_tables_equal(one, other, rtol=0.02)
    assert difference(one, spark.sql(NESTED.format("cast(null as double)")), atol=0.02)


def test_nothing_finite_is_close_to_what_is_not(spark):
    one = spark.sql("select * from values (1, 1D), (2, 1D), (3, double('nan')), (4, null) as t (id, x)")
    other = [(1, float("inf")), (2, float("nan")), (3, 1.0), (4, 1.0)]
    assert difference(one, other, atol=1e300, rtol=1.0)[0] == "the rows differ: missing rows: 4, unexpected rows: 4"


def test_copies_count_within_the_tolerance(spark):
    one = spark.sql("select * from values (1.001D), (0.999D), (5D) as t (x)")
    assert_tables_equal(one, [(1.0,), (1.0,), (5.0,)], atol=0.01)
    assert difference(one, [(1.0,), (5.0,), (5.0,)], atol=0.01) == [
        "the rows differ: missing rows: 1, unexpected rows: 1",
        "missing:",
        "  x=5.0",
        "unexpected:",
        "  x=1.001",
    ]
