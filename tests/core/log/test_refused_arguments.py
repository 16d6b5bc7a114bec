# SPDX-License-Identifier: Apache-2.0
"""Values that a log cannot hold, or that no reader could take: refused before anything is written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.support.cases import in_one_test

from bayou.errors import DeltaError, InvalidCommitError, InvalidOptionError, InvalidSchemaError
from bayou.protocol.actions.actions import AddCDCFile, AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, schema_to_json
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

SCHEMA = StructType((StructField("id", "long"), StructField("p", "string")))
NO_TEXTS = [5, 1.5, True, b"x", ["x"], {"x": 1}, object(), float("nan")]


def files(builder):
    return {each.path: each.etag for each in builder.store.list_from("_delta_log/")}


def nothing_is_written(builder, call, error):
    before = files(builder)
    with pytest.raises(error) as caught:
        call(builder.log())
    assert files(builder) == before
    assert caught.value.table == builder.uri
    assert caught.value.next_step
    return caught.value


def new():
    return TableBuilder(store=MemoryStore())


TAKING_TEXTS = {
    "description": lambda value: {"description": value},
    "property": lambda value: {"properties": {"x": value}},
    "known property": lambda value: {"properties": {"delta.appendOnly": value}},
    "comment": lambda value: {"properties": {"comment": value}},
    "partition column": lambda value: {"partition_by": [value]},
}


@in_one_test("name", TAKING_TEXTS)
@in_one_test("value", NO_TEXTS)
def test_a_table_is_created_with_strings_only(name, value):
    arguments = TAKING_TEXTS[name](value)
    error = nothing_is_written(new(), lambda log: log.create(SCHEMA, **arguments), InvalidOptionError)
    assert repr(value)[:20] in error.message


@pytest.mark.parametrize(
    "arguments",
    [
        {"schema": None},
        {"schema": 5},
        {"schema": [("id", "long")]},
        {"partition_by": "p"},
        {"partition_by": 5},
        {"properties": [("a", "b")]},
        {"properties": "a=b"},
        {"properties": {5: "x"}},
        {"properties": {None: "x"}},
    ],
    ids=repr,
)
def test_a_table_is_created_with_arguments_of_their_types(arguments):
    given = {"schema": SCHEMA, **arguments}
    nothing_is_written(new(), lambda log: log.create(**given), InvalidOptionError)


@in_one_test("name", ["operation", "engine_info", "user_metadata"])
@in_one_test("value", NO_TEXTS)
def test_the_history_is_told_strings_only(name, value):
    given = {"operation": "WRITE", name: value}
    nothing_is_written(new().create(), lambda log: log.transaction(**given), InvalidOptionError)


@pytest.mark.parametrize("parameters", [5, "x", [("a", 1)], {5: "x"}, {"a": object()}, {"a": {1, 2}}, {"a": [b"x"]}], ids=type)
def test_parameters_are_values_of_json(parameters):
    nothing_is_written(new().create(), lambda log: log.transaction("WRITE", parameters), InvalidOptionError)
    begun = new().create()
    nothing_is_written(begun, lambda log: log.transaction("WRITE").describe(parameters), InvalidOptionError)


METADATA_NAMES = [
    "id",
    "schema_string",
    "name",
    "description",
    "format_provider",
    "partition_columns",
    "configuration",
    "format_options",
]
FILES = {
    AddFile: (("a", {}, 1, 1), ["path", "partition_values", "tags", "stats", "data_change"]),
    RemoveFile: (("a", 1), ["path", "partition_values", "tags", "stats", "data_change"]),
    AddCDCFile: (("_change_data/a", {}, 1), ["path", "partition_values", "tags"]),
}


def actions():
    heads = [
        (Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)), ["reader_features", "writer_features"]),
        (Metadata("id", schema_to_json(SCHEMA)), METADATA_NAMES),
        (DomainMetadata("d", "{}"), ["domain", "configuration", "removed"]),
        (SetTransaction("x", 1), ["app_id"]),
    ]
    made = [(kind(*given), names) for kind, (given, names) in FILES.items()]
    return [(action, name) for action, names in [*heads, *made] for name in names]


@in_one_test(("action", "name"), actions())
@in_one_test("value", [5, 1.5, b"x", {5: "x"}, {"x": 5}, {"x": b"y"}, (5,), [5]])
def test_no_action_holds_a_value_of_another_type(action, name, value):
    wrong = replace(action, **{name: value})
    builder = new().create(actions=[add("a")])
    nothing_is_written(builder, lambda log: log.transaction("WRITE").commit([wrong]), DeltaError)
    assert builder.log().snapshot().num_files == 1


@pytest.mark.parametrize("action", [None, 5, "add", {"add": {"path": "a"}}, add("a"), ["x"]], ids=type)
def test_what_is_not_an_action_is_refused(action):
    nothing_is_written(new().create(), lambda log: log.transaction("WRITE").commit([action]), InvalidCommitError)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_of_a_surrogate_pair_is_no_text(text):
    for call in (
        lambda log: log.create(SCHEMA, description=text),
        lambda log: log.create(SCHEMA, properties={"x": text}),
    ):
        builder = new()
        with pytest.raises(InvalidOptionError, match="Unicode"):
            call(builder.log())
        assert not files(builder)


def test_what_a_table_is_created_with_is_what_is_read():
    builder = new()
    log = builder.log()
    log.create(schema_to_json(SCHEMA), partition_by=("p",), properties={"x": "5", "comment": "c"}, description="d")
    metadata = log.snapshot().metadata
    assert (metadata.description, metadata.partition_columns, metadata.configuration["x"]) == ("d", ("p",), "5")


def twins(*path):
    """A schema with two fields that differ in case only, below a path of structs, arrays and maps."""
    kind = StructType((StructField("a", "long"), StructField("A", "long")))
    for step in reversed(path):
        if step == "element":
            kind = ArrayType(kind)
        elif step == "value":
            kind = MapType("string", kind)
        elif step == "key":
            kind = MapType(kind, "string")
        else:
            kind = StructType((StructField(step, kind),))
    return kind


WRITES = {
    "append": lambda log: log.transaction("WRITE").commit([AddFile("b", {}, 1, 1)]),
    "remove": lambda log: log.transaction("DELETE").commit([RemoveFile("f", 1)]),
    "properties": lambda log: log.transaction("SET").commit([replace(log.snapshot().metadata, configuration={"x": "y"})]),
    "schema": lambda log: log.transaction("ALTER").commit([replace(log.snapshot().metadata, schema_string=schema_to_json(SCHEMA))]),
    "protocol": lambda log: log.transaction("UPGRADE").commit([Protocol(1, 4)]),
    "files": lambda log: log.append(["f"]),
    "transaction": lambda log: log.transaction("WRITE"),
}


@in_one_test("write", WRITES)
@in_one_test("path", [(), ("s",), ("s", "t"), ("l", "element"), ("m", "value"), ("m", "key"), ("l", "element", "m", "value")])
def test_no_write_goes_to_a_table_whose_columns_differ_in_case_only(write, path):
    builder = TableBuilder(store=MemoryStore()).create(actions=[add("f")])
    document = builder.log().snapshot().metadata.to_json() | {"schemaString": schema_to_json(twins(*path))}
    builder.commit({"metaData": document})
    error = nothing_is_written(builder, WRITES[write], InvalidSchemaError)
    assert error.columns == (".".join((*path, "a")),)
    assert ".".join((*path, "a")) in error.message
    assert (error.getErrorClass(), error.version) == ("DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", 1)
    assert builder.log().snapshot().num_files == 1
    assert json.loads(document["schemaString"])


def test_a_commit_cannot_bring_such_a_schema():
    builder = new().create()
    metadata = replace(builder.log().snapshot().metadata, schema_string=schema_to_json(twins("s")))
    nothing_is_written(builder, lambda log: log.transaction("ALTER").commit([metadata]), InvalidSchemaError)
