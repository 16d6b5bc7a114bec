# SPDX-License-Identifier: Apache-2.0
"""Statements that bayou does not have, read from their text."""

from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.spark.native.sql.refused_statements import LackingStatement


@in_one_test(
    ("text", "command"),
    [
        ("VACUUM t RETAIN 0 HOURS", "VACUUM"),
        ("  -- a comment\n optimize delta.`/t` zorder by (a)", "OPTIMIZE"),
        ("CREATE OR REPLACE TABLE a SHALLOW CLONE b", "CLONE"),
        ("/* x */ restore table t to version as of 1", "RESTORE"),
        ("create table if not exists a.`b c` /* x */ clone d", "CLONE"),
        ("ALTER TABLE t ALTER COLUMN c\nSYNC IDENTITY", "ALTER TABLE ... SYNC IDENTITY"),
        ("alter table delta.`/a b` drop feature `x` truncate history", "ALTER TABLE ... DROP FEATURE"),
        ("create table t (a int) using delta comment 'a clone of x'", None),
        ("create table t using delta as select clone from nope", None),
        ("create table t (clone int) using delta as clone b", None),
        ("alter table t add columns (a int comment 'x drop feature y')", None),
        ("alter table t set tblproperties ('x' = 'sync identity')", None),
        ("alter table `cluster by` add columns (a int)", None),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0)", None),
        ("select 'vacuum t'", None),
        ("describe t", None),
        ("create table t (vacuum int)", None),
        ("describe history as json", None),
        ("describe detail partition (p = 1)", None),
        ("describe history", None),
        ("describe table history", None),
        ("DESC HISTORY a.b LIMIT 5 ;; ", "DESCRIBE HISTORY"),
        ("explain formatted vacuum t", "VACUUM"),
        ("CREATE TABLE t (id INT) USING delta CLUSTER BY (id)", None),
        ("CREATE OR REPLACE TABLE t (id INT) USING delta CLUSTER BY AUTO", "CLUSTER BY AUTO"),
        ("ALTER TABLE db.t CLUSTER BY auto", "CLUSTER BY AUTO"),
        ("CREATE TABLE t (a STRING COMMENT 'using delta cluster by (') USING parquet", None),
        ("BEGIN SELECT ';VACUUM t' FROM; END", None),
        ("a: BEGIN IF true THEN OPTIMIZE t; END IF; END", "OPTIMIZE"),
        ("BEGIN SELECT CASE WHEN a THEN `optimize` ELSE 1 END FROM; END", None),
        ("SELECT 1; VACUUM t", None),
        ("COPY INTO t FROM '/p' FILEFORMAT = CSV", "COPY INTO"),
        ("create bloomfilter index on table t for columns (a)", "CREATE BLOOMFILTER INDEX"),
        ("undrop table a.t", "UNDROP TABLE"),
        ("UNDROP TABLE WITH ID 'x'", "UNDROP TABLE"),
        ("APPLY CHANGES INTO live.t FROM stream(s) KEYS (id) SEQUENCE BY n", "APPLY CHANGES"),
        ("copy t into u", None),
        ("BEGIN COPY INTO t FROM '/p'; END", "COPY INTO"),
    ],
)
def test_statements_of_delta_are_told_by_their_first_words(text, command):
    found = LackingStatement.read(text)
    assert (None if found is None else found.command) == command


@pytest.mark.parametrize(
    ("text", "table", "path"),
    [
        ("VACUUM a.`b c` RETAIN 1 HOURS", "a.`b c`", None),
        ("OPTIMIZE '/a/b' ZORDER BY (c)", None, "/a/b"),
        ("RESTORE TABLE delta.`/a` TO 1", "delta.`/a`", None),
        ("CREATE TABLE a CLONE b VERSION AS OF 1", "b", None),
        ("GENERATE symlink_format_manifest FOR TABLE `x`", "`x`", None),
        ("VACUUM IDENTIFIER(:t)", None, None),
        ("DESCRIBE HISTORY IDENTIFIER(:t) LIMIT 1", None, None),
        ("BEGIN SELECT 1;;VACUUM `a;b`; END", "`a;b`", None),
        ("COPY INTO '/a/b' FROM x", None, "/a/b"),
        ("CREATE BLOOMFILTER INDEX ON a.b FOR COLUMNS (c)", "a.b", None),
        ("UNDROP TABLE WITH ID 'x'", None, None),
        ("APPLY CHANGES INTO live.t FROM s", "t", None),
    ],
)
def test_the_table_is_read_as_it_is_written(text, table, path):
    found = LackingStatement.read(text)
    assert (found.table, found.path) == (table, path)
