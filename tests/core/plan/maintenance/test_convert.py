# SPDX-License-Identifier: Apache-2.0
"""CONVERT's decisions: folder names, the files that count, the log of a streaming sink, and one schema of many."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.plan.maintenance.convert import (
    FolderRules,
    MergedSchema,
    is_hidden_file,
    is_hidden_folder,
    partition_texts,
    sink_files,
    sink_log_files,
)
from bayou.protocol.types.partition_values import NULL_FOLDER, partition_folder
from bayou.protocol.types.schema import ArrayType, StructField, StructType

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1)


def rules(*columns, **options):
    fields = tuple(StructField(*each.split(":")) for each in columns)
    return FolderRules("file:/t", fields, **options)


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("", []),
        ("a/b", []),
        ("p=1", [("p", "1")]),
        ("p=1/q=x", [("p", "1"), ("q", "x")]),
        ("p=1/below/it", [("p", "1")]),
        ("above/p=1", [("p", "1")]),
        ("p=1/between/q=2", [("q", "2")]),
        ("p=a=b", [("p", "a=b")]),
        ("p=a%2Fb%3D", [("p", "a/b=")]),
        ("p=%C3%BC", [("p", "Ã¼")]),  # Spark escapes ASCII characters only, each by itself
        ("p=%2", [("p", "%2")]),
        ("%41=ü", [("A", "ü")]),
        (f"p={NULL_FOLDER}", [("p", None)]),
        ("p=", [("p", "")]),
    ],
)
def test_folders_are_decoded_as_by_spark(folder, found):
    assert partition_texts(folder) == found


@given(st.lists(st.tuples(NAMES.filter(lambda name: "=" not in name), st.none() | NAMES), min_size=1))
def test_what_spark_writes_comes_back(values):
    named = [(name, None if text == NULL_FOLDER else text) for name, text in values]
    assert partition_texts(partition_folder(named)) == named


@pytest.mark.parametrize(
    ("folder", "hidden"),
    [("", False), ("a/b", False), ("_a", True), (".a", True), ("a/_b/c", True), ("_a=1", False), (".a=1/b", False)],
)
def test_partition_folders_are_never_hidden(folder, hidden):
    assert is_hidden_folder(folder) == hidden


def test_files_are_hidden_by_their_names_alone():
    assert [is_hidden_file(name) for name in ("_SUCCESS", ".x.crc", "x", "_p=1")] == [True, True, False, True]


def test_values_are_the_folders_texts_under_the_declared_names():
    found = rules("Day:date", "n:integer", "s:string").values("day=2026-01-01/N=01/s=a%20b/x.parquet")
    assert found == {"Day": "2026-01-01", "n": "01", "s": "a b"}


def test_moments_are_of_the_given_zone_and_kept_in_utc():
    found = rules("at:timestamp", time_zone="Europe/Berlin").values("at=2026-07-01 12%3A00%3A00/x")
    assert found == {"at": "2026-07-01T10:00:00.000000Z"}


@pytest.mark.parametrize(
    ("columns", "file", "error_class", "text"),
    [
        ([], "p=1/x", "NUM_PARTITION_COLUMNS_FROM_FILE_NAME", "name the partition columns [p]"),
        (["p:string"], "x", "NUM_PARTITION_COLUMNS_FROM_FILE_NAME", "name the partition columns [none]"),
        (["p:string"], "q=1/x", "PARTITION_COLUMN_FROM_FILE_NAME", "'p' was expected"),
        (["p:string", "q:string"], "q=1/p=1/x", "PARTITION_COLUMN_FROM_FILE_NAME", "'p' was expected"),
    ],
)
def test_other_columns_are_refused_with_the_file(columns, file, error_class, text):
    with pytest.raises(InvalidSchemaError, match=error_class) as caught:
        rules(*columns).values(file)
    assert (caught.value.file, caught.value.sql_state) == (file, "KD009")
    assert text in caught.value.message


def test_undeclared_columns_are_refused_with_a_declaration():
    with pytest.raises(InvalidSchemaError) as caught:
        rules(is_declared=False).values("p=1/a b=2/x")
    assert "partitionSchema='p string, `a b` string'" in caught.value.next_step


@pytest.mark.parametrize(("kind", "text"), [("integer", "x"), ("date", "soon"), ("string", ""), ("byte", "300")])
def test_a_text_that_is_no_value_is_refused(kind, text):
    with pytest.raises(InvalidSchemaError, match="DELTA_FAILED_CAST_PARTITION_VALUE") as caught:
        rules(f"p:{kind}").values(f"p={text}/x")
    assert (caught.value.file, caught.value.column, caught.value.value) == (f"p={text}/x", "p", text)
    if text:
        assert rules(f"p:{kind}", takes_any_text=True).values(f"p={text}/x") == {"p": text}


def test_a_catalogs_texts_go_by_name():
    found = rules("P:integer", "q:string").typed({"q": NULL_FOLDER, "p": "1"}, "p=1")
    assert found == {"P": "1", "q": None}


def test_a_column_of_a_nested_type_has_no_values():
    with pytest.raises(InvalidSchemaError, match="cannot be cast to array<string>"):
        FolderRules("t", (StructField("p", ArrayType("string")),)).values("p=1/x")


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ([], []),
        (["0", "1", "10", "2", ".0.crc"], ["0", "1", "2", "10"]),
        (["8", "9.compact", "10", "19.compact", "20", "x.tmp"], ["19.compact", "20"]),
    ],
)
def test_a_sinks_log_begins_at_its_last_compaction(names, chosen):
    assert sink_log_files(names) == chosen


def entry(path, **more):
    facts = {"path": path, "size": 3, "isDir": False, "modificationTime": 7, "blockSize": 1, "action": "add"}
    return json.dumps({**facts, **more})


def test_a_sinks_log_names_files():
    first = "\n".join(["v1", entry("file:///t/a"), entry("file:///t/b")])
    later = "\n".join(["v1", entry("file:///t/a", action="delete"), entry("file:///t/d", isDir=True), ""])
    assert sink_files([first, later]) == {"file:///t/b": (3, 7)}


@pytest.mark.parametrize("text", ["", "v9\n", "v1\nx", "v1\n[]", 'v1\n{"size":1}'])
def test_what_is_no_sinks_log_is_an_error(text):
    with pytest.raises((ValueError, KeyError)):
        sink_files([text])


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def test_schemas_are_merged_as_appends_would():
    merged = MergedSchema("t")
    merged.add(struct(n="byte", deep=struct(a="string")), "a")
    merged.add(struct(N="integer", more="date", deep=struct(b="long")), "b")
    assert merged.schema == struct(n="integer", deep=struct(a="string", b="long"), more="date")


def test_of_a_files_metadata_comments_stay():
    metadata = {"comment": "c", "__CHAR_VARCHAR_TYPE_STRING": "char(2)", "delta.identity.start": 1}
    inner = StructField("x", "long", nullable=False, metadata={"comment": "d", "y": 1})
    given = ArrayType(StructType((inner,)), contains_null=False)
    merged = MergedSchema("t")
    merged.add(StructType((StructField("a", given, nullable=False, metadata=metadata),)), "f")
    kept = ArrayType(StructType((StructField("x", "long", metadata={"comment": "d"}),)))
    assert merged.schema == StructType((StructField("a", kept, metadata={"comment": "c"}),))


@pytest.mark.parametrize("schema", [struct(a="string"), StructType((StructField("b", "long"), StructField("B", "long")))])
def test_a_schema_that_does_not_fit_is_refused_with_its_file(schema):
    merged = MergedSchema("t")
    merged.add(struct(a="long"), "one")
    with pytest.raises(SchemaMismatchError, match="DELTA_FAILED_MERGE_SCHEMA_FILE") as caught:
        merged.add(schema, "two")
    assert (caught.value.file, caught.value.sql_state) == ("two", "42KDA")
    assert f"{schema.names[0]}: " in caught.value.message


def test_partition_columns_take_the_place_of_the_files():
    merged = MergedSchema("t")
    merged.add(struct(P="string", a="long"), "f")
    assert merged.with_partitions(struct(p="integer", q="date").fields) == struct(p="integer", a="long", q="date")
