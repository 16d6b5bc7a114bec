# SPDX-License-Identifier: Apache-2.0
"""Arguments of other types: each is refused by an error that says what is wanted, and nothing is written."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import SLOW

import bayou
from bayou.errors import DeltaError, InvalidCommitError, InvalidOptionError, InvalidSchemaError, TimeTravelError
from bayou.log.changes.range import ChangeBounds
from bayou.protocol.actions.actions import AddCDCFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, schema_to_json
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

SCHEMA = StructType((StructField("id", "long"), StructField("d", "decimal(38,18)"), StructField("day", "string")))
REFUSED = (InvalidOptionError, InvalidCommitError, TimeTravelError)
LONE = "\ud800"


class Unshown:
    """A value that cannot be shown."""

    def __repr__(self):
        raise RuntimeError


OBJECTS = [Unshown(), b"x", 1.5, Decimal(1), dt.datetime(2024, 1, 1), Path("f"), float("nan"), {1, 2}, lambda: 1]  # noqa: DTZ001
NO_TEXT = [5, True, ["x"], {"x": "y"}, ("x",), LONE, f"a{LONE}b", *OBJECTS]
NO_TEXTS = ["day", b"day", 5, True, {"day": 1}, [5], [None], [b"day"], [LONE], [Path("f")], [["day"]], *OBJECTS[:5]]
NO_MAP = ["x", 5, True, [("a", "b")], {5: "x"}, {None: "x"}, {b"a": "x"}, {LONE: "x"}, *OBJECTS]
NO_TEXT_MAP = [*NO_MAP, {"x": 5}, {"x": True}, {"x": None}, {"x": ["y"]}, {"x": LONE}, {"delta.appendOnly": True}, {"x": b"y"}]
NO_INTEGER = ["0", "x", b"0", 1.5, 1.0, True, [1], {"a": 1}, Decimal(1), dt.date(2024, 1, 1), *OBJECTS]
NO_TIME = [5, True, 1.5, b"2024", ["2024"], "x", "", LONE, *OBJECTS[:4], Path("2024")]
NO_FLAG = ["false", 0, 1, "x", [], *OBJECTS]
NO_WHERE = [
    {"id": 1},
    5,
    "id = 1",
    [5],
    [("id", "=")],
    [("id", 5, 5)],
    [(5, "=", 5)],
    [("id", "=", "x")],
    [("d", "=", 0.5)],
    *OBJECTS,
]

CALLS = {
    "snapshot(version)": (lambda log, value: log.snapshot(value), NO_INTEGER),
    "verify_checksum": (lambda log, value: log.verify_checksum(value), NO_INTEGER),
    "snapshot(timestamp)": (lambda log, value: log.snapshot(timestamp=value), NO_TIME),
    "snapshot(time_zone)": (lambda log, value: log.snapshot(timestamp="2024-01-01", time_zone=value), NO_TEXT),
    "version_at": (lambda log, value: log.version_at(value), [None, *NO_TIME]),
    "history": (lambda log, value: log.history(value), NO_INTEGER),
    "changes(start)": (lambda log, value: log.changes(value), [None, *NO_INTEGER]),
    "changes(end)": (lambda log, value: log.changes(0, value), NO_INTEGER),
    "change_feed": (lambda log, value: log.change_feed(value), [None, (0, 1), 5, "0", *OBJECTS]),
    "change_range": (lambda log, value: log.change_range(ChangeBounds(starting_version=value)), NO_INTEGER),
    "change_range(end)": (lambda log, value: log.change_range(ChangeBounds(0, None, value)), NO_INTEGER),
    "change_range(time)": (lambda log, value: log.change_range(ChangeBounds(starting_timestamp=value)), NO_TIME),
    "transaction(operation)": (lambda log, value: log.transaction(value), [None, *NO_TEXT]),
    "transaction(parameters)": (lambda log, value: log.transaction("W", value), NO_MAP),
    "transaction(parameter)": (
        lambda log, value: log.transaction("W", {"x": value}),
        [{1, 2}, b"x", Decimal(1), float("nan"), [float("inf")], {"a": object()}, LONE, [LONE], Path("f")],
    ),
    "transaction(engine_info)": (lambda log, value: log.transaction(engine_info=value), [None, *NO_TEXT]),
    "transaction(user_metadata)": (lambda log, value: log.transaction(user_metadata=value), NO_TEXT),
    "transaction(txn)": (
        lambda log, value: log.transaction(txn=value),
        [5, "ab", ("a",), ("a", "1"), ("a", 1.0), ("a", True), ("", 1), (LONE, 1), (5, 1), ("a", -1), ("a", 1 << 63), ("a", 1, 2)],
    ),
    "transaction(max_attempts)": (lambda log, value: log.transaction(max_attempts=value), [None, 0, -1, *NO_INTEGER]),
    "transaction(clock)": (lambda log, value: log.transaction(clock=value), [None, 5, "x"]),
    "transaction(snapshot)": (lambda log, value: log.transaction(snapshot=value), [5, "x", {}]),
    "transaction(on_commit)": (lambda log, value: log.transaction(on_commit=value), [5, "x"]),
    "transaction(dropped_features)": (lambda log, value: log.transaction(dropped_features=value), [None, *NO_TEXTS]),
    "describe": (lambda log, value: log.transaction().describe(value), NO_MAP),
    "application_version": (lambda log, value: log.transaction().application_version(value), [None, *NO_TEXT]),
    "append(paths)": (lambda log, value: log.append(value), [None, *NO_TEXTS]),
    "append(partition_values)": (lambda log, value: log.append(["a.parquet"], value), NO_MAP),
    "append(a file's values)": (lambda log, value: log.append(["a.parquet"], {"a.parquet": value}), NO_MAP),
    "append(user_metadata)": (lambda log, value: log.append(["a.parquet"], user_metadata=value), NO_TEXT),
    "checkpoint": (lambda log, value: log.checkpoint(part_size=value), [0, -1, *NO_INTEGER]),
    "compact": (lambda log, value: log.compact(0, value), [None, *NO_INTEGER]),
    "clean_up": (lambda log, value: log.clean_up(dry_run=value), [None, *NO_FLAG]),
    "files(columns)": (lambda log, value: log.snapshot().files(value), NO_TEXTS),
    "files(where)": (lambda log, value: log.snapshot().files(where=value), NO_WHERE),
    "may_match": (lambda log, value: log.snapshot().may_match(value), [None, *NO_WHERE]),
    "statistics": (lambda log, value: log.snapshot().statistics(value), [None, 5, "id", ["id"]]),
    "live_rows": (lambda log, value: log.snapshot().live_rows(value), [None, 5, "0", [0]]),
    "transaction.files": (lambda log, value: log.transaction().files(where=value), NO_WHERE),
    "stage": (lambda log, value: log.transaction().stage(value), [None, 5, {"add": {}}, *OBJECTS]),
    "commit": (lambda log, value: log.transaction().commit([value]), [None, 5, {"add": {}}, *OBJECTS]),
    "commit(actions)": (lambda log, value: log.transaction().commit(value), [5, "x", True]),
    "commit(metrics)": (lambda log, value: log.transaction().commit([AddFile("f", {}, 1, 1)], metrics=value), NO_MAP),
    "commit(metric)": (
        lambda log, value: log.transaction().commit([AddFile("f", {}, 1, 1)], metrics={"x": value}),
        [LONE, [1], {"a": 1}, b"x", Unshown(), object(), dt.date(2024, 1, 1)],
    ),
    "remove_files": (lambda log, value: log.transaction().remove_files(value), [None, 5, ["f"], pa.table({"x": [1]})]),
    "delete_rows": (lambda log, value: log.transaction().delete_rows(value), [None, 5, ["f"], *OBJECTS]),
    "add_files": (lambda log, value: log.transaction().add_files(value), [None, *NO_TEXTS]),
}


def files_of(store):
    return {path: bytes(data) if isinstance(data, bytes) else data for path, data in store._files.items()}


@pytest.fixture(scope="module")
def made():
    store = MemoryStore()
    builder = TableBuilder(store=store)
    builder.log().create(SCHEMA)
    for path in ("a", "b"):
        builder.log().transaction("WRITE").commit([AddFile(path, {}, 1, 1)])
    return builder


@in_one_test("name", CALLS)
def test_a_wrong_argument_is_refused_and_nothing_is_written(made, name):
    call, values = CALLS[name]
    before = files_of(made.store)
    for value in values:
        with pytest.raises(REFUSED) as caught:
            call(made.log(), value)
        assert caught.value.next_step
        assert len(str(caught.value)) < 2_000
        assert files_of(made.store) == before


CREATIONS = {
    "schema": (lambda log, value: log.create(value), [None, 5, b"x", {"id": "long"}, ["id"], "", "x", "5", "[]", '"long"', LONE]),
    "schema(pyarrow)": (lambda log, value: log.create(value), [pa.schema([("id", pa.int64())]), SCHEMA.fields, SCHEMA.fields[0]]),
    "partition_by": (lambda log, value: log.create(SCHEMA, partition_by=value), [None, *NO_TEXTS]),
    "properties": (lambda log, value: log.create(SCHEMA, properties=value), NO_TEXT_MAP),
    "description": (lambda log, value: log.create(SCHEMA, description=value), NO_TEXT),
    "comment": (lambda log, value: log.create(SCHEMA, properties={"comment": value}), [None, *NO_TEXT]),
}
METADATA = [
    {"comment": LONE},
    {LONE: 1},
    {5: "x"},
    {"x": float("nan")},
    {"x": float("inf")},
    {"x": [1, "a"]},
    {"x": [[1]]},
    {"x": [None]},
    {"x": b"y"},
    {"x": Decimal(1)},
    {"x": {"y": {1, 2}}},
    {"x": 1 << 63},
    {"x": dt.date(2024, 1, 1)},
    ["x"],
    None,
    "x",
    5,
]
TYPES = [
    None,
    5,
    b"long",
    "",
    "nonsense",
    LONE,
    ("long",),
    StructField("x", "long"),
    StructType(("x",)),
    StructType("x"),
    pa.int64(),
]


def fields_with(part):
    """Fields that have a wrong part at some depth."""
    yield part
    yield StructField("s", StructType((part,)))
    yield StructField("l", ArrayType(StructType((part,))))
    yield StructField("m", MapType("string", StructType((part,))))


@pytest.mark.parametrize("name", CREATIONS)
def test_a_table_is_not_made_with_a_wrong_argument(name):
    call, values = CREATIONS[name]
    for value in values:
        builder = TableBuilder(store=MemoryStore())
        with pytest.raises((InvalidOptionError, InvalidSchemaError)):
            call(builder.log(), value)
        assert files_of(builder.store) == {}


WRONG_FIELDS = [
    *(StructField("c", "long", metadata=each) for each in METADATA),
    *(StructField("c", each) for each in TYPES),
    *(StructField("c", ArrayType(each)) for each in TYPES),
    *(StructField("c", MapType(each, "long")) for each in TYPES),
    *(StructField(each, "long") for each in (None, 5, b"c", LONE)),
    *(StructField("c", "long", each) for each in (None, 1, "false")),
    StructField("c", ArrayType("long", 1)),
    StructField("c", MapType("long", "long", "false")),
    "c",
    None,
]


@in_one_test("part", WRONG_FIELDS)
def test_a_table_is_not_made_with_a_wrong_part_of_a_schema(part):
    for field in fields_with(part):
        builder = TableBuilder(store=MemoryStore())
        with pytest.raises((InvalidOptionError, InvalidSchemaError)):
            builder.log().create(StructType((StructField("id", "long"), field)))
        assert files_of(builder.store) == {}


FINITE = st.floats(allow_nan=False, allow_infinity=False)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
WORDS = st.text(st.characters(exclude_categories=["Cs"]))
ARRAYS = st.one_of(*map(st.lists, (FINITE, LONGS, WORDS, st.booleans())))
KEPT = st.recursive(st.one_of(st.none(), st.booleans(), LONGS, FINITE, WORDS, ARRAYS), lambda each: st.dictionaries(WORDS, each))


@SLOW
@given(WORDS, st.dictionaries(WORDS, KEPT, max_size=3), WORDS, WORDS, WORDS)
def test_any_text_is_kept_as_it_is(description, metadata, note, value, application):
    builder = TableBuilder(store=MemoryStore())
    metadata = {f"x{key}": each for key, each in metadata.items()}
    fields = (StructField("id", "long", metadata=metadata),)
    snapshot = builder.log().create(StructType(fields), properties={"key\0": value}, description=description)
    assert snapshot.metadata.description == description
    assert snapshot.properties == {"key\0": value}
    assert snapshot.schema.fields[0].metadata == metadata
    options = {"user_metadata": note, "engine_info": note, "txn": (f"x{application}", 1)}
    builder.log().transaction(f"x{note}", {note: value}, **options).commit([AddFile("f", {}, 1, 1)])
    builder.log().checkpoint()
    entry = builder.log().history(1)[0]
    assert (entry.operation, entry.user_metadata, entry.operation_parameters) == (f"x{note}", note, {note: value})
    again = builder.log().snapshot()
    assert again.metadata == snapshot.metadata
    assert set(again.transactions) == {f"x{application}"}


def test_a_schema_of_lists_and_subclasses_is_kept_as_a_plain_one():
    class Name(str):
        __slots__ = ()

    builder = TableBuilder(store=MemoryStore())
    schema = StructType([StructField(Name("id"), Name("long"), metadata={Name("x"): (1, 2)})])
    found = builder.log().create(schema, partition_by=[], description=Name("y")).schema
    assert found == StructType((StructField("id", "long", metadata={"x": [1, 2]}),))
    assert {type(found.fields[0].name), type(found.fields[0].type)} == {str}


JSON = schema_to_json(SCHEMA)
ACTIONS = [
    *(
        Metadata("i", "{}", **each)
        for each in ({"name": 5}, {"description": 5}, {"partition_columns": "day"}, {"created_time": "x"})
    ),
    *(
        Metadata("i", schema_to_json(SCHEMA), configuration=each)
        for each in ({"x": 5}, {5: "x"}, {"x": None}, "x", None, [("a", "b")])
    ),
    *(Metadata(each, schema_to_json(SCHEMA)) for each in (None, 5, b"x")),
    *(Metadata("i", each) for each in (None, 5, SCHEMA)),
    Metadata("i", JSON, format_provider=5),
    Metadata("i", JSON, format_options={"x": 5}),
    *(Protocol(*each) for each in (("1", 2), (1, 2.0), (True, 2), (1, None), (3, 7, "x", ["y"]), (3, 7, [5], []))),
    *(AddFile(each, {}, 1, 1) for each in (None, 5, Path("f"), b"f")),
    *(AddFile("f", each, 1, 1) for each in (None, "x", {"day": 5}, {5: "x"}, {"day": dt.date(2024, 1, 1)}, [("day", "x")])),
    *(AddFile("f", {}, each, 1) for each in (None, "1", [1])),
    *(AddFile("f", {}, 1, 1, stats=each) for each in (5, {"numRecords": 1})),
    *(AddFile("f", {}, 1, 1, tags=each) for each in ("x", {"a": 1}, {1: "a"})),
    *(AddFile("f", {}, 1, 1, data_change=each) for each in (None, 1, "true")),
    *(AddFile("f", {}, 1, 1, deletion_vector=each) for each in ("x", {"storageType": "u"})),
    AddFile("f", {}, 1, 1, deletion_vector=DeletionVectorDescriptor(5, "x", 1, 1, 1)),
    AddFile("f", {}, 1, 1, deletion_vector=DeletionVectorDescriptor("u", "x", 1, None, 1)),
    AddFile("f", {}, 1, 1, base_row_id="x"),
    AddFile("f", {}, 1, 1, clustering_provider=5),
    RemoveFile(5),
    RemoveFile("a", extended_file_metadata="x"),
    RemoveFile("a", partition_values={"x": 5}),
    AddCDCFile("f", {"x": 5}, 1),
    AddCDCFile(None, {}, 1),
    SetTransaction(5, 1),
    SetTransaction("a", "1"),
    SetTransaction("a", None),
    DomainMetadata(5, "x"),
    DomainMetadata("d", {"x": 1}),
    DomainMetadata("d", None),
    DomainMetadata("d", "x", removed="no"),
    SetTransaction(LONE, 1),
    DomainMetadata("d", LONE),
    AddFile("f", {"day": LONE}, 1, 1),
]


@in_one_test("action", ACTIONS)
def test_an_action_with_a_field_of_another_type_is_not_committed(made, action):
    before = files_of(made.store)
    with pytest.raises((InvalidCommitError, InvalidSchemaError)):
        made.log().transaction().commit([action])
    assert files_of(made.store) == before


@pytest.mark.parametrize("value", [5, True, "a=b", [("a", "b")], {"key": 5}, {"key": None}, {5: "x"}, {LONE: "x"}])
def test_storage_options_are_strings_and_never_shown(tmp_path, value):
    with pytest.raises(InvalidOptionError):
        bayou.open(tmp_path, value)


def test_a_secret_among_the_storage_options_is_not_shown(tmp_path):
    with pytest.raises(InvalidOptionError) as caught:
        bayou.open(tmp_path, {"key": ["hunter2"]})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.facts)


@pytest.mark.parametrize("listener", [None, 5, "x", ["y"]])
def test_a_listener_is_a_function(listener):
    with pytest.raises(InvalidOptionError, match="a function"):
        bayou.add_listener(listener)


@pytest.mark.parametrize(("scheme", "factory"), [(None, print), (5, print), (b"x", print), ("abc", None), ("abc", 5), ("abc", "x")])
def test_a_store_is_registered_for_a_scheme_by_a_function(scheme, factory):
    with pytest.raises(InvalidOptionError):
        bayou.storage.register(scheme, factory)


@pytest.mark.parametrize("number", [1 << 31, 1 << 63, 10**30])
def test_integers_of_any_size_are_integers(made, number):
    log = made.log()
    assert len(log.history(number)) == 3
    for call in (log.snapshot, log.changes, lambda version: log.snapshot(-version), lambda version: log.changes(0, version)):
        with pytest.raises(TimeTravelError, match="0 to 2 are available"):
            call(number)


@pytest.mark.parametrize("path", ["", ".", "a\0b", "\0", "../a", "/a", "a/../b", "s3://b/a", "_a", "x" * 300])
def test_what_is_no_path_of_a_file_is_refused(tmp_path, path):
    log = bayou.open(tmp_path)
    log.create(SCHEMA)
    with pytest.raises(DeltaError):
        log.append([path])
    assert log.version() == 0


def test_integers_of_numpy_are_integers(made):
    numpy = pytest.importorskip("numpy", reason="bayou does not need NumPy")
    log = made.log()
    assert log.snapshot(numpy.int64(1)).version == 1
    assert len(log.history(numpy.int32(2))) == 2
    assert len(log.changes(numpy.int64(0), numpy.int64(1))) == 2


def test_the_decimal_of_a_filter_is_exact():
    low, high = "12345678901234567890.123456789012345678", "12345678901234567890.123456789012345679"
    builder = TableBuilder(store=MemoryStore())
    builder.log().create(SCHEMA, partition_by=["d"])
    builder.log().transaction("WRITE").commit([AddFile(each, {"d": each}, 1, 1) for each in (low, high)])
    snapshot = builder.log().snapshot()
    for wanted in (low, high):
        for value in (wanted, Decimal(wanted)):
            assert snapshot.files(["path"], where=[("d", "=", value)])["path"].to_pylist() == [wanted]
    for value in (12345678901234567890.5, 0.5, 1.0):
        with pytest.raises(InvalidOptionError) as caught:
            snapshot.files(where=[("d", ">", value)])
        assert "Decimal" in caught.value.next_step


def test_files_that_are_named_wrongly_leave_a_table_that_can_be_read(tmp_path):
    log = bayou.open(tmp_path / "t")
    log.create(StructType((StructField("id", "long"),)))
    pq.write_table(pa.table({"id": [1]}), tmp_path / "t" / "f.parquet")
    for paths in ([Path("f.parquet")], "f.parquet", b"f.parquet", [b"f.parquet"], [None]):
        with pytest.raises(InvalidOptionError, match="string"):
            log.append(paths)
    assert log.append(["f.parquet"]).version == 1
    assert json.loads(log.snapshot().files()["stats"][0].as_py())["numRecords"] == 1
