# SPDX-License-Identifier: Apache-2.0
"""Schema Serialization Format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section, first, in_action, violated
from bayou.checks.rules.metadata import all_metadata
from bayou.checks.schema_json import parse_schema_json, types_of
from bayou.protocol.types.partition_values import decimal_type

_SCHEMA = Section("Schema Serialization Format", "schema")
SECTIONS = (_SCHEMA,)

_PRIMITIVES = frozenset(
    ["string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date", "timestamp", "timestamp_ntz"]
)
# A variant is a string in tables of Spark; void is what the protocol tolerates.
_OTHERS = frozenset(["variant", "void", "null"])
_TEXT = re.compile(r"(char|varchar)\(\d+\)|string collate [\w.]+", re.ASCII)
_SPATIAL = re.compile(r"(geometry|geography)(\(.*\))?", re.ASCII)
_MOST_DIGITS = 38
_MEMBERS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "struct": {"fields": (list,)},
    "array": {"elementType": (str, dict), "containsNull": (bool,)},
    "map": {"keyType": (str, dict), "valueType": (str, dict), "valueContainsNull": (bool,)},
    "variant": {},
    "udt": {},
}
_FIELD: Mapping[str, tuple[type, ...]] = {"name": (str,), "type": (str, dict), "nullable": (bool,), "metadata": (dict,)}
_NOT_IN_PARQUET = re.compile(r"[ ,;{}()\n\t=]")


@_SCHEMA.broken("json", "The schema string is the JSON of a struct.")
def schemas_are_structs(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        text = action.value.get("schemaString")
        schema = parse_schema_json(text)
        if isinstance(text, str) and not (isinstance(schema, dict) and schema.get("type") == "struct"):
            yield in_action(action, f"the schema is {text!r:.80}")


@_SCHEMA.broken("type", "A type is a primitive type, a struct, an array, a map or a variant, with its members.")
def types_have_their_members(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        schema = parse_schema_json(action.value.get("schemaString"))
        if isinstance(schema, dict):
            yield from first(in_action(action, each) for kind in types_of(schema) for each in _wrong_members(kind))


def _wrong_members(kind: Any) -> Iterator[str]:
    if isinstance(kind, str):
        return
    if not isinstance(kind, dict) or not isinstance(kind.get("type"), str) or kind["type"] not in _MEMBERS:
        yield f"a type is {kind!r:.80}"
        return
    for name, types in _MEMBERS[kind["type"]].items():
        if type(kind.get(name)) not in types:
            yield f"{name} of the {kind['type']} is {kind.get(name)!r:.60}"


@_SCHEMA.broken("field", "A field of a struct has a name, a type, nullable and metadata.")
def fields_have_their_members(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        yield from first(in_action(action, each) for field in _fields(action.value) for each in _wrong_field(field))


def _wrong_field(field: Any) -> Iterator[str]:
    if not isinstance(field, dict):
        yield f"a field is {field!r:.80}"
        return
    for name, types in _FIELD.items():
        if type(field.get(name)) not in types:
            yield f"{name} of the field {field.get('name')!r:.40} is {field.get(name)!r:.60}"


@_SCHEMA.risky("known-type", "A primitive type is one of the protocol.")
def primitives_are_known(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        for kind in types_of(epoch.schema) if epoch.schema and epoch.metadata else ():
            if isinstance(kind, str) and not _is_known(kind):
                yield in_action(epoch.metadata, f"the type is {kind!r:.60}")  # type: ignore[arg-type]


def _is_known(kind: str) -> bool:
    return (
        kind in _PRIMITIVES | _OTHERS or decimal_type(kind) is not None or bool(_TEXT.fullmatch(kind) or _SPATIAL.fullmatch(kind))
    )


@_SCHEMA.broken("decimal", "The precision of a decimal is at most 38, and the scale at most the precision.")
def decimals_fit(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        for kind in types_of(parse_schema_json(action.value.get("schemaString"))):
            found = decimal_type(kind) if isinstance(kind, str) else None
            if found and not 0 <= found[1] <= found[0] <= _MOST_DIGITS:
                yield in_action(action, f"the type is {kind}")


@_SCHEMA.odd("void", "No column has the type void, whose behavior is undefined.")
def no_column_is_void(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        void = [each for each in epoch.columns if each.type in ("void", "null")]
        yield from first(in_action(epoch.metadata, f"{each.name} is void") for each in void if epoch.metadata)


@_SCHEMA.broken("unique-name", "Names of columns are unique regardless of casing.")
def names_are_unique(log: RawLog) -> Iterator[Found]:
    for action in all_metadata(log):
        for kind in types_of(parse_schema_json(action.value.get("schemaString"))):
            fields = kind.get("fields") if isinstance(kind, dict) else None
            names = [each["name"] for each in fields or () if isinstance(each, dict) and isinstance(each.get("name"), str)]
            counts = Counter(map(str.lower, names))
            yield from first(in_action(action, f"{name!r} is there {count} times") for name, count in counts.items() if count > 1)


@_SCHEMA.risky("name", "Without column mapping no name has one of the characters ' ,;{}()\\n\\t='.")
def names_fit_parquet(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        odd = [each for each in epoch.columns if not epoch.is_mapped and _NOT_IN_PARQUET.search(each.path[-1])]
        yield from first(
            in_action(epoch.metadata, f"the column {each.name!r} needs column mapping") for each in odd if epoch.metadata
        )


def _fields(metadata: Mapping[str, Any]) -> Iterator[Any]:
    for kind in types_of(parse_schema_json(metadata.get("schemaString"))):
        fields = kind.get("fields") if isinstance(kind, dict) else None
        yield from fields if isinstance(fields, list) else ()


@_SCHEMA.broken("not-null", "A column that is not nullable has a value in each row.", Reads.ROWS)
def columns_have_values(log: RawLog) -> Iterator[Found]:
    return violated(log, "NOT NULL")


@_SCHEMA.odd("char-length", "A value of a char or varchar column has at most its number of characters.", Reads.ROWS)
def chars_have_their_length(log: RawLog) -> Iterator[Found]:
    return violated(log, "CHAR_VARCHAR")
