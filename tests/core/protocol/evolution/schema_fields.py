# SPDX-License-Identifier: Apache-2.0
"""Schemas and their fields, what tables with them enable, and the error that a change of them ends with."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidSchemaError
from bayou.protocol.evolution.schema_changes import Position
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

PLAIN = TableRules(table_uri="/t", version=3)
MAPPED = TableRules(table_uri="/t", version=3, column_mapping=True)
FIRST = Position()


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def field(name, kind="long", *, nullable=True, **metadata):
    return StructField(name, kind, nullable, metadata)


NESTED = struct(
    a="long", s=struct(x="long", y="date"), l=ArrayType(struct(x="long")), m=MapType(struct(k="long"), struct(v="long")), v="void"
)


def refusal(call, *arguments, rules=PLAIN, error=InvalidSchemaError, **options):
    with pytest.raises(error) as caught:
        call(*arguments, rules, **options)
    assert (caught.value.table, caught.value.version) == ("/t", 3)
    return caught.value
