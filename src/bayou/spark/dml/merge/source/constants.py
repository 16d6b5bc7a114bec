# SPDX-License-Identifier: Apache-2.0
"""Constants in a MERGE's source, as in SELECT 1 AS id, 'x' AS v: nothing is computed of them before a row is known to be wanted.

Spark's optimizer computes what is made of constants once and for all, and fails where that fails, though the row it is of may be
left out by the join, or by a clause's condition.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bayou.protocol.columns.clustering import fields_on
from bayou.spark.dml.statements.assignments import widens
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.catalyst.settled import unfolded
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.resolution.resolved import Resolution
    from bayou.spark.dml.statements.assignments import Assignment
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


def without_constants(jvm: Jvm, frame: DataFrame, resolution: Resolution, keys: Sequence[JavaObject]) -> DataFrame:
    """The rows of a source in which Spark takes no column for a constant of which a value is made.

    Those by which rows are joined may be constants as long as they are stored as they are: the reader of files looks for them.

    Args:
        jvm: the bridge.
        frame: the rows.
        resolution: the MERGE.
        keys: the columns that its condition looks at.
    """
    used = ExpressionList.joined(jvm, resolution.values).used(resolution.sides.source.output())
    found = unfolded(jvm, frame, used)
    return found if found is frame else unfolded(jvm, frame, used, _stored_as_they_are(jvm, resolution, keys))


def _stored_as_they_are(jvm: Jvm, resolution: Resolution, keys: Sequence[JavaObject]) -> list[JavaObject]:
    """The keys of which nothing is computed."""
    computed: list[JavaObject] = []
    for clause in resolution.clauses:
        trees = clause.assignments[0].values.trees if clause.assignments else []
        computed += [each.value for each in clause.assignments if not _is_stored(each, trees[each.place], resolution.schema)]
    changed = {each.exprId().id() for each in ExpressionList.of(jvm, computed).used(jvm.seq(keys))}
    return [each for each in keys if each.exprId().id() not in changed]


def _is_stored(given: Assignment, tree: str, schema: StructType) -> bool:
    """Whether a value is a column, any value of which is one of the type that it is stored as."""
    if not json.loads(tree)[0]["class"].endswith(".AttributeReference"):
        return False
    stored = fields_on(given.path, schema)
    return stored is not None and (same_names_and_types(given.type, stored[-1].type) or widens(given.type, stored[-1].type))
