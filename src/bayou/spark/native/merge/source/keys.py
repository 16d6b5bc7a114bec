# SPDX-License-Identifier: Apache-2.0
"""Find the keys of a MERGE's source: the expressions that the condition compares with columns of the table for equality."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.keys.key_conditions import Key
from bayou.spark.dml.keys.key_values import SourceKey
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described
from bayou.spark.native.dml.key_columns import only_of
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.native.merge.resolution.resolved import Resolution
    from bayou.spark.session.application import Application


def keys_of(application: Application, resolution: Resolution, snapshot: Snapshot, source: frozenset[int]) -> list[SourceKey]:
    """Return the conjuncts of a MERGE's condition that are equalities between the table and the source.

    Other conjuncts that read only the source guard the keys: a source row that does not satisfy them has no match, and computing
    its key may fail.
    """
    jvm = jvm_of(application)
    target = catalyst.ids_of(jvm, resolution.sides.target)
    partitions = {name.lower() for name in snapshot.partition_columns}
    parts = nodes.conjuncts(jvm, resolution.condition)
    own = [part for part in parts if only_of(application, part, source)]
    # User-defined functions would be called for every row, and may cost more than they save.
    guards = [nodes.column(jvm, part) for part in own if not ExpressionList.of(jvm, [part]).calls_foreign_code]
    keys = []
    for part in parts:
        equality = nodes.equality_of(part)
        if equality is None:
            continue
        left, right, null_safe = equality
        for ours, theirs in ((left, right), (right, left)):
            if not only_of(application, ours, target) or not only_of(application, theirs, source):
                continue
            kind = json.loads(nodes.type_of(ours))
            if not isinstance(kind, str):
                continue
            tree = json.loads(described(jvm_of(application), ours))
            path = path_of(json.dumps(tree))
            is_partition = path is not None and len(path) == 1 and path[0].lower() in partitions
            key = Key(tree, kind, null_safe, is_partition)
            if key.is_supported:
                # Guards make the value NULL in some rows, which the footers of the source do not show.
                node = None if guards else theirs
                keys.append(SourceKey(key, _guarded(nodes.column(jvm, theirs), guards), node))
    return keys


def _guarded(value: Column, guards: Sequence[Column]) -> Column:
    """Return a value that is NULL in rows that do not satisfy all guards."""
    if not guards:
        return value
    holds = guards[0]
    for each in guards[1:]:
        holds = holds & each
    return F.when(holds, value)
