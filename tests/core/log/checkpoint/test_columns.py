# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint says of each file, and as which columns: statistics, partition values, schema."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import SLOW
from tests.support.tables.checkpoints import (
    BEYOND_PRECISION,
    EVERYTHING,
    STATS,
    actions,
    builder,
    classic_adds,
    hint,
    hinted_type,
    rewritten,
    shown,
    spark_type,
    state,
    vector,
)
from tests.support.tables.random_tables import PARTITION, PATHS, any_table

from bayou.log.checkpoint.writer import write_checkpoint
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types import partition_values
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, StructField, StructType
from bayou.testing.table_builder import add, metadata


def test_statistics_are_written_as_text_and_as_struct():
    table = builder(add("a", stats=STATS), add("b"), add("c", stats="{oops"))
    write_checkpoint(table.log().snapshot())
    found = classic_adds(table)
    assert [each["stats"] for each in found] == [json.dumps(STATS), None, "{oops"]
    assert [each["stats_parsed"] for each in found] == [STATS, None, None]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("as_struct", [True, False])
def test_the_table_says_how_statistics_are_written(as_json, as_struct):
    flags = {"delta.checkpoint.writeStatsAsJson": as_json, "delta.checkpoint.writeStatsAsStruct": as_struct}
    table = builder(
        add("a", stats=STATS, partitionValues={"p": "1"}),
        schema={"id": "long", "p": "integer"},
        partition_by=["p"],
        configuration={key: str(value).lower() for key, value in flags.items()},
    )
    _, after = rewritten(table)
    (found,) = classic_adds(table)
    assert ("stats" in found, "stats_parsed" in found, "partitionValues_parsed" in found) == (as_json, as_struct, as_struct)
    assert after.files(where=[("id", ">", 9)]).num_rows == (0 if as_json or as_struct else 1)
    assert after.partition_texts()["p"].to_pylist() == ["1"]


def test_statistics_that_are_there_as_struct_alone_are_not_lost():
    configuration = {"delta.checkpoint.writeStatsAsJson": "false"}
    table = builder(add("a", stats=STATS), add("b"), configuration=configuration)
    _, struct_only = rewritten(table)
    assert "stats" not in classic_adds(table)[0]
    assert [text and json.loads(text) for text in struct_only.files(["stats"])["stats"].to_pylist()] == [STATS, None]
    table.commit(metadata(), add("c", stats={**STATS, "numRecords": 4}))
    _, after = rewritten(table)
    assert [text and json.loads(text) for text in after.files(["stats"])["stats"].to_pylist()] == [
        STATS,
        None,
        {**STATS, "numRecords": 4},
    ]
    assert after.statistics({("id",): "long"}).columns["id",].max.to_pylist() == [5, None, 5]
    assert [each["stats_parsed"] for each in classic_adds(table)] == [STATS, None, {**STATS, "numRecords": 4}]


def test_a_column_that_came_after_the_base_checkpoint_gets_its_statistics():
    later = {"numRecords": 1, "minValues": {"id": 1, "v": "x"}, "maxValues": {"id": 1, "v": "y"}, "nullCount": {"id": 0, "v": 0}}
    table = builder(add("a", stats=STATS))
    rewritten(table)
    table.commit(metadata({"id": "long", "v": "string"}), add("b", stats=later))
    _, after = rewritten(table)
    assert after.statistics({("v",): "string"}).columns["v",].max.to_pylist() == [None, "y"]
    first, second = classic_adds(table)
    assert (first["stats_parsed"]["numRecords"], first["stats_parsed"]["minValues"]) == (3, {"id": 1, "v": None})
    assert second["stats_parsed"] == later


def test_wide_bounds_are_told_where_the_table_may_have_deletion_vectors():
    protocol = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    wide = {**STATS, "tightBounds": False}
    table = builder(add("a", stats=wide, deletionVector=vector(1)), add("b", stats=STATS), protocol=protocol)
    _, after = rewritten(table)
    assert [each["stats_parsed"]["tightBounds"] for each in classic_adds(table)] == [False, None]
    assert after.statistics({}).tight_bounds.to_pylist() == [False, True]
    assert after.files(["deletion_vector"])["deletion_vector"].to_pylist()[0]["offset"] == 1


def test_column_mapping_uses_physical_names():
    def mapped(name, kind, number):
        return StructField(name, kind, metadata={PHYSICAL_NAME: f"col-{number}", FIELD_ID: number})

    schema = StructType((mapped("id", "long", 1), mapped("s", StructType((mapped("x", "string", 3),)), 2), mapped("p", "date", 4)))
    bounds = {"col-1": 1, "col-2": {"col-3": "x"}}
    stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": {"col-1": 0, "col-2": {"col-3": 0}}}
    table = builder(
        add("a", stats=stats, partitionValues={"col-4": "2024-01-02"}),
        add("from-before-the-mapping", partitionValues={"p": "2024-01-03"}),
        schema=schema,
        partition_by=["p"],
        configuration={"delta.columnMapping.mode": "name"},
        protocol=Protocol(2, 5),
    )
    before, after = rewritten(table)
    first, second = classic_adds(table)
    assert first["stats_parsed"] == stats
    assert first["partitionValues_parsed"] == {"col-4": dt.date(2024, 1, 2)}
    assert second["partitionValues_parsed"] == {"col-4": dt.date(2024, 1, 3)}
    assert after.files(["path"], where=[("id", ">", 1)])["path"].to_pylist() == ["from-before-the-mapping"]
    assert state(after) == state(before)


VALUES = {
    "string": ("é x", "é x"),
    "byte": ("-1", -1),
    "short": ("300", 300),
    "integer": ("70000", 70_000),
    "long": (str(2**62), 2**62),
    "float": ("1.5", 1.5),
    "double": ("0.1", 0.1),
    "boolean": ("true", True),
    "binary": ("ab", b"ab"),
    "decimal(10,2)": ("1.50", Decimal("1.50")),
    "date": ("2024-02-29", dt.date(2024, 2, 29)),
    "timestamp": ("2024-02-29T01:02:03.456789Z", dt.datetime(2024, 2, 29, 1, 2, 3, 456_789, dt.timezone.utc)),
    "timestamp_ntz": ("2024-02-29 01:02:03.456789", dt.datetime(2024, 2, 29, 1, 2, 3, 456_789)),  # noqa: DTZ001
}


@in_one_test("kind", VALUES)
def test_partition_values_of_every_type_are_written_typed(kind):
    text, value = VALUES[kind]
    table = builder(
        *(add(name, partitionValues={"p": each}) for name, each in (("a", text), ("b", None), ("c", ""))),
        add("d"),
        schema={"id": "long", "p": kind},
        partition_by=["p"],
        protocol=Protocol(3, 7, EVERYTHING, EVERYTHING),
    )
    before, after = rewritten(table)
    assert [each["partitionValues_parsed"]["p"] for each in classic_adds(table)] == [value, None, None, None]
    assert state(after) == state(before)


def test_a_partition_text_that_cannot_be_read_is_null_and_stays_in_the_map():
    table = builder(add("a", partitionValues={"p": "soon"}), schema={"id": "long", "p": "date"}, partition_by=["p"])
    _, after = rewritten(table)
    assert classic_adds(table)[0]["partitionValues_parsed"] == {"p": None}
    assert after.partition_texts()["p"].to_pylist() == ["soon"]


def test_a_table_without_partition_columns_has_no_typed_partition_values():
    table = builder(add("a"))
    write_checkpoint(table.log().snapshot())
    assert "partitionValues_parsed" not in classic_adds(table)[0]


def test_the_hint_gives_the_schema_that_the_file_has():
    schema = {f"c{number}": kind for number, kind in enumerate(VALUES)}
    table = builder(
        add("a", partitionValues={"c3": "1"}),
        schema=schema,
        partition_by=["c3"],
        protocol=Protocol(3, 7, EVERYTHING, EVERYTHING),
    )
    write_checkpoint(table.log().snapshot())
    file = pq.ParquetFile(io.BytesIO(table.store.read(file_names.checkpoint_path(0))))
    assert hinted_type(hint(table)["checkpointSchema"]) == spark_type(pa.struct(list(file.schema_arrow)))
    assert b"ARROW:schema" not in (file.metadata.metadata or {})


def test_the_file_has_the_columns_that_other_engines_expect():
    table = builder(add("a", stats=STATS, partitionValues={"p": "1"}), schema={"id": "long", "p": "integer"}, partition_by=["p"])
    write_checkpoint(table.log().snapshot())
    file = pq.ParquetFile(io.BytesIO(table.store.read(file_names.checkpoint_path(0))))
    assert file.schema_arrow.names == ["txn", "add", "remove", "metaData", "protocol", "domainMetadata"]
    assert [each.name for each in file.schema_arrow.field("add").type] == [
        *("path", "partitionValues", "size", "modificationTime", "dataChange", "tags", "deletionVector", "baseRowId"),
        *("defaultRowCommitVersion", "clusteringProvider", "stats", "partitionValues_parsed", "stats_parsed"),
    ]
    assert [each.name for each in file.schema_arrow.field("remove").type] == [
        *("path", "deletionTimestamp", "dataChange", "extendedFileMetadata", "partitionValues", "size", "deletionVector"),
        *("baseRowId", "defaultRowCommitVersion"),
    ]
    leaves = {file.schema.column(place).path for place in range(len(file.schema))}
    assert {"add.partitionValues.key_value.value", "metaData.partitionColumns.list.element"} <= leaves
    assert {file.metadata.row_group(0).column(place).compression for place in range(len(leaves))} == {"SNAPPY"}


def test_features_are_written_as_the_protocol_lists_them():
    table = builder(protocol=Protocol(3, 7, EVERYTHING, (*EVERYTHING, "appendOnly")))
    write_checkpoint(table.log().snapshot())
    (found,) = actions(table, file_names.checkpoint_path(0), "protocol")
    assert found["readerFeatures"] == list(EVERYTHING)
    assert found["writerFeatures"] == [*EVERYTHING, "appendOnly"]


@SLOW
@given(st.integers(0, 10**9), st.sampled_from([(True, True), (True, False), (False, True)]), st.booleans())
def test_statistics_and_partition_values_of_any_type_are_the_same_after_a_checkpoint(seed, formats, in_two_steps):
    random = any_table(Random(seed))
    assume(not any(BEYOND_PRECISION in str(file.stats) for file in random.files))
    kinds = random.types
    inner = StructType(
        (StructField("x", kinds["s", "x"]), StructField("t", StructType((StructField("y.z", kinds["s", "t", "y.z"]),))))
    )
    schema = StructType((StructField("a", kinds["a",]), StructField("s", inner), StructField("p", kinds[PARTITION])))
    flags = {"delta.checkpoint.writeStatsAsJson": formats[0], "delta.checkpoint.writeStatsAsStruct": formats[1]}
    files = [
        add(f"f{number}", stats=file.stats, partitionValues={"p": partition_values.serialise(file.partition, kinds[PARTITION])})
        for number, file in enumerate(random.files)
    ]
    table = builder(
        *files[:2],
        schema=schema,
        partition_by=["p"],
        configuration={key: str(value).lower() for key, value in flags.items()},
        protocol=Protocol(3, 7, EVERYTHING, EVERYTHING),
    )
    fields = {path: kinds[path] for path in PATHS}
    expected = table.commit(*files[2:]).log().snapshot()
    if in_two_steps:
        write_checkpoint(table.log().snapshot(0))
    before = shown(expected.statistics(fields)), as_text(expected.partitions())
    _, after = rewritten(table)
    assert (shown(after.statistics(fields)), as_text(after.partitions())) == before


def as_text(columns):
    return {path: str(values) for path, values in columns.items()}
