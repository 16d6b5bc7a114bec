# SPDX-License-Identifier: Apache-2.0
"""The facts of a health report, on tables whose numbers are computed by hand."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import bayou
from bayou.log.operations.compute_statistics import files_to_describe
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.testing.table_builder import TableBuilder, add, remove

MIB = 1 << 20
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 36}
VECTORS = Protocol(3, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors"}))


def stats(rows, low, high, nulls=0, column="id"):
    return {"numRecords": rows, "minValues": {column: low}, "maxValues": {column: high}, "nullCount": {column: nulls}}


def health(builder, **options):
    return bayou.health(builder.log().table_uri, **options)


def column(found, name):
    (one,) = [each for each in found.columns if each.name == name]
    return one


@pytest.fixture
def builder(tmp_path):
    return TableBuilder(tmp_path / "table")


def test_a_table_without_files_has_no_advice(builder):
    found = health(builder.create({"id": "long"}))
    assert (found.sizes.files, found.sizes.bytes, found.sizes.median, found.sizes.num_partitions) == (0, 0, None, 0)
    assert (found.deleted.rows, found.deleted.live_rows, found.removed.expired_files) == (0, 0, 0)
    assert [(each.name, each.missing, each.average_reads, each.most_reads) for each in found.columns] == [("id", 0, 0, 0)]
    assert found.advice == ()


def test_sizes_by_class_and_by_partition(builder):
    builder.create({"id": "long", "day": "date"}, partition_by=["day"]).commit(
        *(
            add(f"f{number}", size=size * MIB, partitionValues={"day": day})
            for number, (size, day) in enumerate(
                [(1, "2026-01-01"), (3, "2026-01-01"), (300, "2026-01-01"), (500, "2026-01-02"), (2, None)]
            )
        )
    )
    sizes = health(builder).sizes
    assert (sizes.files, sizes.bytes, sizes.smallest, sizes.median, sizes.largest) == (5, 806 * MIB, MIB, 3 * MIB, 500 * MIB)
    classes = {each.below and each.below // MIB: (each.files, each.bytes // MIB) for each in sizes.classes if each.files}
    assert classes == {4: (3, 6), 1024: (2, 800)}
    assert sizes.num_partitions == 3
    assert [(each.text, each.files, each.bytes // MIB, each.small_files) for each in sizes.partitions] == [
        ("day=2026-01-01", 3, 304, 2),
        ("day=NULL", 1, 2, 1),
        ("day=2026-01-02", 1, 500, 0),
    ]


def test_optimize_is_advised_for_partitions_with_two_small_files(builder):
    """Two of the files of 100 MiB fit into a file of 256 MiB. The third one, and the only small file of a partition, stay."""
    files = [(100, "a"), (100, "a"), (100, "a"), (100, "b"), (400, "a")]
    builder.create({"id": "long", "p": "string"}, partition_by=["p"]).commit(
        *(
            add(f"f{number}", size=size * MIB, partitionValues={"p": value}, stats=stats(1, 1, 1))
            for number, (size, value) in enumerate(files)
        )
    )
    (advice,) = health(builder).advice
    path = builder.log().table_uri.removeprefix("file://")
    assert advice.sql == f"OPTIMIZE delta.`{path}`"
    assert (advice.files, advice.bytes) == (1, 200 * MIB)
    assert advice.why == "2 of 5 files are small or have many deleted rows."
    assert advice.effect == "It writes about 1 file, 200.0 MiB."


def test_a_file_that_optimize_wrote_is_not_rewritten_for_a_smaller_one(builder):
    builder.create().commit(add("big", size=50 * MIB, tags={"BAYOU_COMPACTED": "1"}), add("new", size=1 * MIB))
    assert health(builder).sizes.compaction.files == 0
    builder.commit(add("more", size=60 * MIB))
    assert health(builder).sizes.compaction.files == 3


def test_deleted_rows_and_what_purge_would_rewrite(builder):
    builder.create(protocol=VECTORS).commit(
        add("a", size=300 * MIB, stats=stats(100, 1, 9), deletionVector={**VECTOR, "cardinality": 4}),
        add("b", size=300 * MIB, stats=stats(50, 1, 9)),
    )
    found = health(builder)
    assert (found.deleted.files, found.deleted.rows, found.deleted.live_rows) == (1, 4, 146)
    (advice,) = found.advice
    assert "APPLY (PURGE)" in advice.sql
    assert (advice.files, advice.bytes, advice.why) == (1, 300 * MIB, "1 file holds 4 deleted rows.")
    builder.commit(add("c", size=300 * MIB, stats=stats(100, 1, 9), deletionVector={**VECTOR, "cardinality": 6}))
    assert health(builder).sizes.compaction.files == 1, "more than 5 % are deleted"


def test_point_reads_of_ranges(builder):
    """The ranges 1-4, 3-6, 6-9 and 20-30: the bounds 1, 4, 3, 6, 6, 9, 20, 30 are in 1, 2, 2, 2, 2, 1, 1 and 1 of them."""
    ranges = [(1, 4), (3, 6), (6, 9), (20, 30)]
    builder.create().commit(*(add(f"f{low}", stats=stats(10, low, high)) for low, high in ranges))
    found = column(health(builder), "id")
    assert (found.average_reads, found.most_reads, found.missing) == (12 / 8, 2, 0)


def test_files_without_statistics_are_always_read_and_files_of_nulls_never(builder):
    builder.create().commit(
        add("a", stats=stats(10, 1, 4)),
        add("b"),
        add("c", stats={"numRecords": 3, "nullCount": {"id": 3}}),
        add("d", stats={"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": {}}),
    )
    found = health(builder)
    assert (column(found, "id").average_reads, column(found, "id").most_reads, column(found, "id").missing) == (3.0, 3, 1)
    (advice,) = [each for each in found.advice if "STATISTICS" in each.sql]
    assert advice.why == "1 file lacks statistics of id."
    assert "computeStatistics(missing_only=True)" in advice.python


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("boolean", ["true", "false", "true"]),
        ("byte", ["1", "2", "1"]),
        ("integer", ["1", "2", "1"]),
        ("long", ["1", "2", "1"]),
        ("float", ["1.5", "NaN", "1.5"]),
        ("double", ["1.5", "-0.0", "1.5"]),
        ("decimal(5,2)", ["1.50", "2.00", "1.50"]),
        ("string", ["a", "b", "a"]),
        ("binary", ["a", "b", "a"]),
        ("date", ["2026-01-01", "2026-01-02", "2026-01-01"]),
        ("timestamp", ["2026-01-01 00:00:00", "2026-01-02 00:00:00", "2026-01-01T00:00:00Z"]),
        ("timestamp_ntz", ["2026-01-01 00:00:00", "2026-01-02 00:00:00", "2026-01-01 00:00:00"]),
    ],
)
def test_point_reads_of_partition_columns(builder, kind, texts):
    """Of the values x, y, x two files have x, one has y, and the file with NULL is never read: (2 + 1 + 2) / 3."""
    features = frozenset({"timestampNtz"}) if kind == "timestamp_ntz" else frozenset()
    protocol = Protocol(3, 7, features, features) if features else None
    builder.create({"id": "long", "p": kind}, partition_by=["p"], protocol=protocol).commit(
        *(add(f"f{number}", partitionValues={"p": text}) for number, text in enumerate([*texts, None]))
    )
    found = health(builder)
    assert (column(found, "p").average_reads, column(found, "p").most_reads) == (pytest.approx(5 / 3), 2)
    assert column(found, "p").is_partition
    assert found.sizes.num_partitions == 3


@pytest.mark.parametrize(
    ("kind", "low", "high", "other"),
    [
        ("double", 1.5, 2.5, 9.5),
        ("decimal(5,2)", 1.5, 2.5, 9.5),
        ("string", "a", "b", "c"),
        ("date", "2026-01-01", "2026-01-02", "2026-01-09"),
        ("timestamp", "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "2026-01-09T00:00:00.000Z"),
    ],
)
def test_point_reads_of_types(builder, kind, low, high, other):
    builder.create({"id": kind}).commit(
        add("a", stats=stats(1, low, high)), add("b", stats=stats(1, low, high)), add("c", stats=stats(1, other, other))
    )
    found = column(health(builder), "id")
    assert (found.average_reads, found.most_reads) == (pytest.approx(10 / 6), 2)


def test_columns_without_bounds_read_all_files(builder):
    builder.create({"id": "boolean"}).commit(*(add(each, stats={"numRecords": 1, "nullCount": {"id": 0}}) for each in "ab"))
    found = column(health(builder), "id")
    assert (found.average_reads, found.missing, found.has_bounds) == (2, 0, False)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (StructField("c", ArrayType("long", contains_null=True)), {"nullCount": {"c": 3}}),
        (StructField("c", MapType("string", "long", value_contains_null=True)), {}),
        (StructField("c", "double"), {"minValues": {"c": 1.0}, "maxValues": {"c": "NaN"}, "nullCount": {"c": 0}}),
        (StructField("c", "string"), {"minValues": {"c": "a"}, "nullCount": {"c": 0}}),
        (
            StructField("c", "double", metadata={"delta.typeChanges": [{"fromType": "float", "toType": "double"}]}),
            {"nullCount": {"c": 0}},
        ),
    ],
    ids=["array", "map", "NaN", "no short upper bound", "widened float"],
)
def test_statistics_that_cannot_be_added_or_are_not_read_are_not_missing(builder, field, values):
    builder.create(StructType((field,))).commit(add("a", size=300 * MIB, stats={"numRecords": 9, **values}))
    found = health(builder)
    assert (found.advice, [each.missing for each in found.columns if each.missing]) == ((), [])


def test_bounds_that_compute_stats_adds_are_missing(builder):
    builder.create().commit(add("a", size=300 * MIB, stats={"numRecords": 9, "nullCount": {"id": 0}}))
    assert column(health(builder), "id").missing == 1
    files = files_to_describe(builder.log().snapshot(), None, missing_only=True)
    assert [each.path for each in files] == ["a"]


def test_columns_beyond_the_indexed_ones_are_named(builder):
    builder.create({"id": "long", "b": "long"}, configuration={"delta.dataSkippingNumIndexedCols": "1"}).commit(
        add("a", stats=stats(1, 1, 1))
    )
    found = health(builder)
    assert ([each.name for each in found.columns], found.unindexed) == (["id"], ("b",))


def test_names_of_mapped_columns_are_logical(builder):
    def mapped(name, kind, number):
        return StructField(
            name, kind, metadata={"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        )

    schema = StructType((mapped("my id", "long", 1), mapped("day", "date", 2)))
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    builder.create(schema, partition_by=["day"], configuration=properties, protocol=Protocol(2, 5)).commit(
        add("a", partitionValues={"col-2": "2026-01-01"}, stats=stats(1, 1, 5, column="col-1")),
        add("b", partitionValues={"col-2": "2026-01-02"}, stats=stats(1, 6, 7, column="col-1")),
    )
    found = health(builder)
    assert [(each.name, each.average_reads, each.missing) for each in found.columns] == [("day", 1.0, 0), ("`my id`", 1.0, 0)]
    assert {each.text for each in found.sizes.partitions} == {"day=2026-01-01", "day=2026-01-02"}


def test_an_order_is_advised_if_files_overlap(builder):
    size = 300 * MIB
    builder.create({"my id": "long", "b": "long"}).commit(
        *(
            add(
                f"f{number}",
                size=size,
                stats={
                    "numRecords": 9,
                    "minValues": {"my id": 1, "b": number},
                    "maxValues": {"my id": 99, "b": number},
                    "nullCount": {"my id": 0, "b": 0},
                },
            )
            for number in range(4)
        )
    )
    (advice,) = health(builder).advice
    assert advice.sql.endswith("ZORDER BY (`my id`)")
    assert advice.why.startswith("A filter on `my id` reads 4 of 4 files.")
    assert (advice.files, advice.bytes) == (5, 4 * size)


def test_no_order_is_advised_for_a_column_with_one_value(builder):
    builder.create().commit(*(add(each, size=300 * MIB, stats=stats(9, 5, 5)) for each in "abcd"))
    found = health(builder)
    assert (column(found, "id").average_reads, column(found, "id").single_values) == (4, 4)
    assert found.advice == ()


def clustered(builder, cubes):
    """Commit a file of 300 MiB for each cube, given as its id and its columns; None for a file that is not clustered."""
    features = frozenset({"clustering", "domainMetadata"})
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    builder.create(protocol=Protocol(1, 7, frozenset(), features), actions=[{"domainMetadata": domain}])
    tags = [cube and {"tags": {"ZCUBE_ID": cube[0], "ZCUBE_ZORDER_BY": cube[1]}} for cube in cubes]
    return builder.commit(
        *(add(f"f{number}", size=300 * MIB, stats=stats(9, 1, 99), **(each or {})) for number, each in enumerate(tags))
    )


@pytest.mark.parametrize(
    ("cubes", "calls"),
    [
        ([None] * 4, [("", 5, "4 of 4 files are not clustered, or are in cubes to merge.")]),
        ([("a", '["id"]')] * 4, []),
        ([("a", '["b"]')] * 4, [(" FULL", 5, "A filter on id reads more than half of the files.")]),
    ],
    ids=["new", "one cube", "other columns"],
)
def test_a_clustered_table_is_clustered_if_that_rewrites_files(builder, cubes, calls):
    found = health(clustered(builder, cubes))
    path = builder.log().table_uri.removeprefix("file://")
    assert [(each.sql, each.files, each.why) for each in found.advice] == [
        (f"OPTIMIZE delta.`{path}`{suffix}", files, why) for suffix, files, why in calls
    ]


def test_no_order_is_advised_for_files_in_this_order(builder):
    tags = {"BAYOU_ZORDER_ID": "a", "BAYOU_ZORDER_BY": '[["id"]]'}
    builder.create().commit(*(add(each, size=300 * MIB, stats=stats(9, 1, 99), tags=tags) for each in "abcd"))
    assert health(builder).advice == ()
    (advice,) = health(builder.commit(add("e", size=300 * MIB, stats=stats(9, 1, 99)))).advice
    assert (advice.sql.endswith("ZORDER BY (id)"), advice.files) == (True, 1), "the cube stays"


def test_removed_files_are_freed_after_the_retention(builder):
    now = int(time.time() * 1000)
    builder.create().commit(*(add(each, size=100) for each in "abcd"), add("e", size=300 * MIB, stats=stats(1, 1, 1)))
    builder.commit(
        remove("a", size=100, deletionTimestamp=now - 8 * 86_400_000),
        remove("b", size=50, deletionTimestamp=now - 86_400_000),
        remove("c", deletionTimestamp=now - 9 * 86_400_000),
        remove("d", size=7, deletionTimestamp=now - 6 * 86_400_000),
    )
    found = health(builder)
    removed = found.removed
    assert (removed.expired_files, removed.expired_bytes, removed.kept_files, removed.kept_bytes) == (2, 100, 2, 57)
    assert (removed.unknown_sizes, removed.listed_files) == (1, None)
    (advice,) = found.advice
    assert (advice.sql.split()[0], advice.files, advice.bytes) == ("VACUUM", 2, 100)


def test_a_file_with_a_new_deletion_vector_is_not_freed(builder):
    builder.create(protocol=VECTORS).commit(add("a", stats=stats(9, 1, 1)))
    builder.commit(remove("a", size=100), add("a", stats=stats(9, 1, 1), deletionVector={**VECTOR, "cardinality": 1}))
    assert health(builder).removed.expired_files == 0


def test_files_that_a_vacuum_deleted_are_not_counted(builder):
    builder.create().commit(add("a", size=100)).commit(remove("a", size=100))
    assert health(builder).removed.expired_files == 1
    builder.write("_delta_log/_last_vacuum_info", '{"latestCommitVersionOutsideOfRetentionWindow": 2}')
    assert health(builder).removed.expired_files == 0


def test_folders_are_listed_on_request(builder, tmp_path):
    builder.create().commit(add("a", size=4)).write("a", "1234").write("left-behind.parquet", "12345")
    old = time.time() - 30 * 86_400
    for name in ("a", "left-behind.parquet"):
        os.utime(tmp_path / "table" / name, (old, old))
    found = health(builder, folders=True)
    assert (found.removed.listed_files, found.removed.listed_bytes) == (1, 5)
    assert [(each.files, each.bytes) for each in found.advice if each.sql.startswith("VACUUM")] == [(1, 5)]


@pytest.mark.parametrize(
    ("kind", "parts", "sidecars"), [("classic", 1, 0), ("multipart", 2, 0), ("v2-json", 1, 2), ("v2-parquet", 1, 2)]
)
def test_the_log_and_its_checkpoint(builder, kind, parts, sidecars):
    features = frozenset({"v2Checkpoint"})
    builder.create(protocol=Protocol(3, 7, features, features)).commit(add("a")).checkpoint(kind).commit(add("b")).commit(add("c"))
    log = health(builder).log
    assert (log.oldest_version, log.commits, log.checkpoint_version, log.commits_since) == (0, 4, 1, 2)
    assert (log.checkpoint_parts, log.sidecars) == (parts, sidecars)
    folder = builder.store.local_path("_delta_log")
    commits = {each.name: each.stat().st_size for each in Path(folder).glob("*.json") if "checkpoint" not in each.name}
    checkpoint = [each.stat().st_size for each in Path(folder).rglob("*") if "checkpoint" in each.name and each.name[0] != "_"]
    assert log.bytes_since == sum(size for name, size in commits.items() if int(name[:20]) > 1)
    assert log.checkpoint_bytes == sum(checkpoint)


def test_a_checkpoint_is_advised_if_it_is_overdue(builder):
    builder.create(configuration={"delta.checkpointInterval": "2"})
    for _ in range(3):
        builder.commit()
    assert health(builder).advice == ()
    builder.commit()
    (advice,) = health(builder).advice
    assert (advice.sql, advice.why) == (None, "Readers read 5 commits in the log without a checkpoint.")
    assert advice.python.endswith(".checkpoint()")
    assert health(builder.checkpoint()).advice == ()


def test_a_string_is_not_a_flag(builder):
    with pytest.raises(ValueError, match="folders"):
        health(builder.create(), folders="false")


def test_a_missing_table_is_an_error(tmp_path):
    with pytest.raises(bayou.DeltaError, match="Next:"):
        bayou.health(tmp_path / "none")
