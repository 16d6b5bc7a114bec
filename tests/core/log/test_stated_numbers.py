# SPDX-License-Identifier: Apache-2.0
"""Numbers that a log states: work goes by what the log holds, however great the number is."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import CorruptLogError, DeletionVectorError, DeltaError, VersionGapError
from bayou.log.checksum.verify import verify_checksum
from bayou.log.rows.row_tracking import high_water_mark
from bayou.log.segment.listing import list_log, sort_listing
from bayou.log.segment.segment import extend_segment
from bayou.log.snapshot.clustering import physical_clustering
from bayou.protocol import properties
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.protocol.actions.file_names import data_prefix
from bayou.protocol.columns.constraints import constraints_of
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor, decode_inline, read_from_file
from bayou.protocol.evolution import mapping_removal
from bayou.protocol.features.type_widening import unsupported_changes
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.protocol.stats.wide_stats import num_records
from bayou.protocol.types.partition_values import decimal_type, parse
from bayou.protocol.types.schema import parse_schema
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

HUGE = [2 * 10**11, 10**18, 2**63 - 1, 10**20 - 1]
HEADROOM_BYTES = 4 << 30


@pytest.fixture(autouse=True)
def bounded_memory():
    """A test that takes memory in proportion to a number fails, before the machine does."""
    resource = pytest.importorskip("resource", reason="only POSIX limits the memory of a process")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + HEADROOM_BYTES, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def table(commits=3):
    builder = TableBuilder(store=MemoryStore()).create()
    for number in range(1, commits):
        builder.commit(add(f"f{number}"))
    return builder


@pytest.mark.parametrize("version", HUGE)
def test_a_commit_far_ahead_is_a_gap(version):
    builder = table().write(file_names.commit_path(version), b"")
    with pytest.raises(VersionGapError) as caught:
        builder.log().snapshot()
    assert caught.value.missing == tuple(range(3, 103))
    assert f"3, 4, 5, 6, 7 and {version - 3 - 5} more" in caught.value.message
    assert builder.log().snapshot(2).version == 2


@pytest.mark.parametrize("version", HUGE)
def test_a_commit_far_ahead_is_a_gap_for_a_log_that_knows_the_table(version):
    builder = table()
    log = builder.log()
    known = log.snapshot()
    builder.write(file_names.commit_path(version), b"")
    listing = sort_listing(list_log(builder.store, file_names.version_prefix(known.version)))
    assert extend_segment(known.segment, listing) is None
    with pytest.raises(VersionGapError):
        log.update()


FILE_NAMES = [
    "{0:020d}.checkpoint.parquet",
    "{0:020d}.checkpoint.0000000001.0000000002.parquet",
    "{0:020d}.checkpoint.6ba7b810-9dad-11d1-80b4-00c04fd430c8.json",
    "00000000000000000001.{0:020d}.compacted.json",
    "{0:020d}.00000000000000000001.compacted.json",
    "{0:020d}.crc",
    "00000000000000000001.checkpoint.0000000001.9999999999.parquet",
    "00000000000000000001.checkpoint.9999999999.9999999999.parquet",
    "00000000000000000001.checkpoint.0000000000.0000000000.parquet",
    "00000000000000000001.checkpoint.0000000002.0000000001.parquet",
]


@in_one_test("name", FILE_NAMES)
@in_one_test("content", [b"", b"x"])
@in_one_test("version", HUGE)
def test_any_other_file_name_costs_nothing(name, content, version):
    builder = table().write(f"_delta_log/{name.format(version)}", content)
    is_latest = "checkpoint." in name and name.startswith("{") and content and ".0000" not in name
    if is_latest:
        with pytest.raises(CorruptLogError):
            builder.log().snapshot()
    assert builder.log().snapshot(2 if is_latest else None).num_files == 2


@pytest.mark.parametrize("version", HUGE)
def test_a_gap_may_lie_between_any_two_commits(version):
    builder = table().write(file_names.commit_path(version), b"").write(file_names.commit_path(version - 1), b"")
    with pytest.raises(VersionGapError):
        builder.log().snapshot()
    with pytest.raises(DeltaError):
        builder.log().snapshot(version - 2)
    with pytest.raises(DeltaError):
        builder.log().changes(0, version)
    assert [entry.version for entry in builder.log().history()] == [2, 1, 0]


@pytest.mark.parametrize("number", [*HUGE, 10**30, -1, 1.5, "9" * 5000])
def test_the_hint_at_a_checkpoint_is_only_a_hint(number):
    document = '{"version":%s,"size":%s,"parts":%s}' % ((number,) * 3)
    builder = table().checkpoint("classic", version=1).write(file_names.LAST_CHECKPOINT, document)
    assert builder.log().snapshot().segment.checkpoint.version == 1


@pytest.mark.parametrize("number", HUGE)
def test_the_numbers_of_a_checksum_file_cost_nothing(number):
    names = ("numFiles", "tableSizeBytes", "inCommitTimestampOpt", "numDeletedRecordsOpt", "numDeletionVectorsOpt")
    for histogram in ({}, {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [number]}}):
        builder = table().write(file_names.checksum_path(2), json.dumps(dict.fromkeys(names, number) | histogram))
        snapshot = builder.log().snapshot()
        assert snapshot.files().num_rows == 2
        with contextlib.suppress(CorruptLogError):
            verify_checksum(snapshot)


@in_one_test("key", sorted(properties.PROPERTIES))
@in_one_test("text", ["9" * 12, "9" * 400, "9" * 5000, "-" + "9" * 12, f"interval {'9' * 400} weeks", "9" * 9 + " days"])
def test_every_property_may_have_any_number(key, text):
    builder = TableBuilder(store=MemoryStore()).create(configuration={key: text})
    found = properties.PROPERTIES[key].read({key: text})
    assert found is None or isinstance(found, (bool, int, str, tuple))
    snapshot = builder.log().snapshot()
    assert snapshot.timestamp >= 0
    data_prefix({"delta.randomizeFilePrefixes": "true", key: text})
    mapping_removal.why_files_need_rewriting(
        Metadata("x", snapshot.metadata.schema_string, configuration={"delta.columnMapping.mode": "name", key: text})
    )


def test_ids_without_a_gap_need_no_rewriting():
    def why(ids, greatest):
        fields = [
            {
                "name": f"c{number}",
                "type": "long",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c{number}"},
            }
            for number in ids
        ]
        schema = json.dumps({"type": "struct", "fields": fields})
        configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(greatest)}
        return mapping_removal.why_files_need_rewriting(Metadata("x", schema, configuration=configuration))

    assert why([2, 1, 3], 3) == ""
    assert all("dropped" in why(ids, greatest) for ids, greatest in [([1, 3], 3), ([1, 2], 3), ([2, 3], 2), ([1, 2], 10**12)])


@pytest.mark.parametrize("number", [0, 5, 2**31 - 1, 2**40, -1, -(2**40)])
def test_the_numbers_of_a_deletion_vector_cost_nothing(number):
    inline = DeletionVectorDescriptor("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, number, number)
    with pytest.raises(DeletionVectorError):
        decode_inline(inline)
    with pytest.raises(DeletionVectorError):
        read_from_file(b"\1" + bytes(20), DeletionVectorDescriptor("u", "x", number or 30, number, number))


@pytest.mark.parametrize("text", ["decimal(999999999,0)", "decimal(5,-999999999)", f"decimal({'9' * 5000},2)"])
def test_a_decimal_nobody_can_compute_with_is_none(text):
    assert decimal_type(text) is None
    changes = [{"fromType": "integer", "toType": text}]
    field = {"name": "a", "type": text, "nullable": True, "metadata": {"delta.typeChanges": changes}}
    schema = parse_schema(json.dumps({"type": "struct", "fields": [field]}))
    assert len(list(unsupported_changes(schema, Protocol(3, 7, ("typeWidening",), ("typeWidening",))))) == 1


@in_one_test("text", ["1e999999999", "1e-999999999", "9" * 5000, "1." + "9" * 5000, "0." + "0" * 5000 + "1e5000"])
@in_one_test("kind", ["long", "byte", "double", "float", "decimal(38,10)", "date", "timestamp", "boolean"])
def test_a_partition_value_may_have_any_number_of_digits(kind, text):
    parse(text, kind)


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000])
def test_a_count_of_rows_with_any_number_of_digits_is_read_or_unknown(digits):
    stats = f'{{"numRecords":{digits}}}'
    builder = table().commit(add("big", stats=stats))
    snapshot = builder.log().snapshot()
    assert snapshot.statistics({}).num_records.null_count == 3
    assert num_records(stats) is None


LONG_ATOMS = ["9", "1", " ", "a", "-", ".", "e", ",", "`", "(", "interval ", "decimal(", "0x", "s ", "day "]


@given(st.lists(st.sampled_from(LONG_ATOMS), min_size=1, max_size=3), st.sampled_from(["", "!", "x", ")", ".", " days"]))
def test_texts_of_a_log_are_read_in_linear_time(atoms, end):
    """Quadratic time would be minutes for a text of this length."""
    text = "".join(atoms) * (60_000 // len("".join(atoms))) + end
    for kind in ("long", "double", "decimal(10,2)", "date", "timestamp", "string"):
        parse(text, kind)
    decimal_type(text)
    for read in (properties.interval_ms, parse_column_list):
        try:
            read(text)
        except ValueError:
            continue


ACTIONS = {
    "add": {"path": "n", "size": 1, "modificationTime": 1, "baseRowId": 1, "defaultRowCommitVersion": 1},
    "remove": {"path": "f1", "deletionTimestamp": 1, "size": 1, "baseRowId": 1, "defaultRowCommitVersion": 1},
    "txn": {"appId": "x", "version": 1, "lastUpdated": 1},
    "commitInfo": {"timestamp": 1, "inCommitTimestamp": 1, "readVersion": 1},
    "metaData": {"id": "t", "createdTime": 1},
}
# Whether commits have timestamps of their own matters to the actions that say so.
NUMBERS = [
    (kind, name, ict)
    for kind, fields in ACTIONS.items()
    for name, value in fields.items()
    for ict in (("true", "false") if kind in {"commitInfo", "metaData"} else ("false",))
    if value == 1
]


@in_one_test(("kind", "name", "ict"), NUMBERS)
@in_one_test("number", [2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, -1, -(2**63), -(10**30)])
def test_a_number_of_an_action_is_read_or_a_typed_error(kind, name, number, ict):
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.enableInCommitTimestamps": ict}, actions=[add("f1")])
    actions = {**ACTIONS, kind: {**ACTIONS[kind], name: number}}
    actions["metaData"] = {**actions["metaData"], "configuration": {"delta.enableInCommitTimestamps": ict}}
    builder.write(file_names.commit_path(1), "\n".join(json.dumps({each: value}) for each, value in actions.items()))
    log = builder.log()
    with contextlib.suppress(DeltaError):
        log.snapshot().files()
        log.history()
        log.snapshot().tombstones()
        log.checkpoint()
        assert builder.log().snapshot().num_files == 1
        log.clean_up(dry_run=True)


DEEP = "[" * 100_000


def test_json_of_any_depth_inside_of_an_action_is_read_or_a_typed_error():
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {"delta.invariants": DEEP}}
    domains = {"domainMetadata": {"domain": "delta.rowTracking", "configuration": DEEP, "removed": False}}
    clusters = {"domainMetadata": {"domain": "delta.clustering", "configuration": DEEP, "removed": False}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    builder = table().commit(add("x", stats=DEEP, deletionVector=vector), domains, clusters)
    builder.commit({"metaData": {"id": "t", "schemaString": schema}})
    log = builder.log()
    assert log.snapshot().files()["stats"].to_pylist().count(DEEP) == 1
    assert log.snapshot().statistics({("a",): "long"}).num_records.null_count
    assert physical_clustering(log.snapshot()) is None
    for read in (
        lambda: high_water_mark(log.snapshot().domain_metadata),
        lambda: constraints_of(log.snapshot().metadata, log.snapshot().schema),
    ):
        with pytest.raises(DeltaError):
            read()
    marked = AddFile("x", {}, 1, 1, stats=DEEP, deletion_vector=DeletionVectorDescriptor.from_json(vector))
    with pytest.raises(DeltaError):
        log.transaction("WRITE").commit([marked])
