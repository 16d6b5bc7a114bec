# SPDX-License-Identifier: Apache-2.0
"""Resolve the names in a MERGE to columns of the table and the source, and expand `*`. Spark's analyzer does the resolution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.types.schema import StructType, schema_to_json
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.backend import backend_of
from bayou.spark.data_files.target import merge_widening
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.resolution.evolution import Path, evolved_schema, lacks_fields
from bayou.spark.dml.merge.resolution.refusals import unresolved
from bayou.spark.dml.statements.assignments import checked_assignments
from bayou.spark.dml.statements.defaults import default_of
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.expressions.column_references import refuse_widened
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.casts import casts_implicitly
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, Named
from bayou.spark.jvm.catalyst.settled import at_one_instant
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations import plans
from bayou.spark.native.dml.assigned_values import typed_assignments
from bayou.spark.native.dml.subqueries import with_scalars
from bayou.spark.native.merge.resolution.assigned_names import AssignedNames
from bayou.spark.native.merge.resolution.refusals import checked_condition, inserted_values, refuse_functions
from bayou.spark.native.merge.resolution.resolved import Resolution, ResolvedClause
from bayou.spark.session.application import Application
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.dml.merge.resolution.clauses import Clause
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

    Pairs = list[tuple[Any, Any]]


_SIDES: Final = {Kind.MATCHED: "known_both", Kind.NOT_MATCHED: "source", Kind.NOT_MATCHED_BY_SOURCE: "known_target"}
"""The field of `Sides` with the plan whose columns the condition and the values of a clause may name.

A column that schema evolution adds is not in the `known_` plans: its name refers to the source's column.
"""


class Resolver:
    """Resolves one MERGE."""

    def __init__(
        self,
        jvm: Jvm,
        spark: SparkSession,
        snapshot: Snapshot,
        name: tuple[str, ...],
        source: JavaObject,
        *,
        evolves: bool,
        node: JavaObject | None = None,
        handed_out: JavaObject | None = None,
    ) -> None:
        """Prepare the resolution.

        Args:
            evolves: whether the table's schema may change.
            node: the table's node, if Spark has resolved the expressions against it.
            handed_out: the columns of DataFrames that `toDF()` returned, to which expressions may refer (see `row_changes.meant`).
        """
        self._bridge = jvm
        self._spark = spark
        self._snapshot = snapshot
        self._name = name
        self._source = source
        self._evolves = evolves
        self._node = node
        self._handed_out = handed_out
        self._reads_table = False
        self._source_schema = plans.schema_of(source)

    def resolve(self, condition: Any, clauses: Sequence[Clause]) -> Resolution:
        """Resolve the MERGE.

        Args:
            condition: the search condition: SQL, a column, or an expression of Catalyst.

        Raises:
            SchemaMismatchError: a column does not exist, a column is set twice, or a condition is not a boolean.
            UnsupportedFeatureError: a condition contains a subquery, an aggregate or a non-deterministic function.
            InvalidSchemaError: an identity column is set.
        """
        clauses = self._with_paths(clauses)
        schema = self._schema_after(clauses)
        visible = schema_to_json(as_nullable(readable_schema(schema)))
        num_before = len(self._snapshot.schema.fields)
        sides = catalyst.sides_of(self._bridge, self._spark, visible, self._name, self._source, self._node, known=num_before)
        apart: list[list[Path]] = [[] for _ in clauses]
        pairs = [self._pairs(clause, schema, paths) for clause, paths in zip(clauses, apart, strict=True)]
        expressions = self._all(sides, condition, clauses, pairs, apart)
        search = checked_condition(self._bridge, self._snapshot, expressions.condition, "search")
        self._check_sides(sides, condition, search)
        resolved = []
        for number, clause in enumerate(clauses):
            when = expressions.conditions[number]
            if when is not None:
                when = checked_condition(self._bridge, self._snapshot, when, clause.action.value.upper())
            assignments = self._assignments(clause, expressions.pairs[number])
            resolved.append(ResolvedClause(number, clause.kind, clause.action, when, assignments, expressions.apart[number]))
        return Resolution(sides, search, tuple(resolved), schema, self._evolves, self._reads_table)

    def _with_paths(self, clauses: Sequence[Clause]) -> list[Clause]:
        """Return the clauses. With schema evolution, the names of assigned columns become paths."""
        if not self._evolves:
            return list(clauses)
        names = AssignedNames(self._bridge, self._spark, self._snapshot, self._name, self._source, self._source_schema)
        return [
            each
            if each.kind is Kind.NOT_MATCHED_BY_SOURCE or each.assignments is None
            else replace(each, assignments=[(names.path(each, key), value) for key, value in each.pairs])
            for each in clauses
        ]

    def _schema_after(self, clauses: Sequence[Clause]) -> StructType:
        schema = self._snapshot.schema
        if not self._evolves:
            return schema
        assigned = [key for clause in clauses if clause.kind is not Kind.NOT_MATCHED_BY_SOURCE for key, _ in clause.pairs]
        after = evolved_schema(
            schema,
            as_nullable(readable_schema(self._source_schema)),
            assigned,
            has_star=any(clause.is_star for clause in clauses),
            widening=merge_widening(self._snapshot),
            casts=partial(casts_implicitly, self._bridge),
            uri=self._snapshot.table_uri,
            version=self._snapshot.version,
        )
        refuse_widened(backend_of(self._spark), self._spark, self._snapshot, after)
        return after

    def _pairs(self, clause: Clause, schema: StructType, apart: list[Path]) -> Pairs:
        """Return the assigned columns and their values, unresolved, with `*` expanded (see `_star` for `apart`)."""
        if not clause.is_star:
            return [
                (Named(key) if isinstance(key, str) else key, self._with_default(key, value, schema)) for key, value in clause.pairs
            ]
        pairs: Pairs = []
        for field in schema.fields:
            pairs += self._star(clause, field, self._source_schema, (), apart)
        return pairs

    def _with_default(self, key: Any, value: Any, schema: StructType) -> Any:
        """Return the assigned value. If it is the keyword DEFAULT of a SQL statement, return the column's default instead.

        If Spark has resolved the statement (`node`), it has replaced the keyword already.
        """
        if self._node is not None or isinstance(value, (str, Column)) or not nodes.is_default(self._bridge, value):
            return value
        path = key if isinstance(key, tuple) else nodes.parts_of(self._bridge, key, self._name)
        field = schema.field(path[0]) if len(path) == 1 else None
        if field is None:  # fields of structs have no defaults; the unresolved name DEFAULT then raises an error
            return value
        return default_of(backend_of(self._spark), self._spark, field, schema, self._snapshot)

    def _star(self, clause: Clause, field: StructField, source: StructType, above: Path, apart: list[Path]) -> Pairs:
        """Return the assignments of `*` to a field of the table.

        If the source's struct lacks fields, an UPDATE with schema evolution sets the other fields one by one, so that the missing
        fields keep their values.

        Args:
            source: the source's struct at the same level.
            above: the path of the struct that contains the field; empty for a column.
            apart: receives the paths of structs whose fields are set one by one.
        """
        of_source = source.field(field.name)
        path = (*above, field.name)
        if of_source is None:
            if self._evolves or above or generation_expression(field) or is_identity(field) or CURRENT_DEFAULT in field.metadata:
                return []
            raise unresolved(self._snapshot, f"Cannot resolve {field.name} in {clause.action.value.upper()} clause", source.names)
        if clause.action is Action.UPDATE and self._evolves and lacks_fields(of_source, field):
            assert isinstance(field.type, StructType)  # noqa: S101  (what lacks fields is a struct)
            assert isinstance(of_source.type, StructType)  # noqa: S101
            apart.append(path)
            return [pair for inner in field.type.fields for pair in self._star(clause, inner, of_source.type, path, apart)]
        return [(path, path)]

    def _all(
        self, sides: catalyst.Sides, condition: Any, clauses: Sequence[Clause], pairs: Sequence[Pairs], apart: Sequence[list[Path]]
    ) -> _Expressions:
        """Resolve all expressions of the MERGE.

        Analysis is a slow call into the JVM. Therefore this collects the expressions by the side that they are resolved against,
        analyzes each side once, and then finds each result by its place in the list of its side.
        """
        collected: dict[str, list[Any]] = {"known_both": [condition]}
        collected |= {side: [] for side in ("known_target", "source", "own_source", "own_target")}
        # For each clause: the places of its condition, of its values and of its keys.
        places: list[tuple[tuple[str, int] | None, tuple[str, slice], tuple[str, slice]]] = []

        def collect(side: str, values: Sequence[Any]) -> slice:
            start = len(collected[side])
            collected[side] += values
            return slice(start, start + len(values))

        structs = []
        for clause, own, paths in zip(clauses, pairs, apart, strict=True):
            side = _SIDES[clause.kind]
            when = None if clause.condition is None else (side, collect(side, [clause.condition]).start)
            of_values = "own_source" if clause.is_star else side
            has_paths = bool(own) and isinstance(own[0][0], tuple)
            of_keys = "own_target" if has_paths else "known_target"
            keys, values = collect(of_keys, [key for key, _ in own]), collect(of_values, [value for _, value in own])
            places.append((when, (of_values, values), (of_keys, keys)))
            structs.append(collect("own_source", paths))
        try:
            analyzed = [self._resolved(getattr(sides, side), values, sides) for side, values in collected.items()]
        except catalyst.NotAnExpressionError:
            self._refuse_unusual(sides, condition, clauses, pairs)
            raise
        with_scalars = map(self._with_scalars, collected, at_one_instant(self._bridge, analyzed))
        resolved = dict(zip(collected, with_scalars, strict=True))
        conditions = [None if when is None else resolved[when[0]][when[1]] for when, _, _ in places]
        assigned = [row_changes.Pairs(resolved[table][keys], resolved[side][values]) for _, (side, values), (table, keys) in places]
        of_source = [
            {tuple(map(str.lower, path)): each for path, each in zip(paths, resolved["own_source"][place], strict=True)}
            for paths, place in zip(apart, structs, strict=True)
        ]
        return _Expressions(resolved["known_both"][0], conditions, assigned, of_source)

    def _with_scalars(self, side: str, values: ExpressionList) -> ExpressionList:
        """Replace the scalar subqueries of clauses by their values. The search condition may not contain a subquery."""
        if not len(values) or not values.has_subquery:
            return values
        first = 1 if side == "known_both" else 0  # leave out the search condition, which `checked_condition` refuses later
        replaced, reads_table = with_scalars(Application.of(self._spark), self._spark, self._snapshot, values[first:])
        self._reads_table = self._reads_table or reads_table
        return ExpressionList.joined(self._bridge, [values[:first], replaced])

    def _meant(self, value: Any, sides: catalyst.Sides) -> Any:
        """Replace columns that the user took from DataFrames of `toDF()` by the table's columns."""
        if self._handed_out is None or not isinstance(value, Column):
            return value
        tree = nodes.expression(self._bridge, self._spark, value)
        return row_changes.meant(self._bridge, tree, self._handed_out, plans.output(sides.target), plans.output(sides.source))

    def _check_sides(self, sides: catalyst.Sides, condition: Any, search: JavaObject) -> None:
        """Raise an error for a search condition over the source alone, if the source has columns of the table's own DataFrames.

        If the source is derived from `table.toDF()`, both sides of `table.toDF().id == source.id` are the same column, and every
        pair of rows would match.

        Args:
            condition: the condition as the user passed it.
            search: the resolved condition.
        """
        if self._handed_out is None or not isinstance(condition, Column):
            return
        columns = nodes.references_of(self._bridge, search)
        if not columns or not plans.only_from(sides.source, columns):
            return
        used = {plans.id_of(each) for each in columns}
        if any(each in used for each in plans.ids_in(self._bridge, self._handed_out)):
            raise failed(
                "AMBIGUOUS_REFERENCE", at=self._snapshot, condition=nodes.text_of(search), problems=(nodes.text_of(search),)
            )

    def _resolved(self, plan: JavaObject, values: Sequence[Any], sides: catalyst.Sides) -> ExpressionList:
        try:
            return catalyst.resolved(self._bridge, self._spark, plan, [self._meant(each, sides) for each in values])
        except AnalysisException as error:
            if error_class_of(error).startswith("UNRESOLVED_COLUMN"):
                raise unresolved(self._snapshot, str(error).split("\n", 1)[0], plans.schema_of(plan).names) from error
            if error_class_of(error) == "AMBIGUOUS_REFERENCE":
                found = error.getMessageParameters() or {}
                column, columns = found.get("name", ""), found.get("referenceNames", "")
                raise failed("AMBIGUOUS_REFERENCE/merge", at=self._snapshot, column=column, columns=columns) from None
            raise

    def _refuse_unusual(self, sides: catalyst.Sides, condition: Any, clauses: Sequence[Clause], pairs: Sequence[Pairs]) -> None:
        """Find the expression that Spark only allows in queries, and raise its error: `_all` analyzed all expressions together."""
        candidates: list[tuple[str | None, str, Any]] = [("search", "known_both", condition)]
        for clause, own in zip(clauses, pairs, strict=True):
            side = _SIDES[clause.kind]
            if clause.condition is not None:
                candidates.append((clause.action.value.upper(), side, clause.condition))
            candidates += [] if clause.is_star else [(None, side, value) for _, value in own]
        for name, side, value in candidates:
            refuse_functions(self._bridge, self._spark, self._snapshot, getattr(sides, side), self._meant(value, sides), name)

    def _assignments(self, clause: Clause, pairs: row_changes.Pairs) -> tuple[Assignment, ...]:
        if clause.action is Action.INSERT:
            return inserted_values(self._snapshot, pairs)
        return checked_assignments(typed_assignments(pairs, self._snapshot), self._snapshot)


@dataclass(frozen=True, slots=True)
class _Expressions:
    """The resolved expressions of a MERGE. The lists have one item for each clause.

    Attributes:
        condition: the search condition.
        conditions: the condition of the clause; None without one.
        pairs: the assigned columns and their values.
        apart: the source's structs whose fields are set one by one (see `ResolvedClause.apart`).
    """

    condition: JavaObject
    conditions: list[JavaObject | None]
    pairs: list[row_changes.Pairs]
    apart: list[dict[Path, JavaObject]]
