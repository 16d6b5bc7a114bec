# SPDX-License-Identifier: Apache-2.0
"""The assignments of an UPDATE or of a clause of a MERGE, as Spark resolved them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from bayou.errors import DeltaError, failed
from bayou.protocol.types.schema import parse_schema
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.statement import Assignment
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.core import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.jvm.catalyst.expression_list import ExpressionList
    from bayou.spark.jvm.catalyst.row_changes import Pairs
    from bayou.spark.jvm.core.bridge import JavaObject


def typed_assignments(pairs: Pairs, snapshot: Snapshot) -> tuple[Assignment, ...]:
    """Return assignments with the types of their values, without the checks of `checked_assignments`.

    Raises:
        UnsupportedFeatureError: a field inside an array or map is set.
    """
    paths = []
    for place, tree in enumerate(pairs.keys.trees):
        path = path_of(tree)
        if path is None:
            raise no_path(pairs.keys[place], snapshot)
        paths.append(path)
    values = pairs.values.with_named_overflow([column_sql(path) for path in paths])
    kinds = _parsed_types(pairs.values.types)
    return tuple(Assignment(path, values, place, kind) for place, (path, kind) in enumerate(zip(paths, kinds, strict=True)))


def assigned(assignment: Assignment) -> ExpressionList:
    """Return the values of the clause of an assignment of a classic session."""
    return cast("ExpressionList", assignment.values)


def no_path(key: JavaObject, snapshot: Snapshot) -> DeltaError:
    """Return the error of an assignment to something other than a column or a field of a struct."""
    return failed(
        "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
        at=snapshot,
        column=nodes.text_of(key),
        features=("nested fields in arrays and maps",),
    )


def _parsed_types(texts: Sequence[str]) -> list[DataType]:
    fields = ({"name": "value", "type": json.loads(text), "nullable": True, "metadata": {}} for text in texts)
    return [field.type for field in parse_schema(json.dumps({"type": "struct", "fields": list(fields)})).fields]
