# SPDX-License-Identifier: Apache-2.0
"""CONVERT by delta-spark and by us on copies of one folder: the same table, which the other engine then goes on with."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml.linalg import Vectors

from bayou import DeltaTable
from bayou.errors import DeltaError
from bayou.protocol.actions.paths import decode

pytestmark = pytest.mark.oracle

UNKNOWN_TO_FOOTERS = {"u8", "u16", "u32", "u64", "list", "pairs", "n", "text"}
"""Bounds of unsigned numbers, null counts of arrays and maps by other writers than Spark, and columns of another spelling."""
DESCRIBED = "DESCRIBE TABLE EXTENDED converted"
MICROS = "spark.sql.parquet.outputTimestampType"
ROWS = """
    SELECT id, cast(id AS tinyint) t, cast(id AS smallint) s, cast(id AS int) i, id * 0.5d d, cast(id AS float) f, id % 2 = 0 b,
      cast(id AS decimal(10, 2)) dec, cast(id AS decimal(30, 5)) wide, concat('text ', repeat('x', cast(id AS int) * 9)) text,
      date '2026-01-01' + cast(id AS int) day, timestamp_micros(1767225600123456 + id) at,
      timestamp_ntz '2026-01-01 12:00:00' clock, cast('x' AS binary) bin, if(id > 2, NULL, id) part,
      named_struct('a', id, 'b', 'x') deep, array(id) list, map('k', id) pairs
    FROM range(0, 8, 1, 2)
"""
PARTITIONED = f"SELECT *, id % 3 n, date '2026-01-01' + cast(id % 2 AS int) p FROM ({ROWS})"


def by_spark(query, *by):
    """A folder that Spark writes."""

    def make(spark, folder):
        spark.sql(query).write.partitionBy(*by).parquet(str(folder))

    return make


def by_arrow(**tables):
    """A folder of files that Arrow writes, by their paths."""

    def make(_, folder):
        for path, columns in tables.items():
            file = folder / path.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), file.with_suffix(".parquet"))

    return make


def different_columns(spark, folder):
    """Files that differ in their columns, in the case of a name, in integer types, and in comments."""
    for query in (
        "SELECT cast(1 AS tinyint) n, 'a' text, named_struct('x', 1) deep",
        "SELECT cast(300 AS int) n, named_struct('x', 2, 'y', 'z') deep, 1.5d more",
        "SELECT cast(7 AS smallint) N, 'b' TEXT",
    ):
        spark.sql(query).coalesce(1).write.mode("append").parquet(str(folder))


def names_of_folders(spark, folder):
    """Folders with names and values that are escaped, hidden, NULL, or in the data too, and files that are passed over."""
    spark.sql(
        "SELECT id, id id2, element_at(array('a b', 'x/y', 'ü=%', 'z'), cast(id AS int) + 1) `_p`, if(id = 1, NULL, 'x') `.q` "
        "FROM range(4)"
    ).write.partitionBy("_p", ".q").parquet(str(folder))
    (folder / "_hidden").mkdir()
    (folder / "_hidden" / "x.parquet").write_bytes(b"no parquet")
    (folder / ".x.parquet").write_bytes(b"no parquet")


def held_columns(_, folder):
    """A partition column that the files have too, with another type and other values."""
    for value in (1, 2):
        place = folder / f"day=2026-01-0{value}" / "below" / "x.parquet"
        place.parent.mkdir(parents=True)
        pq.write_table(pa.table({"Day": pa.array([9, 9]), "id": pa.array([value, value])}), place)


def foreign_types(_, folder):
    folder.mkdir()
    columns = {
        "u8": pa.array([1, 255], pa.uint8()),
        "u16": pa.array([1, 65535], pa.uint16()),
        "u32": pa.array([1, 2**32 - 1], pa.uint32()),
        "u64": pa.array([1, 2**64 - 1], pa.uint64()),
        "i8": pa.array([-1, 1], pa.int8()),
        "text": pa.array(["a", None]),
        "raw": pa.array([b"a", b"b"]),
        "ms": pa.array([0, 1_767_225_600_123], pa.timestamp("ms", "UTC")),
        "wall": pa.array([0, 1_767_225_600_123_456], pa.timestamp("us")),
        "dec": pa.array([Decimal("1.25"), Decimal("-3.50")]),
        "words": pa.array(["x", "y"]).dictionary_encode(),
        "list": pa.array([[1], None]),
        "pairs": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        "deep": pa.array([{"a": 1, "b": {"c": "x"}}, None]),
    }
    pq.write_table(pa.table(columns), folder / "a.parquet", use_compliant_nested_type=False)
    pq.write_table(pa.table(columns), folder / "b.parquet", store_schema=False)


CASES = {
    "types": (by_spark(ROWS), None),
    "partitions": (
        by_spark(PARTITIONED, "n", "p"),
        "n int, p date",
    ),
    "differences": (different_columns, None),
    "names": (names_of_folders, "`_p` string, `.q` string"),
    "held": (held_columns, "day date"),
    "foreign": (foreign_types, None),
    "deep folders": (by_arrow(a__b__x={"id": [1]}, c__y={"id": [2]}, z={"id": [3]}), None),
}


@pytest.fixture
def copies(spark, tmp_path, request):
    """Two copies of a folder."""
    make, columns = CASES[request.param]
    spark.conf.set(MICROS, "TIMESTAMP_MICROS")
    try:
        make(spark, tmp_path / "ours")
    finally:
        spark.conf.unset(MICROS)
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    return tmp_path / "ours", tmp_path / "theirs", columns


def actions(root):
    """The actions of version 0, by their kind."""
    found = {}
    for line in (root / "_delta_log" / f"{0:020d}.json").read_text().splitlines():
        ((kind, action),) = json.loads(line).items()
        found.setdefault(kind, []).append(action)
    return found


def protocol(side):
    return {name: sorted(each) if isinstance(each, list) else each for name, each in side["protocol"][0].items()}


def lowered(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from lowered(value, (*path, name.lower()))
        else:
            yield (*path, name.lower()), value


def convert(spark, delta_spark, ours, theirs, columns):
    by = "" if columns is None else f" PARTITIONED BY ({columns})"
    delta_spark.sql(f"CONVERT TO DELTA parquet.`{theirs}`{by}")
    DeltaTable.convertToDelta(spark, f"parquet.`{ours}`", columns)
    return actions(ours), actions(theirs)


@pytest.mark.parametrize("copies", CASES, indirect=True)
def test_both_make_the_same_table(spark, delta_spark, copies):
    ours, theirs, columns = copies
    found, wanted = convert(spark, delta_spark, ours, theirs, columns)
    assert protocol(found) == protocol(wanted)
    # Which spelling of a name wins depends on the order of the files, and delta-spark has none.
    schemas = [side["metaData"][0]["schemaString"].lower() for side in (found, wanted)]
    assert [sorted(map(str, json.loads(each)["fields"])) for each in schemas[:1]] == [
        sorted(map(str, json.loads(each)["fields"])) for each in schemas[1:]
    ]
    for name in ("partitionColumns", "configuration"):
        assert found["metaData"][0][name] == wanted["metaData"][0][name], name
    for name in ("operation", "operationParameters", "operationMetrics"):
        assert found["commitInfo"][0][name] == wanted["commitInfo"][0][name], name
    adds, theirs_adds = ({decode(each["path"]): each for each in side["add"]} for side in (found, wanted))
    assert adds.keys() == theirs_adds.keys()
    for path, add in adds.items():
        other = theirs_adds[path]
        assert add["partitionValues"] == other["partitionValues"], path
        assert (add["size"], add["dataChange"]) == (other["size"], other["dataChange"])
        stats, their_stats = (dict(lowered(json.loads(each["stats"]))) for each in (add, other))
        missing = {name[-1] for name in their_stats.keys() - stats.keys()}
        assert {name: their_stats[name] for name in stats} == stats, path
        assert missing <= UNKNOWN_TO_FOOTERS, path


@pytest.mark.parametrize("copies", ["types", "names", "foreign"], indirect=True)
def test_each_goes_on_with_the_others_table(spark, delta_spark, copies):
    ours, theirs, columns = copies
    convert(spark, delta_spark, ours, theirs, columns)
    tables = [f"delta.`{root}`" for root in (ours, theirs)]
    column = "id" if columns else "i" if "i" in spark.read.format("delta").load(str(ours)).columns else "i8"
    for table in tables:
        delta_spark.sql(f"DELETE FROM {table} WHERE {column} = 1")
    for root in (ours, theirs):
        spark.read.format("delta").load(str(root)).limit(1).write.format("delta").mode("append").save(str(root))
    rows = [delta_spark.sql(f"SELECT count(*), count({column}), max({column}) FROM {table}") for table in tables]
    assert rows[0] == rows[1]
    assert rows == [[list(map(str, *bayou_rows(spark, root, column)))] for root in (ours, theirs)]


def bayou_rows(spark, root, column):
    return spark.read.format("delta").load(str(root)).selectExpr("count(*)", f"count({column})", f"max({column})").collect()


def test_a_moment_in_a_folder_is_of_the_sessions_zone_and_for_delta_spark_of_its_readers(spark, delta_spark, tmp_path):
    """It stands in docs/differences.md. delta-spark's statement cannot name the type: the catalog does."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for root in (ours, theirs):
        by_arrow(**{"at=2026-01-01 12%3A30%3A00__x": {"id": [1]}})(spark, root)
    made = f"CREATE TABLE moments (id BIGINT, at TIMESTAMP) USING parquet PARTITIONED BY (at) LOCATION '{theirs}'"
    folders = "SET spark.databricks.delta.convert.useCatalogPartitions = false"
    delta_spark.sql(made, folders, "CONVERT TO DELTA moments", folders.replace("false", "true"), "DROP TABLE moments")
    DeltaTable.convertToDelta(spark, f"parquet.`{ours}`", "at timestamp")
    assert actions(theirs)["add"][0]["partitionValues"] == {"at": "2026-01-01 12:30:00"}
    assert actions(ours)["add"][0]["partitionValues"] == {"at": "2026-01-01T12:30:00.000000Z"}
    rows = [delta_spark.sql(f"SELECT id, CAST(at AS string) FROM delta.`{root}`") for root in (ours, theirs)]
    assert rows == [[["1", "2026-01-01 12:30:00"]]] * 2


def of_two_types(_, folder):
    by_arrow(a={"id": pa.array([1])}, b={"id": pa.array(["x"])})(_, folder)


REFUSED = {
    "empty": (by_arrow(_hidden={"id": [1]}), None, "DELTA_EMPTY_DIRECTORY"),
    "undeclared": (by_arrow(**{"p=1__x": {"id": [1]}}), None, "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    "too many": (by_arrow(**{"p=1__x": {"id": [1]}}), "p int, q int", "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    "none": (by_arrow(x={"id": [1]}), "p int", "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"),
    "other name": (by_arrow(**{"p=1__x": {"id": [1]}}), "q int", "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME"),
    "no value": (by_arrow(**{"p=x__x": {"id": [1]}}), "p int", "DELTA_FAILED_CAST_PARTITION_VALUE"),
    "two types": (of_two_types, None, "DELTA_FAILED_MERGE_SCHEMA_FILE"),
    "bad name": (by_arrow(x={"a b": [1]}), None, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_refuse_with_the_same_class_and_leave_nothing_behind(spark, delta_spark, tmp_path, case):
    make, columns, error_class = REFUSED[case]
    make(spark, tmp_path / "ours")
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    by = "" if columns is None else f" PARTITIONED BY ({columns})"
    said = delta_spark.refused(f"CONVERT TO DELTA parquet.`{tmp_path / 'theirs'}`{by}")
    # Where two of its tasks met the files, delta-spark names none.
    assert error_class in said or (case == "two types" and "DELTA_FAILED_TO_MERGE_FIELDS" in said)
    with pytest.raises(DeltaError) as caught:
        DeltaTable.convertToDelta(spark, f"parquet.`{tmp_path / 'ours'}`", columns)
    assert caught.value.error_class == error_class
    assert not (tmp_path / "ours" / "_delta_log").exists()


def test_both_refuse_names_that_are_no_parquet_tables(spark, delta_spark, tmp_path):
    by_arrow(x={"id": [1]})(spark, tmp_path / "t")
    for identifier, error_class in (
        (f"`{tmp_path}/t`", "DELTA_MISSING_PROVIDER_FOR_CONVERT"),
        (f"csv.`{tmp_path}/t`", "DELTA_CONVERT_NON_PARQUET_TABLE"),
        ("no_such_table", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        said = delta_spark.refused(f"CONVERT TO DELTA {identifier}")
        with pytest.raises(DeltaError) as caught:
            DeltaTable.convertToDelta(spark, identifier)
        assert caught.value.error_class == error_class
        assert error_class in said


def test_delta_spark_forgets_types_of_programs_own(spark, delta_spark, tmp_path):
    """It stands in docs/differences.md."""
    for root in (tmp_path / "our vectors", tmp_path / "their vectors"):
        spark.createDataFrame([(Vectors.dense([1.0]),)], ["vector"]).write.parquet(str(root))
    found, wanted = convert(spark, delta_spark, tmp_path / "our vectors", tmp_path / "their vectors", None)
    kinds = [json.loads(side["metaData"][0]["schemaString"])["fields"][0]["type"]["type"] for side in (found, wanted)]
    assert kinds == ["udt", "struct"]


def test_both_convert_a_table_of_the_catalog(spark, delta_spark, tmp_path):
    made = (
        "CREATE TABLE converted (id INT COMMENT 'c', code CHAR(3), p STRING, q INT) USING parquet PARTITIONED BY (p, q) {}",
        "ALTER TABLE converted SET TBLPROPERTIES ('a' = 'b')",
        "INSERT INTO converted VALUES (1, 'a', 'x y/z', 1), (2, 'b', NULL, 2), (3, NULL, 'ü', NULL)",
    )
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for statement in made:
        spark.sql(statement.format(f"LOCATION '{ours}'"))
    delta_spark.sql(*[each.format(f"LOCATION '{theirs}'") for each in made], "CONVERT TO DELTA converted")
    try:
        DeltaTable.convertToDelta(spark, "converted")
        found, wanted = actions(ours), actions(theirs)
        for name in ("schemaString", "partitionColumns", "configuration"):
            assert found["metaData"][0][name] == wanted["metaData"][0][name], name
        assert found["commitInfo"][0]["operationParameters"] == wanted["commitInfo"][0]["operationParameters"]
        values = [sorted(map(str, (each["partitionValues"] for each in side["add"]))) for side in (found, wanted)]
        null = "'__HIVE_DEFAULT_PARTITION__'"
        assert values[0] == sorted(each.replace(null, "None") for each in values[1])
        assert any(null in each for each in values[1])  # it stands in docs/differences.md
        entries = [list(map(list, spark.sql(DESCRIBED).collect())), delta_spark.sql(DESCRIBED)]
        ours_entry, their_entry = ([each for each in entry if each[0] != "Location"] for entry in entries)
        assert ours_entry == their_entry
    finally:
        spark.sql("DROP TABLE converted")
        delta_spark.sql("DROP TABLE converted")
