# SPDX-License-Identifier: Apache-2.0
"""Settle the subqueries of a statement: ensure that every evaluation of a subquery returns the same result.

A DELETE or UPDATE evaluates its condition in several jobs, which must select the same rows. Therefore it first settles subqueries:

- An uncorrelated scalar subquery or EXISTS is evaluated once and becomes a literal. The literal also prunes files.
- In `IN (SELECT ...)`, Delta tables are pinned to a version, and other rows are materialised. The selected keys prune files, like
  the keys of a MERGE's source.
- A correlated subquery stays a subquery. The tables that it reads are pinned or materialised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.keys.key_conditions import Key, condition_of
from bayou.spark.dml.keys.key_values import SourceKey, values_of
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import subqueries as queries
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, ids_of_output
from bayou.spark.jvm.catalyst.frames import names_of
from bayou.spark.jvm.catalyst.settled import settled
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.dml.key_columns import only_of
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.request import RelationRequest
from bayou.storage import qualify, without_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class SettledQueries:
    """A condition whose subqueries are settled.

    Attributes:
        predicates: predicates that every row satisfies if it satisfies the condition. They are derived from the subqueries' keys.
        reads_table: whether a subquery may read the table itself.
        kept: the materialised rows, which `close` drops.
    """

    condition: JavaObject
    predicates: tuple[Predicate, ...]
    reads_table: bool
    kept: tuple[DataFrame, ...] = field(repr=False)

    def close(self) -> None:
        """Drop the materialised rows."""
        for each in self.kept:
            catalyst.let_go(each)


def settle(
    application: Application, spark: SparkSession, snapshot: Snapshot, condition: JavaObject, output: JavaObject
) -> SettledQueries:
    """Settle the subqueries of a condition. Runs jobs.

    Args:
        snapshot: the snapshot that the operation reads. Subqueries over the same table also read it.
        condition: the condition, resolved and not optimised.
        output: the table's columns in the condition, a Scala `Seq`.
    """
    jvm = jvm_of(application)
    reads_table = may_read_table(application, snapshot, ExpressionList.of(jvm, [condition]))
    work = _Settling(application, spark, snapshot, output)
    try:
        parts = [work.part(each) for each in nodes.conjuncts(jvm, condition)]
    except BaseException:
        for each in work.kept:
            catalyst.let_go(each)
        raise
    return SettledQueries(nodes.conjunction(jvm, parts), tuple(work.predicates), reads_table, tuple(work.kept))


def with_scalars(
    application: Application, spark: SparkSession, snapshot: Snapshot, values: ExpressionList
) -> tuple[ExpressionList, bool]:
    """Replace uncorrelated scalar subqueries and EXISTS in expressions by literals. Runs a job for each.

    Args:
        snapshot: the snapshot that the operation reads. Subqueries over the same table also read it.

    Returns:
        The expressions, and whether one of the subqueries may read the table itself.
    """
    reads_table = may_read_table(application, snapshot, values)
    work = _Settling(application, spark, snapshot, jvm_of(application).seq([]))
    return ExpressionList.of(jvm_of(application), [work.scalars(each) for each in values]), reads_table


def may_read_table(application: Application, snapshot: Snapshot, values: ExpressionList) -> bool:
    """Whether subqueries in the expressions may read the changed table, or rows that were computed from it.

    True if the sources of the subqueries are unknown.
    """
    reads = queries.SubqueryReads.of(jvm_of(application), values)
    if reads is None:
        return True
    table = snapshot.table_uri
    return any(_is_of(application, snapshot, each) for each in reads.tables) or any(_meets(table, each) for each in reads.roots)


def _is_of(application: Application, snapshot: Snapshot, request: str) -> bool:
    """Whether a request reads the latest version of the table. The table ids are compared, because a table may have several paths.

    A request for a fixed version does not depend on later commits.
    """
    relation = RelationRequest.of_json(request)
    if relation.version is not None:
        return False
    return bool(application.snapshot(relation.path, relation.storage_options).metadata.id == snapshot.metadata.id)


def _meets(table: str, root: str) -> bool:
    """Whether a path contains the table or lies in it. Hosts are ignored, because a host may have several names."""
    root_path, table_path = (without_host(qualify(path).uri).rstrip("/") + "/" for path in (root, table))
    return root_path.startswith(table_path) or table_path.startswith(root_path)


class _Settling:
    """Settles the subqueries of one operation. Collects the rows that it materialises and the predicates that it derives."""

    def __init__(self, application: Application, spark: SparkSession, snapshot: Snapshot, output: JavaObject) -> None:
        self._application, self._spark, self._snapshot, self._output = application, spark, snapshot, output
        self._bridge = jvm_of(application)
        self.kept: list[DataFrame] = []
        self.predicates: list[Predicate] = []

    def part(self, part: JavaObject) -> JavaObject:
        """Return a conjunct of the condition with its subqueries settled. Derive predicates if it is `columns IN (SELECT ...)`."""
        jvm = self._bridge
        subqueries = queries.subqueries_of(jvm, part)
        if not subqueries:
            return part
        settled_queries = [self._settled(each) for each in subqueries]
        compared = queries.compared_with(jvm, part)
        if compared:
            self._add_predicates(compared, settled_queries[0])
        return queries.with_subqueries(jvm, part, settled_queries)

    def scalars(self, value: JavaObject) -> JavaObject:
        """Return an expression in which the subqueries that have one value for all rows are literals."""
        jvm = self._bridge
        subqueries = queries.subqueries_of(jvm, value)
        has_one_value = [queries.has_one_value(jvm, each) for each in subqueries]
        if not any(has_one_value):
            return value
        replaced = [self._settled(each) if is_scalar else each for each, is_scalar in zip(subqueries, has_one_value, strict=True)]
        return queries.with_subqueries(jvm, value, replaced)

    def _settled(self, subquery: JavaObject) -> JavaObject:
        """Return a literal for a subquery with one value. Otherwise return the subquery over pinned tables or materialised rows."""
        jvm, plan = self._bridge, queries.plan_of_subquery(subquery)
        pinned = [self._pinned(each) for each in queries.leaves_of(jvm, plan)]
        if queries.is_correlated(jvm, subquery):
            leaves = [self._kept(each) if queries.reads_what_changes(each) else each for each in pinned]
            return queries.over_plan(jvm, subquery, queries.with_leaves(jvm, plan, leaves))
        plan = queries.with_leaves(jvm, plan, pinned)
        if queries.has_one_value(jvm, subquery):
            return queries.literal_of(jvm, self._spark, queries.over_plan(jvm, subquery, plan))
        frame = self._frame(plan)
        fixed = settled(jvm, frame)
        # Other programs may change files that do not belong to a Delta table.
        frame = self._checkpoint(frame) if fixed is None or fixed.files else fixed.frame
        return queries.over_plan(jvm, subquery, analyzed_plan(frame))

    def _pinned(self, leaf: JavaObject) -> JavaObject:
        """Pin a leaf of a subquery to a version, if it reads a Delta table without a fixed version.

        The table that the operation changes is pinned to the operation's version, any other to its latest. A change data feed
        cannot be pinned, so its rows are materialised.
        """
        if not queries.is_delta(leaf):
            return leaf
        request = RelationRequest.of_json(queries.request_of(leaf))
        if request.changes is not None:
            return self._kept(leaf)
        if request.version is not None:
            return leaf
        latest = self._application.snapshot(request.path, request.storage_options)
        version = self._snapshot.version if latest.metadata.id == self._snapshot.metadata.id else latest.version
        return queries.at_version(self._bridge, leaf, replace(request, version=version).to_json(), version)

    def _kept(self, leaf: JavaObject) -> JavaObject:
        """Return a leaf that reads the materialised rows of another leaf, with the same columns."""
        frame = self._checkpoint(self._frame(leaf))
        return queries.under_names_of(self._bridge, leaf, frame)

    def _checkpoint(self, frame: DataFrame) -> DataFrame:
        self.kept.append(frame.localCheckpoint())
        return self.kept[-1]

    def _frame(self, plan: JavaObject) -> DataFrame:
        return catalyst.frame_of(self._bridge, self._spark, plan)

    def _add_predicates(self, compared: Sequence[JavaObject], query: JavaObject) -> None:
        """Derive predicates from the keys of `columns IN (SELECT ...)`, to prune files.

        Args:
            compared: the expressions on the left of IN. An expression over other columns than the table's is ignored.
            query: the settled subquery.
        """
        application, jvm, snapshot = self._application, self._bridge, self._snapshot
        rows = self._frame(queries.plan_of_subquery(query))
        rows = rows.toDF(*(f"k{number}" for number in range(len(names_of(rows)))))
        table_ids = ids_of_output(jvm, self._output)
        partitions = {name.lower() for name in snapshot.partition_columns}
        keys = []
        for number, value in enumerate(compared):
            kind = json.loads(nodes.type_of(value))
            if not isinstance(kind, str) or not only_of(application, value, table_ids):
                continue
            tree = json.loads(described(jvm, value))
            names = {name.lower() for name in nodes.names_of(jvm, value)}
            key = Key(tree, kind, null_safe=False, is_partition=len(tree) == 1 and names <= partitions)
            if key.is_supported:
                keys.append(SourceKey(key, F.col(f"k{number}"), None))
        if not keys:
            return
        _, values = values_of(rows, keys, None)
        resolve = by_logical_name(snapshot.schema)
        texts = (condition_of(each.key, those) for each, those in zip(keys, values, strict=True))
        self.predicates += [from_catalyst([text], resolve) for text in texts if text is not None]
