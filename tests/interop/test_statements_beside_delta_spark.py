# SPDX-License-Identifier: Apache-2.0
"""Statements that only Delta's parser knows, on copies of one table: rows, history and errors as delta-spark gives them."""

from __future__ import annotations

import json
import re
import shutil

import pytest

pytestmark = pytest.mark.oracle

STATEMENTS = [
    "VACUUM {t}",
    "VACUUM {t} RETAIN 0 HOURS DRY RUN",
    "VACUUM '{p}' DRY RUN RETAIN 0 HOURS FULL",
    "OPTIMIZE {t}",
    "OPTIMIZE '{p}' WHERE p = 1",
    "OPTIMIZE {t} WHERE (p = 1 OR p IS NULL) ZORDER BY (id)",
    "OPTIMIZE {t} ZORDER BY id, v",
    "REORG TABLE {t} WHERE p = 0 APPLY (PURGE)",
    "RESTORE TABLE {t} TO VERSION AS OF 1",
    "RESTORE TABLE {t} TO VERSION AS OF 4",
    "DESCRIBE HISTORY {t} LIMIT 2",
    "DESC DETAIL '{p}'",
    "CREATE TABLE delta.`{p}.copy` SHALLOW CLONE {t} VERSION AS OF 2",
    "ALTER TABLE {t} DROP FEATURE deletionVectors",
    "VACUUM {t} RETAIN 1e3 HOURS DRY RUN",
    "VACUUM {t} RETAIN 1000D HOURS DRY RUN",
    "CREATE TABLE delta.`{p}.copy` SHALLOW CLONE {t} LOCATION '{p}.copy'",
]
WRONG = [
    "VACUUM {t} RETAIN 1 HOURS RETAIN 2 HOURS",
    "VACUUM {t} LITE USING INVENTORY inventory",
    "VACUUM {t} RETAIN 0 HOURS",
    "VACUUM delta.`{p}.nothing`",
    "OPTIMIZE {t} WHERE id = 3",
    "OPTIMIZE {t} WHERE nothing = 3",
    "OPTIMIZE {t} FULL",
    "OPTIMIZE {t} ZORDER BY (p)",
    "OPTIMIZE {t} ZORDER BY (nothing)",
    "OPTIMIZE delta.`{p}.nothing`",
    "REORG TABLE {t} WHERE id = 1 APPLY (PURGE)",
    "RESTORE TABLE {t} TO VERSION AS OF 99",
    "RESTORE TABLE {t} TO TIMESTAMP AS OF '2001-01-01'",
    "GENERATE other FOR TABLE {t}",
    "GENERATE symlink_format_manifest FOR TABLE {t}",
    "DESCRIBE HISTORY delta.`{p}.nothing`",
    "DESCRIBE DETAIL nothing_of_that_name",
    "CONVERT TO DELTA parquet.`{p}.nothing`",
    "ALTER TABLE {t} DROP FEATURE nothing",
    "ALTER TABLE {t} ALTER COLUMN id SYNC IDENTITY",
    "CREATE TABLE delta.`{p}.copy` SHALLOW CLONE {t} LOCATION '{p}.other'",
    "CREATE TABLE delta.`{p}.copy` SHALLOW CLONE {t} LOCATION 'relative'",
    "CREATE TABLE a_copy SHALLOW CLONE {t} LOCATION 'relative/path'",
    "CREATE TABLE a_copy SHALLOW CLONE json.`{p}/_delta_log/00000000000000000000.json`",
    "CREATE TABLE a_copy SHALLOW CLONE a_view",
    "CREATE TABLE a_view SHALLOW CLONE {t}",
    "CREATE OR REPLACE TABLE a_view SHALLOW CLONE {t}",
    "CREATE TABLE IF NOT EXISTS a_view SHALLOW CLONE {t}",
    "CREATE TABLE a_copy SHALLOW CLONE nothing_of_that_name",
    "OPTIMIZE {t} FULL ZORDER BY (id)",
    "OPTIMIZE {t} FULL WHERE p = 1",
    "VACUUM {t} RETAIN 168F HOURS",
]
SAYS_MORE = {
    "VACUUM {t} LITE USING INVENTORY inventory": "a class for what delta-spark says in words alone",
    "OPTIMIZE {t} WHERE nothing = 3": "there is no such column, which delta-spark calls no partition column",
    "CONVERT TO DELTA parquet.`{p}.nothing`": "delta-spark lets an exception of Hadoop's pass",
}
"""Wrong statements whose error says more than delta-spark's."""


@pytest.fixture(scope="module")
def table(delta_spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("statements") / "table"
    name = f"delta.`{folder}`"
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, v STRING, p INT) USING delta PARTITIONED BY (p)",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        *(f"INSERT INTO {name} SELECT id, 'x', if(id % 5 = 4, null, id % 2) FROM range({n}, {n + 9}, 1, 1)" for n in (0, 9)),
        f"DELETE FROM {name} WHERE id IN (1, 12)",
    )
    return folder


@pytest.fixture
def copies(table, tmp_path):
    """Two copies of one table, for bayou and for delta-spark."""
    return shutil.copytree(table, tmp_path / "ours"), shutil.copytree(table, tmp_path / "theirs")


def asked(statement, root):
    return statement.format(t=f"delta.`{root}`", p=root)


def plain(text, root):
    """A text without what differs from run to run: paths, names of files, ids, times and sizes."""
    text = str(text).replace(str(root), "TABLE")
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"part-\d+-ID[^'\",/]*", "FILE", text)
    return re.sub(r"\d{4}-\d\d-\d\d[ T][\d:.]+Z?", "TIME", text)


def said(root):
    file = max((root / "_delta_log").glob("*.json"))
    info = json.loads(file.read_text().splitlines()[0])["commitInfo"]
    # delta-spark notes the predicate as Catalyst prints it, and bayou as it was written.
    parameters = {name: value for name, value in info["operationParameters"].items() if name != "predicate"}
    return int(file.stem), info["operation"], plain(sorted(parameters.items()), root)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_gives_the_same_rows_and_the_same_history(spark, delta_spark, copies, statement):
    ours, theirs = copies
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(check, "false")
    try:
        found = spark.sql(asked(statement, ours))
    finally:
        spark.conf.unset(check)
    wanted = delta_spark.sql(f"SET {check} = false", asked(statement, theirs))
    delta_spark.sql(f"RESET {check}")
    assert len(found.collect()) == len(wanted)
    if not statement.startswith(("OPTIMIZE", "REORG", "DESC")):
        numbers = [sorted(plain(value, ours) for value in row) for row in found.collect()]
        assert sorted(numbers) == sorted(sorted(plain(value, theirs) for value in row) for row in wanted)
    if statement.split()[0] in ("OPTIMIZE", "REORG", "RESTORE"):
        assert said(ours) == said(theirs)


VIEW = "CREATE OR REPLACE TEMPORARY VIEW a_view AS SELECT 1 AS id"


@pytest.mark.parametrize("statement", WRONG)
def test_a_wrong_statement_has_the_same_error(spark, delta_spark, copies, statement):
    ours, theirs = copies
    wanted = delta_spark.refused(VIEW, asked(statement, theirs))
    spark.sql(VIEW)
    try:
        with pytest.raises(Exception, match=r".") as caught:
            spark.sql(asked(statement, ours))
    finally:
        spark.catalog.dropTempView("a_view")
    assert statement in SAYS_MORE or class_of(str(caught.value)) == class_of(wanted), (str(caught.value)[:300], wanted[:300])


def class_of(text):
    found = re.search(r"\[([A-Z][A-Z0-9_]+)", text)
    return found[1] if found else re.sub(r"\W+", " ", text)[:40]
