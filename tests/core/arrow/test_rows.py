# SPDX-License-Identifier: Apache-2.0
"""Rows of a table, read without Spark: what a file's columns become, and what is refused by name."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

import pyarrow as pa
import pytest
from tests.core.arrow.tables import built, mapped, parquet, snapshot, without_rows

from bayou import errors
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_file
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

UTC = dt.timezone.utc


def schema(**types):
    return StructType(tuple(StructField(name, kind) for name, kind in types.items()))


def values(found, name):
    return found.to_arrow()[name].to_pylist()


def test_rows_of_all_files_come_in_the_order_of_the_files():
    table = snapshot({"id": "long"}, [pa.table({"id": [1, 2]}), pa.table({"id": [3]})]).to_arrow()
    assert table.schema == pa.schema([("id", pa.int64())])
    assert table["id"].to_pylist() == [1, 2, 3]


def test_a_table_on_the_local_disk_reads_like_one_in_memory(tmp_path):
    given = [(pa.table({"id": [1, 2, 3]}), without_rows(1))]
    assert values(snapshot({"id": "long"}, given, root=tmp_path / "t"), "id") == values(snapshot({"id": "long"}, given), "id")


def test_a_table_without_files_has_its_columns():
    table = snapshot({"id": "long", "day": "date"}, [], partition_by=["day"]).to_arrow()
    assert (table.num_rows, table.schema) == (0, pa.schema([("id", pa.int64()), ("day", pa.date32())]))


def test_columns_come_in_the_order_that_is_asked_for_in_any_case():
    found = snapshot({"a": "long", "b": "string"}, [pa.table({"a": [1], "b": ["x"]})])
    assert found.to_arrow(columns=["B", "a"]).to_pydict() == {"b": ["x"], "a": [1]}


def test_no_column_still_has_rows():
    found = snapshot({"a": "long"}, [(pa.table({"a": [1, 2, 3]}), without_rows(0))])
    assert found.to_arrow(columns=[]).num_rows == 2
    assert found.to_arrow(columns=[], where=[("a", ">", 2)]).num_rows == 1


@pytest.mark.parametrize("columns", [["nothing"], ["a", "A"], ["s.x"]])
def test_a_column_that_is_not_there_or_named_twice_is_refused(columns):
    found = snapshot(schema(a="long", s=schema(x="long")), [])
    with pytest.raises(errors.InvalidOptionError, match=r"nothing|twice|s\.x"):
        found.to_arrow(columns)


PARTITIONS = {
    "byte": ("-3", -3),
    "short": ("300", 300),
    "integer": ("70000", 70000),
    "long": ("5000000000", 5_000_000_000),
    "float": ("1.5", 1.5),
    "double": ("NaN", pytest.approx(float("nan"), nan_ok=True)),
    "boolean": ("true", True),
    "decimal(10,2)": ("1.50", Decimal("1.50")),
    "string": ("a/b c", "a/b c"),
    "binary": ("\u0001\u0002", b"\x01\x02"),
    "date": ("2024-02-29", dt.date(2024, 2, 29)),
    "timestamp": ("2024-01-02T03:04:05.678901Z", dt.datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)),
    "timestamp_ntz": ("2024-01-02 03:04:05", dt.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partition_values_are_typed_and_an_empty_string_is_null(kind):
    text, value = PARTITIONS[kind]
    rows = pa.table({"id": [1]})
    files = [(rows, {"partitionValues": {"p": each}}) for each in (text, None, "")]
    assert values(snapshot({"id": "long", "p": kind}, files, partition_by=["p"]), "p") == [value, None, None]


def test_the_log_decides_what_a_partition_column_holds():
    file = (pa.table({"id": [1], "p": [7]}), {"partitionValues": {"p": "8"}})
    assert snapshot({"id": "long", "p": "long"}, [file], partition_by=["p"]).to_arrow().to_pylist() == [{"id": 1, "p": 8}]


@pytest.mark.parametrize("deleted", [(), (0,), (69_999,), tuple(range(0, 70_000, 7)), tuple(range(70_000))])
def test_rows_of_a_deletion_vector_are_left_out_in_any_row_group(deleted):
    rows = pa.table({"id": range(70_000)})
    found = snapshot({"id": "long"}, [(rows, without_rows(*deleted))], row_group_size=9_000)
    assert values(found, "id") == sorted(set(range(70_000)) - set(deleted))


def test_rows_of_a_deletion_vector_in_a_file_are_left_out():
    data, descriptors = encode_file([[0, 2], [1]], UUID(int=7))
    rows = (pa.table({"id": [1, 2, 3]}), pa.table({"id": [4, 5]}))
    files = [(each, {"deletionVector": vector.to_json()}) for each, vector in zip(rows, descriptors, strict=True)]
    made = built({"id": "long"}, files).write(descriptors[0].relative_path, data)
    assert values(made.log().snapshot(), "id") == [2, 4]
    made.delete(descriptors[0].relative_path)
    with pytest.raises(errors.DeletionVectorError, match="deletion_vector"):
        made.log().snapshot().to_arrow()


def test_a_table_of_which_only_a_checkpoint_is_left_is_read():
    made = built({"id": "long"}, [(pa.table({"id": [1, 2]}), without_rows(1))])
    made.checkpoint()
    for version in range(2):
        made.delete(f"_delta_log/{version:020}.json")
    assert values(made.log().snapshot(), "id") == [1]


def test_columns_with_dots_are_not_fields_of_structs():
    columns = StructType((StructField("a.b", "long"), StructField("a", schema(b="long", c="long")), StructField("x `y`", "long")))
    found = snapshot(columns, [pa.table({"a.b": [1, 2], "a": [{"b": 10, "c": 3}, None], "x `y`": [5, 6]})])
    assert found.to_arrow(["x `y`"], [("`a.b`", "==", 2)]).to_pylist() == [{"x `y`": 6}]
    assert found.to_arrow(["a.b"], [("a.c", "==", 3)]).to_pylist() == [{"a.b": 1}]
    assert found.to_arrow(["a"], [("a.c", "is null")]).to_pylist() == [{"a": None}]


NESTED = pa.struct([pa.field("p-x", pa.int64(), metadata={"PARQUET:field_id": "3"}), pa.field("gone", pa.int64())])
MAPPED = StructType(
    (
        mapped("a", "long", "p-a", 1),
        mapped("s", StructType((mapped("x", "long", "p-x", 3), mapped("y", "string", "p-y", 4))), "p-s", 2),
        mapped("l", ArrayType(StructType((mapped("x", "long", "p-x", 3),))), "p-l", 5),
    )
)
MAPPED_ROWS = pa.table(
    [
        pa.array([1, 2], pa.int64()),
        pa.array([{"p-x": 1, "gone": 2}, None], NESTED),
        pa.array([[{"p-x": 5, "gone": 6}], None], pa.list_(NESTED)),
    ],
    schema=pa.schema(
        [
            pa.field("p-a", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field("p-s", NESTED, metadata={"PARQUET:field_id": "2"}),
            pa.field("p-l", pa.list_(NESTED), metadata={"PARQUET:field_id": "5"}),
        ]
    ),
)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_found_at_every_depth(mode):
    given = MAPPED_ROWS if mode == "name" else MAPPED_ROWS.rename_columns(["q", "r", "t"])
    if mode == "id":
        metadata = [each.with_name(name) for each, name in zip(MAPPED_ROWS.schema, ("q", "r", "t"), strict=True)]
        given = given.cast(pa.schema(metadata))
    found = snapshot(MAPPED, [given], configuration={"delta.columnMapping.mode": mode}, protocol=Protocol(2, 5))
    assert found.to_arrow().to_pylist() == [{"a": 1, "s": {"x": 1, "y": None}, "l": [{"x": 5}]}, {"a": 2, "s": None, "l": None}]
    assert found.to_arrow(["a"], [("s.x", "==", 1)]).to_pylist() == [{"a": 1}]


def test_a_partition_column_is_found_by_its_physical_name():
    columns = StructType((mapped("a", "long", "p-a", 1), mapped("b", "string", "p-b", 2)))
    file = (pa.table({"p-a": [1]}), {"partitionValues": {"p-b": "x"}})
    configuration = {"delta.columnMapping.mode": "name"}
    found = snapshot(columns, [file], configuration=configuration, protocol=Protocol(2, 5), partition_by=["b"])
    assert found.to_arrow(where=[("b", "==", "x")]).to_pylist() == [{"a": 1, "b": "x"}]


WIDENED = [
    ("short", pa.array([-7, None], pa.int8()), [-7, None]),
    ("long", pa.array([1 << 30], pa.int32()), [1 << 30]),
    ("double", pa.array([1 << 30], pa.int32()), [float(1 << 30)]),
    ("double", pa.array([1.5], pa.float32()), [1.5]),
    ("decimal(12,2)", pa.array([5], pa.int32()), [Decimal("5.00")]),
    ("decimal(38,18)", pa.array([1 << 62], pa.int64()), [Decimal(1 << 62)]),
    ("decimal(12,4)", pa.array([Decimal("1.25")], pa.decimal128(5, 2)), [Decimal("1.2500")]),
    ("timestamp_ntz", pa.array([dt.date(2024, 1, 2)]), [dt.datetime(2024, 1, 2)]),  # noqa: DTZ001
    ("string", pa.array([b"x"], pa.binary()), ["x"]),
    ("string", pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"]),
    ("string", pa.array(["x"], pa.large_string()), ["x"]),
    ("long", pa.nulls(2), [None, None]),
    ("timestamp", pa.array([-1_001], pa.timestamp("ns", "UTC")), [dt.datetime(1969, 12, 31, 23, 59, 59, 999_998, UTC)]),
    ("timestamp", pa.array([5], pa.timestamp("ms", "Europe/Berlin")), [dt.datetime(1970, 1, 1, 0, 0, 0, 5_000, UTC)]),
]


@pytest.mark.parametrize(("kind", "found", "expected"), WIDENED, ids=str)
def test_narrower_values_of_a_file_become_those_of_the_table(kind, found, expected):
    assert values(snapshot({"a": kind}, [pa.table({"a": found})]), "a") == expected


def test_values_inside_lists_and_maps_are_widened_and_slices_stay_apart():
    columns = schema(l=ArrayType("long"), m=MapType("string", "double"))
    lists = pa.array([[1], None, [], [2, None]] * 50, pa.list_(pa.int8()))
    maps = pa.array([[("a", 1.5)], [], None, [("b", None), ("c", 2.0)]] * 50, pa.map_(pa.string(), pa.float32()))
    found = snapshot(columns, [(pa.table({"l": lists, "m": maps}), without_rows(0, 5))])
    keep = [number for number in range(200) if number not in {0, 5}]
    batches = list(found.to_batches(batch_size=7))
    assert [each for batch in batches for each in batch["l"].to_pylist()] == [lists[n].as_py() for n in keep]
    assert [each for batch in batches for each in batch["m"].to_pylist()] == [maps[n].as_py() for n in keep]


@pytest.mark.parametrize(
    "stored", [pa.list_(pa.int64(), 2), pa.large_list(pa.int64()), pa.list_(pa.int64())], ids=["fixed", "large", "plain"]
)
def test_each_layout_of_a_list_reads_alike(stored):
    # Older releases of PyArrow write no NULL among lists of a fixed size.
    rows = [[1, 2], [5, 6] if pa.types.is_fixed_size_list(stored) else None, [3, 4]]
    assert values(snapshot(schema(a=ArrayType("long")), [pa.table({"a": pa.array(rows, stored)})]), "a") == rows


MISFITS = [
    ("long", pa.array(["1"])),
    ("string", pa.array([1])),
    ("integer", pa.array([1 << 40])),
    ("float", pa.array([1.5], pa.float64())),
    ("decimal(3,0)", pa.array([5000], pa.int32())),
    ("date", pa.array([5], pa.int32())),
    ("long", pa.array([{"x": 1}])),
]


@pytest.mark.parametrize(("kind", "found"), MISFITS, ids=str)
def test_a_file_with_a_type_that_is_not_read_as_the_tables_is_an_error_with_its_name(kind, found):
    with pytest.raises(errors.SchemaMismatchError, match="'a'") as raised:
        snapshot({"a": kind}, [pa.table({"a": found})]).to_arrow()
    assert raised.value.file.endswith("/f0.parquet")


def test_columns_that_a_file_lacks_are_null_also_inside_structs():
    columns = schema(s=schema(x="long", y=ArrayType("string")), n="string")
    rows = pa.table({"s": pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())]))})
    assert snapshot(columns, [rows]).to_arrow().to_pylist() == [{"s": {"x": 1, "y": None}, "n": None}, {"s": None, "n": None}]


def test_a_struct_of_which_a_file_has_no_field_is_not_null():
    rows = pa.table({"s": pa.array([{"old": 1}, None], pa.struct([("old", pa.int64())]))})
    assert values(snapshot(schema(s=schema(x="long")), [rows]), "s") == [{"x": None}, None]


def test_timestamps_as_int96_keep_years_beyond_those_of_nanoseconds():
    rows = pa.table({"t": pa.array([dt.datetime(3000, 1, 1, 0, 0, 0, 1, UTC)], pa.timestamp("us", "UTC"))})
    found = snapshot({"t": "timestamp"}, [rows], use_deprecated_int96_timestamps=True)
    assert values(found, "t") == [dt.datetime(3000, 1, 1, 0, 0, 0, 1, UTC)]


def test_a_user_defined_type_is_read_as_it_is_stored():
    stored = schema(x="double")
    fields = [{"name": "x", "type": "double", "nullable": True, "metadata": {}}]
    text = json.dumps({"type": "udt", "class": "org.example.Vector", "sqlType": {"type": "struct", "fields": fields}})
    kind = UserDefinedType("org.example.Vector", stored, text)
    rows = pa.table({"v": pa.array([{"x": 1.5}, None], pa.struct([("x", pa.float32())]))})
    assert values(snapshot(StructType((StructField("v", kind),)), [rows]), "v") == [{"x": 1.5}, None]


@pytest.mark.parametrize(
    "kind", ["variant", "interval day to second", "geometry(OGC:CRS84)", ArrayType("variant"), schema(x="variant")]
)
def test_a_type_that_is_not_read_is_refused_before_a_file_is_opened(kind):
    made = TableBuilder(store=MemoryStore()).create(schema(a="long", v=kind)).commit(add("missing.parquet"))
    with pytest.raises(errors.UnsupportedFeatureError, match="'v") as raised:
        made.log().snapshot().to_arrow()
    assert raised.value.error_class == "DELTA_UNSUPPORTED_DATA_TYPES"


def test_the_other_columns_of_such_a_table_are_read():
    found = snapshot(schema(a="long", v="variant"), [pa.table({"a": [1]})])
    assert found.to_arrow(columns=["a"]).to_pylist() == [{"a": 1}]


def test_a_type_change_that_bayou_does_not_know_is_refused():
    changes = [{"fromType": "string", "toType": "integer"}]
    columns = StructType((StructField("a", "integer", metadata={"delta.typeChanges": changes}),))
    features = ("typeWidening",)
    found = snapshot(columns, [], protocol=Protocol(3, 7, features, features))
    with pytest.raises(errors.UnsupportedFeatureError, match=r"'?a'? was changed from string to integer"):
        found.to_arrow()


@pytest.mark.parametrize(("day", "is_read"), [(dt.date(2000, 1, 1), True), (dt.date(1500, 1, 1), False)])
def test_days_of_the_julian_calendar_are_refused(day, is_read):
    rows = pa.table({"d": [day]}).replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    found = snapshot({"d": "date"}, [rows])
    if is_read:
        assert values(found, "d") == [day]
        return
    with pytest.raises(errors.SchemaMismatchError, match="Julian"):
        found.to_arrow()


def test_a_missing_file_is_an_error_with_its_path():
    made = TableBuilder(store=MemoryStore()).create().commit(add("gone%20away.parquet"))
    with pytest.raises(errors.DataFileNotFoundError) as raised:
        made.log().snapshot().to_arrow()
    assert raised.value.file.endswith("/gone away.parquet")


def test_a_file_that_is_not_parquet_is_an_error_with_its_path():
    made = built({"id": "long"}, [pa.table({"id": [1]})]).write("f0.parquet", b"PAR1 nothing PAR1")
    with pytest.raises(errors.UnreadableDataFileError) as raised:
        list(made.log().snapshot().to_batches())
    assert raised.value.file.endswith("/f0.parquet")


def test_a_file_outside_the_table_is_read_where_it_is(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a b.parquet").write_bytes(parquet(pa.table({"id": [4]})))
    uri = (tmp_path / "source" / "a b.parquet").as_uri()
    made = TableBuilder(tmp_path / "clone").create({"id": "long"}).commit(add(uri))
    assert values(made.log().snapshot(), "id") == [4]


class OneAtATime(MemoryStore):
    """Counts the data files that are open."""

    open_now = most = opened = 0

    def open(self, path):
        found = super().open(path)
        if not path.endswith(".parquet"):
            return found
        self.opened += 1
        self.open_now += 1
        self.most = max(self.most, self.open_now)
        close = found.close

        def closed():
            self.open_now -= not found.closed
            close()

        found.close = closed
        return found


def counted(files):
    store = OneAtATime()
    made = TableBuilder(store=store).create({"id": "long"})
    for number in range(files):
        made.write(f"{number}.parquet", parquet(pa.table({"id": [number] * 10})))
    stats = [{"numRecords": 10, "minValues": {"id": n}, "maxValues": {"id": n}, "nullCount": {"id": 0}} for n in range(files)]
    made.commit(*(add(f"{number}.parquet", stats=stats[number]) for number in range(files)))
    return store, made.log().snapshot()


def test_a_stream_opens_one_file_after_the_other_and_stops_when_its_reader_stops():
    store, found = counted(5)
    stream = found.to_batches(batch_size=4)
    sizes = [next(stream).num_rows for _ in range(4)]
    assert (sizes, store.opened, store.most) == ([4, 4, 2, 4], 2, 1)
    stream.close()
    del stream
    assert store.open_now == 0


def test_files_without_matching_rows_are_not_opened():
    store, found = counted(5)
    assert found.to_arrow(where=[("id", "in", [1, 3])]).num_rows == 20
    assert store.opened == 2


def test_a_snapshot_reads_the_rows_of_its_version():
    made = built({"id": "long"}, [pa.table({"id": [1]})])
    made.write("g.parquet", parquet(pa.table({"id": [2]}))).commit(add("g.parquet"))
    assert [values(made.log().snapshot(version), "id") for version in (0, 1, 2)] == [[], [1], [1, 2]]


def test_pandas_gets_microseconds_that_nanoseconds_cannot_hold():
    pytest.importorskip("pandas")
    moments = pa.array([dt.datetime(3000, 1, 1)], pa.timestamp("us"))  # noqa: DTZ001
    frame = snapshot({"id": "long", "t": "timestamp_ntz"}, [pa.table({"id": [1], "t": moments})]).to_pandas(where=[("id", "<", 2)])
    assert list(frame["id"]) == [1]
    assert str(frame["t"][0]) == "3000-01-01 00:00:00"


def test_polars_gets_the_rows():
    pytest.importorskip("polars")
    assert snapshot({"id": "long"}, [pa.table({"id": [1, 2]})]).to_polars()["id"].to_list() == [1, 2]


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_polars", "polars")])
def test_a_missing_package_says_how_to_install_it(monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingPackageError, match=rf"pip install 'bayou\[{package}\]'"):
        getattr(snapshot({"id": "long"}, []), method)()


@pytest.mark.parametrize("size", [0, -1, "many"])
def test_a_batch_size_is_a_positive_number(size):
    with pytest.raises(errors.InvalidOptionError, match="batch_size"):
        snapshot({"id": "long"}, []).to_batches(batch_size=size)


def test_a_batch_may_have_more_rows_than_pyarrow_counts():
    assert snapshot({"id": "long"}, []).to_batches(batch_size=1 << 70).read_all().num_rows == 0


def test_batches_are_no_larger_than_asked_for():
    sizes = [batch.num_rows for batch in snapshot({"id": "long"}, [pa.table({"id": range(25)})]).to_batches(batch_size=10)]
    assert sizes == [10, 10, 5]
    assert all(before >= after for before, after in pairwise(sizes))
