# SPDX-License-Identifier: Apache-2.0
"""Check constraints by the statistics in the footers of new files, without evaluating them for each row.

The bounds and null counts of a file can prove that all its rows satisfy NOT NULL, or a CHECK that compares columns with
constants. If they do not, some row violates it, unless bounds are truncated. Spark's writer collects the statistics anyway. The
rows of a file are read only if its statistics do not prove the constraints; then all constraints are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.predicate import And, Column, Comparison, IsNotNull, columns
from bayou.plan.proofs import must_match
from bayou.plan.statistics.columns import from_json
from bayou.protocol.columns.constraints import ConstraintKind
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.partition_values import is_string_type
from bayou.protocol.types.schema import schema_to_json
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.types.types import contains_void, readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.plan.predicates.predicate import Path, Predicate
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.backend import Backend
    from bayou.spark.data_files.constraint_evaluation import RowRule
    from bayou.spark.data_files.target import WriteTarget

# Rules that are not proven need a second read of the files. So leave out those that rarely are: equality is proven only if all
# values are the same; NaN is greater than any bound; Parquet has no statistics for long strings.
_ORDERS: Final = ("<", "<=", ">", ">=")
_FLOATS: Final = ("float", "double")
_STATED: Final = (ConstraintKind.CHECK, ConstraintKind.INVARIANT)


@dataclass(frozen=True, slots=True)
class ProvenRules:
    """The rules of a write that statistics may prove.

    Attributes:
        rules: the rules.
        predicate: their conjunction, over physical paths.
        types: the types of its columns, by physical path.
    """

    rules: tuple[RowRule, ...]
    predicate: Predicate
    types: Mapping[Path, DataType]

    def doubtful(self, stats: Sequence[str | None]) -> list[int]:
        """Return the positions of the files whose statistics do not prove the rules.

        Args:
            stats: the statistics of each file, as the log stores them. Each file has rows.
        """
        if not self.rules or not stats:
            return []
        statistics = from_json(pa.array(stats, pa.string()), self.types)
        doubtful: list[int] = pc.indices_nonzero(pc.invert(must_match(self.predicate, statistics, {}))).to_pylist()
        return doubtful


NOTHING_PROVEN: Final = ProvenRules((), And(()), {})
"""For a write whose rules are all evaluated for each row."""


def proven_rules(backend: Backend, spark: SparkSession, rules: Sequence[RowRule], target: WriteTarget) -> ProvenRules:
    """Return the rules of a write that statistics can prove; nothing if a rule uses a column that files do not contain."""
    looked_at = {name for rule in rules for name in rule.columns}
    fields = [field for name in looked_at if (field := target.schema.field(name)) is not None]
    partitions = {name.lower() for name in target.partition_by}
    if any(field.name.lower() in partitions or contains_void(field.type) for field in fields):
        return NOTHING_PROVEN  # the rows of a file do not contain all columns of the rules
    indexed = indexed_leaves(target.schema, target.properties, target.partition_by)
    bounded: dict[Path, DataType] = {}
    for leaf in indexed:
        kind = leaf.field.type
        if leaf.has_bounds and isinstance(kind, str) and not is_string_type(kind):
            bounded[leaf.path] = kind
    predicates = _predicates(backend, spark, rules, target.schema)
    provable = {number: predicate for number, predicate in predicates.items() if _is_provable(predicate, bounded)}
    predicate = And(tuple(provable.values()))
    return ProvenRules(tuple(rules[number] for number in provable), predicate, {path: bounded[path] for path in columns(predicate)})


def _predicates(backend: Backend, spark: SparkSession, rules: Sequence[RowRule], schema: StructType) -> dict[int, Predicate]:
    """Return the predicates of rules, by their numbers, without rules that are never provable."""
    resolve = by_logical_name(schema)
    predicates: dict[int, Predicate] = {}
    with_sql = []
    for number, rule in enumerate(rules):
        if rule.constraint.kind is ConstraintKind.NOT_NULL:
            path = resolve(rule.constraint.column)
            predicates |= {} if path is None else {number: IsNotNull(Column(path[0]))}
        elif rule.constraint.kind in _STATED:
            with_sql.append(number)
    if with_sql:
        texts = [rules[number].constraint.expression for number in with_sql]
        trees = backend.expressions_in_json(spark, schema_to_json(as_nullable(readable_schema(schema))), texts)
        if trees is not None:
            predicates |= {number: from_catalyst([tree], resolve) for number, tree in zip(with_sql, trees, strict=True)}
    return predicates


def _is_provable(predicate: Predicate, bounded: Mapping[Path, DataType]) -> bool:
    match predicate:
        case And(children):
            return all(_is_provable(child, bounded) for child in children)
        case IsNotNull(column):
            return column.path in bounded
        case Comparison(op, column, literal):
            # Bounds leave out NaN, which is greater than any number, so they cannot prove < and <=.
            has_order = op in _ORDERS and not (op in {"<", "<="} and bounded.get(column.path) in _FLOATS)
            return has_order and column.path in bounded and literal.value is not None
        case _:
            return False
