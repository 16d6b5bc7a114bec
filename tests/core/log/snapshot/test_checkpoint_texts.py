# SPDX-License-Identifier: Apache-2.0
"""Two things that a checkpoint may hold in the place of text: statistics as structs only, and bytes that are not UTF-8."""

from __future__ import annotations

import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import SLOW

from bayou.errors import CorruptLogError
from bayou.protocol.actions.file_names import commit_path
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

SCHEMA = {
    "id": "long",
    "s": "string",
    "d": "date",
    "t": "timestamp",
    "n": "timestamp_ntz",
    "x": "double",
    "m": "decimal(20,3)",
    "b": "boolean",
    "p": "string",
}
BOUNDS = {
    "id": -(2**62),
    "s": 'a "quoted" ü\n',
    "d": "0001-01-01",
    "t": "1500-06-07T08:09:10.123Z",
    "n": "2999-06-07T08:09:10.123",
    "x": 1.5,
    "m": 12345678901234567.125,
}
NULLS = dict.fromkeys(["id", "s", "d", "t", "n", "x", "m", "b"], 1)
STATS = {"numRecords": 7, "minValues": BOUNDS, "maxValues": BOUNDS, "nullCount": NULLS}
KINDS = ["classic", "v2"]


def table(kind, *stats, **configuration):
    settings = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    if kind == "v2":
        settings["delta.checkpointPolicy"] = "v2"
    builder = TableBuilder(store=MemoryStore())
    log = builder.log()
    schema = StructType(tuple(StructField(name, type_) for name, type_ in SCHEMA.items()))
    log.create(schema, partition_by=["p"], properties={**settings, **configuration})
    builder.version = 0
    builder.commit(*(add(f"f{place}", stats=each, partitionValues={"p": "1"}) for place, each in enumerate(stats)))
    return builder


def texts(builder):
    return [text and json.loads(text) for text in builder.log().snapshot().files(["stats"])["stats"].to_pylist()]


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_are_the_same_before_and_after_a_checkpoint_of_structs(kind):
    builder = table(
        kind, STATS, {"numRecords": 0}, None, {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {}, "nullCount": {}}
    )
    before = builder.log().snapshot()
    counts = before.statistics({}).num_records.to_pylist()
    builder.log().checkpoint()
    after = builder.log().snapshot()
    assert after.segment.checkpoint is not None
    shown = texts(builder)
    assert [text and text["numRecords"] for text in shown] == counts == after.statistics({}).num_records.to_pylist()
    assert shown[0] == STATS
    assert shown[2] is None
    assert after.files().schema == before.files().schema


MINIMUMS = st.fixed_dictionaries({}, optional={"id": st.integers(-(2**63), 2**63 - 1), "s": st.text('a\u00fc"\\\n', max_size=5)})
COUNTS = st.fixed_dictionaries({}, optional={"id": st.integers(0, 9), "b": st.integers(0, 9)})
DRAWN = st.fixed_dictionaries({"numRecords": st.integers(0, 2**40)}, optional={"minValues": MINIMUMS, "nullCount": COUNTS})


@SLOW
@given(st.lists(st.none() | DRAWN, max_size=5), st.sets(st.integers(0, 9), max_size=2))
def test_every_file_keeps_what_is_known_of_it(stats, later):
    builder = table("classic", *stats)
    builder.log().checkpoint()
    builder.commit(
        *(add(f"g{number}", stats={"numRecords": number}, partitionValues={"p": "1"}) for number in dict.fromkeys(later))
    )
    shown = texts(builder)
    expected = [*stats, *({"numRecords": number} for number in dict.fromkeys(later))]
    assert [pruned(text) for text in shown] == [pruned(each) for each in expected]


def pruned(value):
    """Without members that say nothing; a writer may leave them out."""
    if not isinstance(value, dict):
        return value
    kept = {name: pruned(each) for name, each in value.items()}
    return {name: each for name, each in kept.items() if each not in (None, {})} or None


@pytest.mark.parametrize("unit", ["INT96", "us", "ms"])
def test_timestamps_of_any_writer_are_shown_as_their_type_says(unit):
    builder = table("classic", {"numRecords": 7})
    builder.log().checkpoint()
    (path,) = [each.path for each in builder.store.list_from("_delta_log/") if each.name.endswith("checkpoint.parquet")]
    rows = pq.read_table(io.BytesIO(builder.store.read(path))).to_pylist()
    moment = dt.datetime(1600, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001  (each column's type says what it is)
    kind = pa.timestamp("ms" if unit == "ms" else "us")
    bounds = pa.struct([("t", kind), ("n", kind)])
    adds = [row["add"] and {"path": row["add"]["path"], "size": 1, "stats_parsed": PARSED(moment)} for row in rows]
    stats = pa.struct([("numRecords", pa.int64()), ("minValues", bounds)])
    column = pa.array(adds, pa.struct([("path", pa.string()), ("size", pa.int64()), ("stats_parsed", stats)]))
    heads = pq.read_table(io.BytesIO(builder.store.read(path)), columns=["protocol", "metaData"])
    out = io.BytesIO()
    pq.write_table(heads.append_column("add", column), out, use_deprecated_int96_timestamps=unit == "INT96")
    builder.write(path, out.getvalue())
    (shown,) = texts(builder)
    expected = {"t": "1600-01-02T03:04:05.678Z", "n": "1600-01-02T03:04:05.678"}
    assert shown == {"numRecords": 7, "minValues": expected}


def PARSED(moment):  # noqa: N802
    return {"numRecords": 7, "minValues": {"t": moment, "n": moment}}


BAD = b"\xff\xfe-MARK"
TEXTS = {
    "path": {"path": "MARKER-"},
    "partition value": {"partitionValues": {"p": "MARKER-"}},
    "partition key": {"partitionValues": {"MARKER-": "1"}},
    "stats": {"stats": "MARKER-"},
    "tag": {"tags": {"t": "MARKER-"}},
    "vector": {
        "deletionVector": {"storageType": "u", "pathOrInlineDv": "MARKER-", "offset": 1, "sizeInBytes": 1, "cardinality": 1}
    },
    "provider": {"clusteringProvider": "MARKER-"},
}
READS = {
    "files": lambda snapshot: snapshot.files().to_pylist(),
    "partitions": lambda snapshot: snapshot.partitions(),
    "partition_texts": lambda snapshot: {name: each.to_pylist() for name, each in snapshot.partition_texts().items()},
    "num_files": lambda snapshot: snapshot.num_files,
    "statistics": lambda snapshot: snapshot.statistics({("id",): "long"}),
    "may_match": lambda snapshot: snapshot.may_match([("p", "=", "1")]),
    "tombstones": lambda snapshot: snapshot.tombstones().to_pylist(),
    "checkpoint": lambda snapshot: list(snapshot.source.state().batches(10)),
}


def damaged(kind, fields):
    """A table whose checkpoint holds bytes that are not UTF-8 at one place; the commits hold text."""
    builder = TableBuilder(store=MemoryStore()).create({"id": "long", "p": "string"}, partition_by=["p"])
    values = {"partitionValues": {"p": "1"}, **fields}
    builder.commit(add("a", **values), add("b", partitionValues={"p": "2"}))
    builder.commit({"remove": {"path": "MARKER-gone", "deletionTimestamp": 9_999_999_999_999}})
    builder.checkpoint(kind)
    marked = 0
    for folder in ("_delta_log/", "_delta_log/_sidecars/"):
        for each in list(builder.store.list_from(folder)):
            if each.name.endswith(".parquet"):
                table = pq.read_table(io.BytesIO(builder.store.read(each.path)))
                out = io.BytesIO()
                pq.write_table(table, out, compression="none", use_dictionary=False, write_statistics=False)
                data = out.getvalue()
                marked += data.count(b"MARKER-")
                builder.write(each.path, data.replace(b"MARKER-", b"\xff\xfe\xfdKER-"))
    assert marked
    return builder


@in_one_test("kind", ["classic", "multipart", "v2-parquet", "v2-json"])
@in_one_test("fields", TEXTS.values())
def test_bytes_that_are_not_text_are_passed_over_with_their_checkpoint(kind, fields):
    if "path" in fields:
        fields = {}  # of the removed file
    builder = damaged(kind, fields)
    snapshot = builder.log().snapshot()
    for read in READS.values():
        try:
            read(snapshot)
        except CorruptLogError as error:
            assert error.file  # noqa: PT017
    assert sorted(builder.log().snapshot().files()["path"].to_pylist()) == ["a", "b"]
    assert builder.log().snapshot().files()["path"].validate(full=True) is None


@pytest.mark.parametrize("fields", TEXTS.values(), ids=TEXTS)
def test_bytes_that_are_not_text_are_a_typed_error_where_the_commits_are_gone(fields):
    builder = damaged("classic", {} if "path" in fields else fields)
    for version in range(3):
        builder.delete(commit_path(version))
    for name, read in READS.items():
        snapshot = builder.log().snapshot()
        try:
            read(snapshot)
        except CorruptLogError as error:
            assert "UTF8" in str(error), name  # noqa: PT017
            assert error.file.endswith("checkpoint.parquet"), name  # noqa: PT017
