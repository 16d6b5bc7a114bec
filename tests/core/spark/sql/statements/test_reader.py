# SPDX-License-Identifier: Apache-2.0
"""What statements of Delta's are read as, and where a wrong one is wrong."""

from __future__ import annotations

import pytest
from tests.support.spark_words import words

from bayou.errors import SqlSyntaxError
from bayou.spark.sql.statements.alteration import ClusterBy, Convert, DropFeature, SyncIdentity
from bayou.spark.sql.statements.clone import Clone
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.maintenance import ComputeStatistics, Generate, Optimize, Reorg, Restore, Vacuum
from bayou.spark.sql.statements.reader import Reader, TableReference, Written
from bayou.spark.sql.statements.statements import read_statement


def read(text):
    return read_statement(Reader(text, words(text)))


T = TableReference("t")
CONDITION = "(p = 1 and q in (1, 2))"
PATH = TableReference("delta.`/a/b c`")
QUOTED = TableReference(None, "'/a b'")


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("vacuum t", Vacuum(T)),
        ("VACUUM '/a b' ;;", Vacuum(QUOTED)),
        ("VACUUM delta.`/a/b c` DRY RUN RETAIN 1.5 HOURS LITE", Vacuum(PATH, "LITE", None, "1.5", True)),
        ("vacuum t retain -1 hours full", Vacuum(T, "FULL", None, "-1")),
        ("vacuum t using inventory a.b dry run", Vacuum(T, None, "a.b", None, True)),
        ("vacuum t using inventory (select (1) from x) full", Vacuum(T, "FULL", "(select (1) from x)")),
        ("optimize t", Optimize(T)),
        ("optimize vacuum full", Optimize(TableReference("vacuum"), True)),
        ("optimize t where (p = 1 and q in (1, 2)) zorder by (a, b.`c.d`)", Optimize(T, False, CONDITION, ("a", "b.`c.d`"))),
        ("OPTIMIZE t -- all\nZORDER /* x */ BY a, b", Optimize(T, False, None, ("a", "b"))),
        ("reorg table t apply (purge)", Reorg(T)),
        ("REORG TABLE t WHERE p = 'x' APPLY (PURGE)", Reorg(T, "p = 'x'")),
        ("reorg table t apply (upgrade uniform (iceberg_compat_version = 2))", Reorg(T, None, True)),
        ("restore t version as of 3", Restore(T, "VERSION", Written("3"))),
        ("RESTORE TABLE t TO FOR SYSTEM_TIME AS OF '2026-01-01'", Restore(T, "TIMESTAMP", Written("'2026-01-01'", True))),
        (
            "restore table table to timestamp as of current_timestamp() - interval 1 day",
            Restore(TableReference("table"), "TIMESTAMP", Written("current_timestamp() - interval 1 day")),
        ),
        ("generate symlink_format_manifest for table t", Generate("symlink_format_manifest", T)),
        ("analyze table t compute delta statistics", ComputeStatistics(T)),
        ("describe history a.b limit 5", DescribeHistory(TableReference("a.b"), 5)),
        ("DESC DETAIL '/a b'", DescribeDetail(QUOTED)),
        ("convert to delta parquet.`/a`", Convert(TableReference("parquet.`/a`"))),
        (
            "CONVERT TO DELTA t NO STATISTICS PARTITIONED BY (a decimal(9,2), b timestamp)",
            Convert(T, False, "a decimal(9,2), b timestamp"),
        ),
        ("alter table t drop feature deletionVectors truncate history", DropFeature(T, Written("deletionVectors"), True)),
        ("ALTER TABLE t DROP FEATURE 'x-y'", DropFeature(T, Written("'x-y'", True))),
        ("alter table t change a.b sync identity", SyncIdentity(T, "a.b")),
        ("alter table t alter column column sync identity", SyncIdentity(T, "column")),
        ("alter table t cluster by (a, b.c)", ClusterBy(T, ("a", "b.c"))),
        ("alter table t cluster by none", ClusterBy(T, ())),
        ("create table c shallow clone t", Clone(TableReference("c"), T, True, False)),
        (
            "create or replace table c clone t version as of 3 tblproperties ('a' = 'b', c.d = 1, e = true) location '/a b'",
            Clone(
                TableReference("c"),
                T,
                False,
                True,
                True,
                False,
                ("VERSION", Written("3")),
                ((Written("'a'", True), Written("'b'", True)), (Written("c.d"), Written("1")), (Written("e"), Written("true"))),
                "'/a b'",
            ),
        ),
        ("create table if not exists c deep clone t", Clone(TableReference("c"), T, False, False, True, True)),
        ("replace table c clone t", Clone(TableReference("c"), T, False, True, False)),
        ("vacuum 2024_orders", Vacuum(TableReference("2024_orders"))),
        ("vacuum identifier(:t) dry run", Vacuum(TableReference(None, None, ":t"), is_dry_run=True)),
    ],
)  # fmt: skip
def test_a_statement_is_read(text, statement):
    assert read(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "select 1 from vacuum",
        "create table x (a int",
        "create table clone (",
        "replace table x as",
        "alter table t drop feature_column x y",
        "alter table t cluster by auto",
        "analyze table t compute",
        "analyze table t compute statistics for",
        "analyze table delta.`/p` compute statistics for",
        "alter table t cluster by a, b",
        "insert into optimize values",
        "",
    ],
)
def test_what_is_not_deltas_is_left_to_spark(text):
    assert read(text) is None


def test_the_values_of_properties_are_not_shown():
    with pytest.raises(SqlSyntaxError) as caught:
        read("create table c clone t tblproperties ('fs.key' = 'se''cret', x = \"other\") locaton '/p'")
    assert "cret" not in str(caught.value)
    assert "other" not in str(caught.value)
    assert "'/p'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part", "line", "position"),
    [
        ("vacuum", "Expected: a name", 1, 6),
        ("vacuum t retain 1 hours retain 2 hours", "Found duplicate clauses: RETAIN", 1, 33),
        ("vacuum t using inventory x lite", "Mutually exclusive clauses: LITE and USING INVENTORY", 1, 31),
        ("vacuum t full lite", "Found duplicate clauses: LITE/FULL", 1, 18),
        ("vacuum t\nRETIAN 5 HOURS", "Did you mean RETAIN?", 2, 0),
        ("vacuum t retain soon hours", "Expected: a number", 1, 16),
        ("optimize t where", "Expected: an expression", 1, 16),
        ("optimize t zorder (a)", "at or near 'zorder'", 1, 11),
        ("optimize t zorder by (a, b", "the end of the statement", 1, 26),
        ("reorg table t apply (purge) x", "at or near 'x'", 1, 28),
        ("restore t to", "Expected: FOR, VERSION, SYSTEM_VERSION, TIMESTAMP, SYSTEM_TIME.", 1, 12),
        ("restore t to 3", "at or near '3'", 1, 13),
        ("restore t version as of 1 foo", "at or near 'foo'", 1, 26),
        ("restore t version as of x", "Expected: a whole number", 1, 24),
        ("create table '/c' clone t", "Expected: IF NOT EXISTS, a name", 1, 13),
        ("generate x for t", "FOR TABLE", 1, 11),
        ("describe history t limit x", "Expected: a whole number", 1, 25),
        ("describe history t limit -1", "Expected: a whole number", 1, 25),
        ("create or replace table if not exists c clone t", "Mutually exclusive clauses", 1, 38),
        ("create table c clone t tblproperties (a = 1, a = 2)", "Found duplicate keys a", 1, 47),
        ("convert to delta t partitioned by (a int) no statistics", "at or near 'no'", 1, 42),
        ("create table c clone t location 5", "Expected: a string", 1, 32),
        ("alter table t drop feature", "the end of the statement", 1, 26),
    ],
)
def test_a_wrong_statement_is_refused_at_its_place(text, part, line, position):
    with pytest.raises(SqlSyntaxError) as caught:
        read(text)
    error = caught.value
    assert part in str(error)
    assert (error.facts["line"], error.facts["position"]) == (line, position)
    assert f"{'-' * position}^^^" in str(error)
