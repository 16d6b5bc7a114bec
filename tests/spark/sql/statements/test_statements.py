# SPDX-License-Identifier: Apache-2.0
"""Statements that only Delta's parser knows, on a session that was only enabled: what they do, give and refuse."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException
from tests.support.on_connect import name_beside
from tests.support.operations.statements import settings

import bayou
from bayou.errors import AppendOnlyError, InvalidOptionError, TableNotFoundError, UnsupportedFeatureError

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
COUNTS_OF_CLONE = [
    *("source_table_size", "source_num_of_files", "num_removed_files", "num_copied_files"),
    *("removed_files_size", "copied_files_size"),
]


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with four files in two partitions, in two commits after its creation."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    for start in (0, 10):
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range({start}, {start + 10}, 1, 1)")
    return name


def operations(table_path):
    return [each.operation for each in bayou.open(table_path).history()]


def ids(spark, table):
    return sorted(row.id for row in spark.table(table).collect())


@pytest.mark.smoke
def test_vacuum(spark, delta, table_path):
    spark.sql(f"DELETE FROM {delta} WHERE p = 1")
    spark.conf.set(CHECK, "false")
    try:
        found = spark.sql(f"VACUUM {delta} RETAIN 0 HOURS DRY RUN")
        assert found.columns == ["path"]
        assert found.count() == 2
        assert [row.path for row in spark.sql(f"VACUUM delta.`{table_path}` FULL RETAIN 0 HOURS").collect()] == [
            f"file:{table_path}"
        ]
        for hours in ("168D", "1e3", "1e400", "168L"):
            assert spark.sql(f"VACUUM {delta} RETAIN {hours} HOURS DRY RUN").count() == 0
        left = [row.path for row in spark.sql(f"VACUUM '{table_path}' DRY RUN RETAIN 0 HOURS").collect()]
        assert left == [f"file:{table_path}/p=1"]  # the folder is empty now
    finally:
        spark.conf.unset(CHECK)
    assert operations(table_path)[:2] == ["VACUUM END", "VACUUM START"]
    assert ids(spark, delta) == list(range(0, 20, 2))


def test_vacuum_with_an_inventory(spark, delta, table_path):
    columns = "'%s/%s' path, 1L length, false isDir, 0L modificationTime"
    query = f"(SELECT {columns % (table_path, 'litter')} UNION ALL SELECT {columns % (table_path, 'more')})"
    bayou.open(table_path).store.put("litter", b"x")
    assert spark.sql(f"VACUUM {delta} USING INVENTORY {query} DRY RUN").count() == 2
    with pytest.raises(ParseException, match="DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES"):
        spark.sql(f"VACUUM {delta} LITE USING INVENTORY {query}")


@pytest.mark.smoke
def test_optimize_and_reorg(spark, delta, table_path):
    first = spark.sql(f"OPTIMIZE {delta} WHERE (p = 1)")
    assert first.columns == ["path", "metrics"]
    row = first.first()
    assert (row.path, row.metrics.numFilesAdded, row.metrics.numFilesRemoved) == (f"file:{table_path}", 1, 2)
    assert spark.sql(f"OPTIMIZE '{table_path}' ZORDER BY id").first().metrics.zOrderStats.strategyName == "all"
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {delta} WHERE id = 4")
    assert spark.sql(f"REORG TABLE {delta} WHERE p = 0 APPLY (PURGE)").first().metrics.numFilesAdded == 1
    assert operations(table_path)[0] == "REORG"
    assert ids(spark, delta) == [each for each in range(20) if each != 4]


@pytest.mark.smoke
def test_restore(spark, delta, table_path):
    counts = spark.sql(f"RESTORE TABLE {delta} TO VERSION AS OF 1").collect()
    assert [row.num_removed_files for row in counts] == [2]
    assert ids(spark, delta) == list(range(10))
    assert spark.sql(f"RESTORE {delta} TO VERSION AS OF '3'").collect() == []
    time = bayou.open(table_path).history()[1].timestamp
    for value in (f"timestamp_millis({time})", f"'{spark.sql(f'SELECT cast(timestamp_millis({time}) AS string)').first()[0]}'"):
        spark.sql(f"RESTORE TABLE {delta} FOR TIMESTAMP AS OF {value}")
        assert ids(spark, delta) == list(range(20))


@pytest.mark.smoke
def test_history_and_detail(spark, delta, table_path):
    handle = bayou.DeltaTable.forName(spark, delta)
    for text in (f"DESCRIBE HISTORY {delta}", f"desc history delta.`{table_path}`", f"DESCRIBE HISTORY '{table_path}' LIMIT 9"):
        found = spark.sql(text)
        assert found.schema == handle.history().schema
        assert found.collect() == handle.history().collect()
    assert [row.version for row in spark.sql(f"DESCRIBE HISTORY {delta} LIMIT 2").collect()] == [2, 1]
    for text in (f"DESCRIBE DETAIL {delta}", f"DESC DETAIL spark_catalog.default.{delta}"):
        assert spark.sql(text).schema == handle.detail().schema
        assert spark.sql(text).collect() == handle.detail().collect()
    assert spark.sql(f"DESCRIBE DETAIL '{table_path}'").first().numFiles == 4


def test_a_description_is_that_of_its_time(spark, delta):
    before = spark.sql(f"DESCRIBE HISTORY {delta}")
    spark.sql(f"INSERT INTO {delta} VALUES (99, 1)")
    assert before.count() == 3
    assert spark.sql(f"DESCRIBE HISTORY {delta}").count() == 4


@pytest.mark.smoke
def test_clones(spark, delta, table_path, tmp_path):
    copy, other = name_beside(delta, "_copy"), name_beside(delta, "_other")
    row = spark.sql(f"CREATE TABLE {copy} SHALLOW CLONE {delta}")
    assert row.columns == COUNTS_OF_CLONE
    assert (row.first().source_num_of_files, row.first().num_copied_files) == (4, 0)
    assert ids(spark, copy) == list(range(20))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        spark.sql(f"CREATE TABLE {copy} CLONE {delta}")
    assert spark.sql(f"CREATE TABLE IF NOT EXISTS {copy} CLONE {delta}").collect() == []
    where = tmp_path / "other place"
    source = f"delta.`{table_path}` VERSION AS OF 1 TBLPROPERTIES ('a.b' = 'x', `c`.d = 1) LOCATION '{where}'"
    assert spark.sql(f"CREATE OR REPLACE TABLE {other} CLONE {source}").first().num_copied_files == 2
    assert ids(spark, other) == list(range(10))
    detail = spark.sql(f"DESCRIBE DETAIL {other}").first()
    assert (detail.location, detail.properties) == (f"file:{where}", {"a.b": "x", "c.d": "1"})
    target = f"delta.`{tmp_path}/by path`"
    assert spark.sql(f"CREATE TABLE {target} CLONE {delta}").first().num_copied_files == 4
    for each in (copy, other):
        spark.sql(f"DROP TABLE {each}")


def test_the_place_of_a_clone(spark, delta, tmp_path):
    target = f"delta.`{tmp_path}/by path`"
    for place in (f"{tmp_path}/other", "by path"):
        with pytest.raises(InvalidOptionError, match="DELTA_CLONE_AMBIGUOUS_TARGET"):
            spark.sql(f"CREATE TABLE {target} CLONE {delta} LOCATION '{place}'")
    for name in (name_beside(delta, "_copy"), "delta.`by/path`"):
        place = "" if name.startswith("delta.") else "LOCATION 'by path'"
        with pytest.raises(InvalidOptionError, match="DELTA_INVALID_CLONE_PATH"):
            spark.sql(f"CREATE TABLE {name} CLONE {delta} {place}")
    assert not spark.catalog.tableExists(name_beside(delta, "_copy"))
    for place in (f"{tmp_path}/by path", f"file:{tmp_path}/by path/"):
        spark.sql(f"CREATE OR REPLACE TABLE {target} CLONE {delta} LOCATION '{place}'")
    assert ids(spark, target) == list(range(20))


def test_only_delta_tables_are_cloned(spark, delta, name, tmp_path):
    spark.range(3).write.parquet(f"{tmp_path}/files")
    spark.sql(f"CREATE TABLE {name}_csv (id INT) USING csv")
    spark.sql(f"CREATE TEMPORARY VIEW {name}_view AS SELECT 1 AS id")
    try:
        formats = {
            f"parquet.`{tmp_path}/files`": "parquet",
            "iceberg.`/p`": "iceberg",
            f"{name}_csv": "csv",
            f"{name}_view": "View",
        }
        for source, kind in formats.items():
            with pytest.raises(AnalysisException, match="DELTA_CLONE_UNSUPPORTED_SOURCE") as caught:
                spark.sql(f"CREATE TABLE {name_beside(name, '_copy')} SHALLOW CLONE {source}")
            assert f"whose format is {kind}." in str(caught.value)
        for begin in ("CREATE TABLE", "CREATE OR REPLACE TABLE", "CREATE TABLE IF NOT EXISTS"):
            with pytest.raises(AnalysisException, match="DELTA_ONLY_OPERATION"):
                spark.sql(f"{begin} {name}_view CLONE {delta}")
        assert spark.table(f"{name}_view").collect() == [(1,)]
    finally:
        spark.catalog.dropTempView(f"{name}_view")
        spark.sql(f"DROP TABLE {name}_csv")


def test_optimize_full_is_for_clustered_tables(spark, delta, tmp_path):
    for more in ("", " ZORDER BY (id)", " WHERE p = 1", " WHERE p = 1 ZORDER BY (id)"):
        with pytest.raises(UnsupportedFeatureError, match="DELTA_OPTIMIZE_FULL_NOT_SUPPORTED"):
            spark.sql(f"OPTIMIZE {delta} FULL{more}")
    clustered = f"delta.`{tmp_path}/clustered`"
    bayou.DeltaTable.create(spark).location(f"{tmp_path}/clustered").addColumn("id", "INT").clusterBy("id").execute()
    for more, error in {"ZORDER BY (id)": "WITH_ZORDER_BY", "WHERE id = 1 ZORDER BY (id)": "WITH_PARTITION_PREDICATE"}.items():
        for full in ("", "FULL "):
            with pytest.raises(UnsupportedFeatureError, match=f"DELTA_CLUSTERING_{error}"):
                spark.sql(f"OPTIMIZE {clustered} {full}{more}")
    assert spark.sql(f"OPTIMIZE {clustered} FULL").count() == 1


def test_convert(spark, name, tmp_path):
    folder = str(tmp_path / "files")
    spark.range(4).selectExpr("id", "cast(id AS decimal(9,2)) d").write.partitionBy("d").parquet(folder)
    assert spark.sql(f"CONVERT TO DELTA parquet.`{folder}` NO STATISTICS PARTITIONED BY (d decimal(9,2))").collect() == []
    assert bayou.open(folder).snapshot().num_files == 4
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql(f"CONVERT TO DELTA {name}")
    assert ids(spark, name) == [1]
    assert spark.sql(f"DESCRIBE DETAIL {name}").first().format == "delta"


def test_manifests_statistics_features_and_identities(spark, delta, table_path):
    assert spark.sql(f"GENERATE SYMLINK_FORMAT_MANIFEST FOR TABLE {delta}").collect() == []
    assert bayou.open(table_path).store.read("_symlink_format_manifest/p=1/manifest")
    assert spark.sql(f"ANALYZE TABLE {delta} COMPUTE DELTA STATISTICS").first().num_files == 4
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    assert "deletionVectors" in spark.sql(f"DESCRIBE DETAIL {delta}").first().tableFeatures
    spark.sql(f"ALTER TABLE {delta} DROP FEATURE deletionVectors")
    assert "deletionVectors" not in spark.sql(f"DESCRIBE DETAIL {delta}").first().tableFeatures
    with pytest.raises(InvalidOptionError, match="DELTA_MODE_NOT_SUPPORTED"):
        spark.sql(f"GENERATE other FOR TABLE {delta}")
    with pytest.raises(AnalysisException, match="DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN"):
        spark.sql(f"ALTER TABLE {delta} ALTER COLUMN id SYNC IDENTITY")


@pytest.mark.smoke
def test_explain_runs_nothing(spark, delta, table_path):
    clone = f"CREATE TABLE {name_beside(delta, '_x')} CLONE"
    for start in ("OPTIMIZE", "VACUUM", clone, "GENERATE symlink_format_manifest FOR TABLE"):
        text = f"{start} {delta}"
        for mode in ("", "FORMATTED ", "EXTENDED "):
            assert "DeltaStatement" in spark.sql(f"EXPLAIN {mode}{text}").first()[0]
    assert bayou.open(table_path).snapshot().version == 2


def test_a_statement_runs_once(spark, delta, table_path):
    frame = spark.sql(f"OPTIMIZE {delta}")
    assert bayou.open(table_path).snapshot().version == 3
    frame.cache()
    assert frame.collect() == frame.collect()
    frame.unpersist()
    assert bayou.open(table_path).snapshot().version == 3


@pytest.mark.parametrize("statement", ["OPTIMIZE {t}", "VACUUM {t}", "RESTORE {t} VERSION AS OF 0", "DESCRIBE HISTORY {t}"])
def test_what_is_no_delta_table_is_refused(spark, name, tmp_path, statement):
    with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(statement.format(t=name))
    with pytest.raises(TableNotFoundError, match=r"DELTA_(MISSING_DELTA_TABLE|TABLE_ONLY_OPERATION)"):
        spark.sql(statement.format(t=f"delta.`{tmp_path}`"))
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet")
    with pytest.raises(TableNotFoundError, match=r"DELTA_(TABLE_)?ONLY_OPERATION"):
        spark.sql(statement.format(t=name))
    spark.sql(f"CREATE VIEW {name}_v AS SELECT 1")
    try:
        with pytest.raises(InvalidOptionError, match="EXPECT_TABLE_NOT_VIEW"):
            spark.sql(statement.format(t=f"{name}_v"))
    finally:
        spark.sql(f"DROP VIEW {name}_v")


def test_a_wrong_statement_is_a_parse_error(spark, delta):
    with pytest.raises(ParseException, match="Did you mean RETAIN"):
        spark.sql(f"VACUUM {delta} RETIAN 5 HOURS")
    with pytest.raises(ParseException, match="Found duplicate clauses: RETAIN"):
        spark.sql(f"VACUUM {delta} RETAIN 5 HOURS RETAIN 6 HOURS")


def test_uniform_is_refused_by_name(spark, delta):
    with pytest.raises(UnsupportedFeatureError, match="Iceberg"):
        spark.sql(f"REORG TABLE {delta} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))")


def test_every_session_and_every_way_in(spark, delta):
    for session in (spark.newSession(), spark):
        assert session.sql(f"DESCRIBE HISTORY spark_catalog.default.{delta}").count() >= 3
        assert session._jsparkSession.sql(f"OPTIMIZE {delta}").count() == 1


@pytest.mark.smoke
def test_a_comment_that_is_not_closed_hides_nothing(spark, delta, table_path):
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        spark.sql(f"OPTIMIZE {delta} /* DRY RUN")
    assert bayou.open(table_path).snapshot().version == 2


def test_a_word_behind_a_condition_is_not_passed_over(spark, delta, table_path):
    for text in (f"OPTIMIZE {delta} WHERE p = 1 FULL", f"REORG TABLE {delta} WHERE p = 1 x APPLY (PURGE)"):
        with pytest.raises(ParseException, match="more than a condition"):
            spark.sql(text)
    assert bayou.open(table_path).snapshot().version == 2


@pytest.mark.smoke
def test_names_that_are_computed(spark, delta):
    assert spark.sql(f"DESCRIBE DETAIL IDENTIFIER('{delta[:3]}' || '{delta[3:]}')").first().numFiles == 4
    for expression in ("NULL", "42", "'a.b.c.d'", "'other_catalog.a.b'"):
        with pytest.raises(InvalidOptionError, match="not the name of a table"):
            spark.sql(f"VACUUM IDENTIFIER({expression})")
    with settings(spark, {"the_table": delta}):
        assert spark.sql("DESCRIBE HISTORY ${the_table} LIMIT 1").count() == 1


def test_the_zone_of_a_time_counts(spark, delta, table_path):
    time = bayou.open(table_path).history()[1].timestamp
    east = spark.sql(f"SELECT date_format(timestamp_millis({time}) + INTERVAL 5 HOURS, 'yyyy-MM-dd HH:mm:ss.SSS')").first()[0]
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone == "UTC"
    for value in (f"'{east}+05:00'", f"timestamp'{east}+05:00'"):
        spark.sql(f"RESTORE {delta} TO TIMESTAMP AS OF {value}")
        assert ids(spark, delta) == list(range(10))
        spark.sql(f"RESTORE {delta} TO VERSION AS OF 2")


def test_a_path_is_no_name_if_the_session_has_no_paths(spark, delta, table_path):
    spark.conf.set("spark.sql.runSQLOnFiles", "false")
    try:
        for text in ("VACUUM {p}", "OPTIMIZE {p}", f"CREATE TABLE {{p}} CLONE {delta}"):
            with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
                spark.sql(text.format(p=f"delta.`{table_path}`"))
        assert spark.sql(f"VACUUM '{table_path}' DRY RUN").count() == 0
    finally:
        spark.conf.unset("spark.sql.runSQLOnFiles")


def test_what_is_replaced_must_be_there(spark, delta, tmp_path):
    for target in (name_beside(delta, "_missing"), f"delta.`{tmp_path}/missing`"):
        with pytest.raises(TableNotFoundError, match="DELTA_CANNOT_REPLACE_MISSING_TABLE"):
            spark.sql(f"REPLACE TABLE {target} CLONE {delta}")
    spark.sql(f"CREATE OR REPLACE TABLE {name_beside(delta, '_copy')} CLONE {delta}")
    spark.sql(f"REPLACE TABLE {name_beside(delta, '_copy')} CLONE {delta} VERSION AS OF 1")
    assert ids(spark, name_beside(delta, "_copy")) == list(range(10))
    spark.sql(f"DROP TABLE {name_beside(delta, '_copy')}")


def test_a_description_is_meant_by_its_bare_words_alone(spark, delta):
    for text in (f"DESCRIBE TABLE history {delta}", f"DESCRIBE `history` {delta}"):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(text)


@pytest.mark.smoke
def test_fsck(spark, delta, table_path):
    columns = ["dataFilePath", "dataFileMissing", "deletionVectorFileMissing", "reason", "partitionValues", "size", "numRecords"]
    nothing = spark.sql(f"FSCK REPAIR TABLE {delta}")
    assert (nothing.columns, nothing.count(), len(operations(table_path))) == (columns, 0, 3)
    table = bayou.open(table_path)
    gone = table.snapshot().files(where=[("p", "=", 1)])["path"].to_pylist()[0]
    table.store.delete(gone)
    plan = [line for (line,) in spark.sql(f"EXPLAIN FSCK REPAIR TABLE {delta}").collect()]
    assert "Would remove 1 file" in "".join(plan) and "5 rows" in "".join(plan)  # noqa: PT018
    for statement, commits in ((f"FSCK REPAIR TABLE {delta} DRY RUN", 3), (f"FSCK REPAIR TABLE delta.`{table_path}`", 4)):
        (row,) = spark.sql(statement).collect()
        assert (row.dataFilePath, row.dataFileMissing, row.deletionVectorFileMissing) == (gone, True, False)
        assert (row.partitionValues, row.numRecords) == ({"p": "1"}, 5)
        assert len(operations(table_path)) == commits
    assert operations(table_path)[0] == "FSCK"
    assert len(ids(spark, delta)) == 15
    with pytest.raises(ParseException):
        spark.sql(f"FSCK REPAIR TABLE {delta} METADATA")


def test_fsck_of_a_table_that_only_accepts_appends(spark, delta, table_path):
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    table = bayou.open(table_path)
    table.store.delete(table.snapshot().files()["path"].to_pylist()[0])
    assert spark.sql(f"FSCK REPAIR TABLE {delta} DRY RUN").count() == 1
    with pytest.raises(AppendOnlyError):
        spark.sql(f"FSCK REPAIR TABLE {delta}")
