# SPDX-License-Identifier: Apache-2.0
"""Resolve the condition and the clauses of a MERGE: assigned names here, all else by one analysis of the server for each side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import identity_columns, is_identity
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.data_files.target import merge_widening
from bayou.spark.dml.core.statement import Assignment
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.resolution.evolution import evolved_schema, lacks_fields
from bayou.spark.dml.merge.resolution.refusals import checked_inserts, unresolved
from bayou.spark.dml.statements.assignments import checked_assignments
from bayou.spark.portable.dml.expr import STEADY, PortableExpr, Scope
from bayou.spark.portable.dml.instants import at_one_instant
from bayou.spark.portable.dml.resolver import StatementResolution
from bayou.spark.portable.merge.resolved import GivenValues, PortableClause, PortableResolution
from bayou.spark.portable.merge.source import copy_of
from bayou.spark.portable.text.tree import Name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.dml.merge.resolution.clauses import Clause
    from bayou.spark.portable.merge.source import PortableSource

_METADATA = "_metadata"


class MergeResolution:
    """The resolution of one MERGE."""

    def __init__(self, request: MergeRequest, snapshot: Snapshot, source: PortableSource) -> None:
        self._request, self._snapshot, self._source = request, snapshot, source
        self._statement = StatementResolution(request.target, snapshot, request.name)
        self._scope = Scope(snapshot.schema, request.name, request.settings, request.target.spark)

    def resolve(self) -> PortableResolution:
        """Resolve the MERGE. Runs no job on the table.

        Raises:
            SchemaMismatchError: a column does not exist, a column is set twice, or a condition is not a boolean.
            UnsupportedFeatureError: an expression or the table has what this session cannot do.
            InvalidSchemaError: an identity column is set.
        """
        request, snapshot = self._request, self._snapshot
        inserts = any(each.action is Action.INSERT for each in request.clauses)
        if inserts and identity_columns(snapshot.schema):
            raise not_possible(snapshot, "an INSERT clause of MERGE into a table with identity columns")
        clauses = self._at_one_instant()
        schema = self._schema_after()
        search = self._made(clauses[0][0])
        conditions = [None if when is None else self._made(when) for when, _ in clauses[1:]]
        pairs = [self._pairs(clause, values) for clause, (_, values) in zip(request.clauses, clauses[1:], strict=True)]
        for each, name in [(search, "search"), *zip(conditions, (c.action.value.upper() for c in request.clauses), strict=True)]:
            if each is not None:
                self._check_condition(each, name)
        search, conditions, typed = self._typed(search, conditions, pairs)
        resolved = []
        for number, (clause, when, values) in enumerate(zip(request.clauses, conditions, typed, strict=True)):
            own = self._star(clause, schema) if clause.is_star else values
            checked = checked_inserts(snapshot, own) if clause.action is Action.INSERT else checked_assignments(own, snapshot)
            resolved.append(PortableClause(number, clause.kind, clause.action, when, checked))
        return PortableResolution(search, tuple(resolved), schema)

    def _at_one_instant(self) -> list[tuple[Any, list[Any]]]:
        """Return the search condition, and the condition and values of each clause, in whose texts the time is the same."""
        request = self._request
        given = [request.condition]
        for clause in request.clauses:
            given += [clause.condition, *(value for _, value in clause.pairs)]
        known = StructType((*self._snapshot.schema.fields, *self._source.schema.fields))
        made = iter(at_one_instant(request.target.spark, given, known, request.settings))
        found: list[tuple[Any, list[Any]]] = [(next(made), [])]
        found.extend((next(made), [next(made) for _ in clause.pairs]) for clause in request.clauses)
        return found

    def _made(self, given: Any) -> PortableExpr:
        return PortableExpr.of(given, self._scope)

    def _schema_after(self) -> StructType:
        """Return the table's schema after the MERGE."""
        request, snapshot = self._request, self._snapshot
        if not request.may_evolve:
            return snapshot.schema
        changing = [each for each in request.clauses if each.kind is not Kind.NOT_MATCHED_BY_SOURCE]
        after = evolved_schema(
            snapshot.schema,
            self._source.schema,
            [self._path(clause, key) for clause in changing for key, _ in clause.pairs],
            has_star=any(each.is_star for each in request.clauses),
            widening=merge_widening(snapshot),
            casts=lambda wanted, given: isinstance(wanted, str) and isinstance(given, str),
            uri=snapshot.table_uri,
            version=snapshot.version,
        )
        if any((old := snapshot.schema.field(new.name)) is not None and old.type != new.type for new in after.fields):
            raise not_possible(snapshot, "a MERGE that changes the type of a column")
        return after

    def _path(self, clause: Clause, key: Any) -> tuple[str, ...]:
        """Return the path of a column that a clause sets: the table's, or with schema evolution a new one of the source."""
        tree = self._made(key).tree
        parts = tree.parts if isinstance(tree, Name) else ()
        field = self._source.schema.field(parts[-1]) if parts else None
        is_short = len(parts) == 1 or tuple(map(str.lower, parts[:-1])) == tuple(map(str.lower, self._request.name[-1:]))
        may_be_new = self._request.may_evolve and clause.kind is not Kind.NOT_MATCHED_BY_SOURCE
        if may_be_new and field is not None and is_short and self._snapshot.schema.field(parts[-1]) is None:
            return (field.name,)
        return self._statement.path(key)

    def _pairs(self, clause: Clause, values: Sequence[Any]) -> list[tuple[tuple[str, ...], PortableExpr]]:
        """Return the assigned paths and their values before the analysis; none for `*`."""
        found = []
        for (key, _), value in zip(clause.pairs, values, strict=True):
            path = self._path(clause, key)
            made = self._statement.value(path, value)
            self._check_value(made)
            found.append((path, made))
        return found

    def _star(self, clause: Clause, schema: StructType) -> tuple[Assignment, ...]:
        """Return the assignments of `*`: from the source's columns of the same names."""
        found: list[tuple[str, int, DataType]] = []
        for field in schema.fields:
            of_source = self._source.schema.field(field.name)
            if of_source is None:
                if self._request.may_evolve or _is_computed(field):
                    continue
                message = f"Cannot resolve {field.name} in {clause.action.value.upper()} clause"
                raise unresolved(self._snapshot, message, self._source.schema.names)
            if self._request.may_evolve and lacks_fields(of_source, field):
                raise not_possible(self._snapshot, "schema evolution of structs whose fields the source lacks in part")
            places = [place for place, name in enumerate(self._source.schema.names) if name.lower() == field.name.lower()]
            if len(places) > 1:
                raise failed("AMBIGUOUS_REFERENCE/merge", at=self._snapshot, column=field.name, columns=f"[{of_source.name}]")
            found.append((field.name, places[0], of_source.type))
        values = GivenValues(tuple(F.col(copy_of(place)) for _, place, _ in found))
        return tuple(Assignment((name,), values, number, kind) for number, (name, _, kind) in enumerate(found))

    def _check_condition(self, each: PortableExpr, name: str) -> None:
        facts, snapshot = each.facts, self._snapshot
        refused = None
        if each.has_subquery:
            refused = "Subqueries", "DELTA_UNSUPPORTED_SUBQUERY"
        elif facts is not None and facts.has_aggregate:
            refused = "Aggregate functions", "DELTA_AGGREGATION_NOT_SUPPORTED"
        elif facts is not None and not facts.is_deterministic:
            refused = "Non-deterministic functions", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"
        if refused is not None:
            raise failed(
                "unsupported-in-merge-condition",
                at=snapshot,
                error_class=refused[1],
                operation=name,
                condition=each.shown,
                features=(refused[0],),
            )
        if not self._is_steady(each):  # the MERGE evaluates it several times
            raise not_possible(snapshot, f"the condition {each.shown} of MERGE, which calls a function that bayou does not know,")
        self._check_metadata(each)

    def _check_value(self, each: PortableExpr) -> None:
        if each.has_subquery:
            what = "a subquery in MERGE"
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", at=self._snapshot, what=what, features=("Spark Connect",))
        self._check_metadata(each)

    def _check_metadata(self, each: PortableExpr) -> None:
        used = {part.lower() for path in each.facts.parsed.columns for part in path[:2]} if each.facts is not None else set()
        if _METADATA in used and self._snapshot.schema.field(_METADATA) is None and self._source.schema.field(_METADATA) is None:
            raise failed("DELTA_CANNOT_RESOLVE_COLUMN", at=self._snapshot, features=("_metadata in conditions and values",))

    def _is_steady(self, each: PortableExpr) -> bool:
        """Whether an expression has the same value at every evaluation. A name other than a column may be a function."""
        facts = each.facts
        if facts is None or not facts.parsed.functions <= STEADY:
            return False
        schemas = self._snapshot.schema, self._source.schema
        return all(len(path) > 1 or any(each.field(path[0]) is not None for each in schemas) for path in facts.parsed.columns)

    def _typed(
        self,
        search: PortableExpr,
        conditions: Sequence[PortableExpr | None],
        pairs: Sequence[Sequence[tuple[tuple[str, ...], PortableExpr]]],
    ) -> tuple[PortableExpr, list[PortableExpr | None], list[tuple[Assignment, ...]]]:
        """Let the server analyse the expressions, and return them with their types."""
        rows = self._statement.no_rows()
        both = rows.crossJoin(self._source.frame)
        sides: Mapping[Kind, DataFrame] = {
            Kind.MATCHED: both,
            Kind.NOT_MATCHED: self._source.frame,
            Kind.NOT_MATCHED_BY_SOURCE: rows,
        }
        kinds = [each.kind for each in self._request.clauses]
        collected: dict[Kind, list[PortableExpr]] = {kind: [] for kind in Kind}
        collected[Kind.MATCHED].append(search)
        for kind, when, own in zip(kinds, conditions, pairs, strict=True):
            collected[kind] += [*([] if when is None else [when]), *(value for _, value in own)]
        typed = {kind: iter(self._analysed(sides[kind], each)) for kind, each in collected.items()}
        search = self._as_condition(next(typed[Kind.MATCHED]), "search")
        whens: list[PortableExpr | None] = []
        assigned = []
        for clause, when, own in zip(self._request.clauses, conditions, pairs, strict=True):
            found = typed[clause.kind]
            whens.append(None if when is None else self._as_condition(next(found), clause.action.value.upper()))
            values = [next(found) for _ in own]
            given = GivenValues(tuple(each.column for each in values))
            kinds_of = [each.type for each in values]
            assigned.append(
                tuple(
                    Assignment(path, given, place, kind)
                    for place, ((path, _), kind) in enumerate(zip(own, kinds_of, strict=True))
                    if kind is not None
                )
            )
        return search, whens, assigned

    def _analysed(self, frame: DataFrame, given: Sequence[PortableExpr]) -> list[PortableExpr]:
        if not given:
            return []
        columns = [each.column.alias(f"v{place}") for place, each in enumerate(given)]
        try:
            # As parts of a condition, where only values of a row may be.
            analysed = frame.where(F.struct(*columns).isNotNull()).select(*columns).schema
        except AnalysisException as error:
            found = error.getMessageParameters() or {}
            name = error.getCondition() or ""
            if name.startswith("UNRESOLVED_COLUMN"):
                names = dict.fromkeys((*self._snapshot.schema.names, *self._source.schema.names))
                raise unresolved(self._snapshot, str(error).split("\n", 1)[0], list(names)) from error
            if name == "AMBIGUOUS_REFERENCE":
                column, columns_shown = found.get("name", ""), found.get("referenceNames", "")
                raise failed("AMBIGUOUS_REFERENCE/merge", at=self._snapshot, column=column, columns=columns_shown) from None
            raise
        types = [field.type for field in parse_schema(analysed.json()).fields]
        if len(types) != len(given):
            raise not_possible(self._snapshot, "a star in an expression of MERGE")
        return [replace(each, type=kind) for each, kind in zip(given, types, strict=True)]

    def _as_condition(self, each: PortableExpr, name: str) -> PortableExpr:
        if not each.is_boolean:
            raise failed(
                "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE" if name == "search" else "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
                at=self._snapshot,
                operation=f"{name} clause of the MERGE",
                condition=each.shown,
                type=each.sql_type,
                problems=("not a boolean",),
            )
        return each


def not_possible(snapshot: Snapshot, what: str) -> DeltaError:
    """Return the error for what a session of Spark Connect cannot do."""
    return failed("DELTA_OPERATION_NOT_ALLOWED/connect", at=snapshot, what=what, features=("Spark Connect",))


def _is_computed(field: StructField) -> bool:
    return generation_expression(field) is not None or is_identity(field) or CURRENT_DEFAULT in field.metadata
