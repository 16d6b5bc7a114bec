# SPDX-License-Identifier: Apache-2.0
"""Operations that write rows through the DataFrame API, and time travel."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.smoke.operations import Place, equal, operation, refused

import bayou

if TYPE_CHECKING:
    from collections.abc import Iterator

TWO = ((1, "a"), (2, "b"))
DYNAMIC = "spark.sql.sources.partitionOverwriteMode"


@contextlib.contextmanager
def _dynamic_overwrites(on: Place) -> Iterator[None]:
    on.spark.conf.set(DYNAMIC, "dynamic")
    try:
        yield
    finally:
        on.spark.conf.unset(DYNAMIC)


@operation
def create_by_save(on: Place) -> None:
    on.expect(on.saved(*TWO), *TWO)


@operation
def append(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((3, "c")).write.format("delta").mode("append").save(path)
    on.expect(path, *TWO, (3, "c"))


@operation
def overwrite(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((3, "c")).write.format("delta").mode("overwrite").save(path)
    on.expect(path, (3, "c"))


@operation
def mode_ignore_and_error(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((3, "c")).write.format("delta").mode("ignore").save(path)
    refused(lambda: on.rows((3, "c")).write.format("delta").save(path), "exists")
    on.expect(path, *TWO)


@operation
def replace_where(on: Place) -> None:
    path = on.saved(*TWO, by="v")
    on.rows((9, "b")).write.format("delta").mode("overwrite").option("replaceWhere", "v = 'b'").save(path)
    on.expect(path, (1, "a"), (9, "b"))


@operation
def replace_where_of_data(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((9, "z")).write.format("delta").mode("overwrite").option("replaceWhere", "id > 1").save(path)
    on.expect(path, (1, "a"), (9, "z"))


@operation
def replace_using(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((2, "z"), (3, "c")).write.format("delta").mode("overwrite").option("replaceUsing", "id").save(path)
    on.expect(path, (1, "a"), (2, "z"), (3, "c"))


@operation
def dynamic_partition_overwrite(on: Place) -> None:
    path = on.saved(*TWO, by="v")
    on.rows((9, "b")).write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
    on.expect(path, (1, "a"), (9, "b"))


@operation
def merge_schema(on: Place) -> None:
    path = on.saved(*TWO)
    on.rows((3, "c", 1), schema="id int, v string, n int").write.format("delta").mode("append").option("mergeSchema", "true").save(
        path
    )
    on.expect(path, *((*row, None) for row in TWO), (3, "c", 1))


@operation
def overwrite_schema(on: Place) -> None:
    path = on.saved(*TWO)
    on.sql("select 1.5D as x").write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    on.expect(path, (1.5,))


@operation
def other_columns_are_refused(on: Place) -> None:
    path = on.saved(*TWO)
    refused(lambda: on.sql("select 1 as other").write.format("delta").mode("append").save(path), "schema")
    on.expect(path, *TWO)


@operation
def save_as_table(on: Place) -> None:
    name = on.name()
    on.rows((1, "a")).write.format("delta").saveAsTable(name)
    on.rows((2, "b")).write.format("delta").mode("append").saveAsTable(name)
    on.expect(name, *TWO)
    on.rows((3, "c")).write.format("delta").mode("overwrite").saveAsTable(name)
    on.expect(name, (3, "c"))


@operation
def save_as_partitioned_table(on: Place) -> None:
    name = on.name()
    on.rows(*TWO).write.format("delta").partitionBy("v").saveAsTable(name)
    equal(on.read(name).where("v = 'b'"), [(2, "b")])
    equal(on.sql(f"show partitions {name}"), [("a",), ("b",)])


@operation
def insert_into_appends_and_overwrites(on: Place) -> None:
    name = on.named((1, "a"))
    on.rows((2, "b")).write.insertInto(name)
    on.expect(name, *TWO)
    on.rows((3, "c")).write.insertInto(name, overwrite=True)
    on.expect(name, (3, "c"))


@operation
def insert_into_partitioned(on: Place) -> None:
    name = on.named(*TWO, by="v")
    on.rows((3, "c")).write.insertInto(name)
    on.expect(name, *TWO, (3, "c"))
    with _dynamic_overwrites(on):
        on.rows((9, "b")).write.insertInto(name, overwrite=True)
    on.expect(name, (1, "a"), (9, "b"), (3, "c"))


@operation
def write_to_creates_and_appends(on: Place) -> None:
    name = on.name()
    on.rows((1, "a")).writeTo(name).using("delta").create()
    on.rows((2, "b")).writeTo(name).append()
    on.expect(name, *TWO)


@operation
def write_to_overwrites(on: Place) -> None:
    name = on.named(*TWO, by="v")
    on.rows((8, "b")).writeTo(name).overwrite(F.col("v") == "b")
    on.expect(name, (1, "a"), (8, "b"))
    on.rows((9, "b")).writeTo(name).overwritePartitions()
    on.expect(name, (1, "a"), (9, "b"))


@operation
def write_to_replaces(on: Place) -> None:
    name = on.named(*TWO)
    on.sql("select 1L as n").writeTo(name).using("delta").createOrReplace()
    on.expect(name, (1,))
    on.sql("select 2L as n").writeTo(name).using("delta").replace()
    on.expect(name, (2,))


@operation
def write_a_table_into_another(on: Place) -> None:
    source, target = on.named(*TWO), on.named()
    on.spark.table(source).write.insertInto(target)
    on.spark.table(source).where("id = 1").writeTo(target).append()
    on.spark.table(source).write.format("delta").mode("append").saveAsTable(target)
    on.expect(target, *TWO, (1, "a"), *TWO)


@operation
def own_functions_read_and_write(on: Place) -> None:
    path = on.path()
    bayou.write(on.rows(*TWO), path, partition_by=["v"])
    bayou.write(on.rows((3, "c")), path, mode="append")
    equal(bayou.read(on.spark, path), [*TWO, (3, "c")])
    equal(bayou.read(on.spark, path, version=0), TWO)


@operation
def a_batch_is_written_once(on: Place) -> None:
    path = on.saved(*TWO)
    for _ in range(2):
        writer = on.rows((3, "c")).write.format("delta").mode("append").option("txnAppId", "job")
        writer.option("txnVersion", "7").save(path)
    on.expect(path, *TWO, (3, "c"))


@operation
def time_travel_by_version_and_time(on: Place) -> None:
    path = on.saved(*TWO)
    when = bayou.DeltaTable.forPath(on.spark, path).history().first()["timestamp"]
    on.rows((3, "c")).write.format("delta").mode("overwrite").save(path)
    equal(on.spark.read.format("delta").option("versionAsOf", 0).load(path), TWO)
    equal(on.spark.read.format("delta").option("timestampAsOf", str(when)).load(path), TWO)
    equal(on.spark.read.format("delta").load(f"{path}@v0"), TWO)


@operation
def time_travel_in_sql(on: Place) -> None:
    name, path = on.named(*TWO), on.saved(*TWO)
    on.sql(f"delete from {name}")
    on.sql(f"delete from delta.`{path}`")
    equal(on.sql(f"select * from {name} version as of 1"), TWO)
    equal(on.sql(f"select * from delta.`{path}` version as of 0"), TWO)


@operation
def pruning_reads_fewer_files(on: Place) -> None:
    path = on.path()
    on.spark.range(0, 100, 1, 4).write.format("delta").save(path)
    frame = on.read(path).where("id < 10")
    equal(frame, [(number,) for number in range(10)])
    files = frame.selectExpr("_metadata.file_path as file").distinct().count()
    if files != 1:
        raise AssertionError(f"{files} files were read instead of 1")
    equal(on.read(path).groupBy().count(), [(100,)])


@operation
def types_are_stored_and_read(on: Place) -> None:
    path = on.path()
    text = """
        select cast(1 as tinyint) a, cast(2 as smallint) b, 3L c, cast(1.5 as float) d, 2.5D e, 1.25BD f, true g, X'0102' h,
               date'1500-01-01' i, timestamp'2024-01-02 03:04:05.678901' j, timestamp_ntz'2024-01-02 03:04:05' k,
               array(1, null) l, map('k', struct(1 as x)) m, named_struct('y', 'z') n
    """
    rows = on.sql(text)
    rows.write.format("delta").save(path)
    equal(on.read(path), map(tuple, rows.collect()))
