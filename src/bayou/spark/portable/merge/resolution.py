# SPDX-License-Identifier: Apache-2.0
"""Resolve the condition and the clauses of a MERGE: assigned names here, all else by one analysis of the server for each side."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.data_files.target import merge_widening
from bayou.spark.dml.core.statement import Assignment
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.resolution.evolution import evolved_schema, lacks_fields
from bayou.spark.dml.merge.resolution.refusals import checked_inserts, unresolved
from bayou.spark.dml.statements.assignments import checked_assignments
from bayou.spark.expressions.column_references import refuse_widened
from bayou.spark.portable.casts import casts_implicitly
from bayou.spark.portable.dml.constants import check_constants
from bayou.spark.portable.dml.expr import STEADY, PortableExpr, Scope
from bayou.spark.portable.dml.instants import at_one_instant
from bayou.spark.portable.dml.own_frames import check_uses_table, explaining_on_classic, numbered_as, numbers_of
from bayou.spark.portable.dml.queried_tables import may_query
from bayou.spark.portable.dml.resolver import StatementResolution
from bayou.spark.portable.dml.scalar_queries import with_scalars
from bayou.spark.portable.dml.statement import named
from bayou.spark.portable.merge.assigned_names import AssignedNames, no_path
from bayou.spark.portable.merge.resolved import GivenValues, PortableClause, PortableResolution
from bayou.spark.portable.merge.sides import Sides
from bayou.spark.portable.merge.source import copy_of
from bayou.spark.portable.text.tree import Name
from bayou.spark.types.aligned_sql import aligned
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.dml.merge.resolution.clauses import Clause
    from bayou.spark.portable.merge.source import PortableSource

_METADATA = "_metadata"
_OWN_SUGGESTION = re.compile(r", `__bayou_\w+`")
"""A column of bayou's among those that the server suggests."""
_OF_THE_TIME = frozenset(
    {"now", "current_timestamp", "current_date", "curdate", "localtimestamp", "unix_timestamp", "current_time", "localtime"}
)
_RANDOM = ("Non-deterministic functions", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED")


class MergeResolution:
    """The resolution of one MERGE.

    Attributes:
        numbers: the numbers of the table's own DataFrames whose columns its expressions use.
    """

    def __init__(self, request: MergeRequest, snapshot: Snapshot, source: PortableSource) -> None:
        self._request, self._snapshot, self._source = request, snapshot, source
        given = [request.condition, *(each for clause in request.clauses for each in clause.given)]
        self.numbers = numbers_of(request.target, snapshot, given)
        self._statement = StatementResolution(request.target, snapshot, request.name, self.numbers)
        self._scope = Scope(snapshot.schema, request.name, request.settings, request.target.spark)
        self._names = AssignedNames(snapshot, request.name, source.schema, source.alias, request.may_evolve)

    def resolve(self) -> PortableResolution:
        """Resolve the MERGE. Runs no job on the table, but the queries of scalar subqueries.

        Raises:
            SchemaMismatchError: a column does not exist, a column is set twice, or a condition is not a boolean.
            UnsupportedFeatureError: an expression or the table has what this session cannot do.
            InvalidSchemaError: an identity column is set.
        """
        request, snapshot = self._request, self._snapshot
        clauses, queries_read = self._with_scalars(self._at_one_instant())
        schema = self._schema_after()
        search = self._made(clauses[0][0])
        conditions = [None if when is None else self._made(when) for when, _ in clauses[1:]]
        pairs = [self._pairs(clause, values) for clause, (_, values) in zip(request.clauses, clauses[1:], strict=True)]
        for each, name in [(search, "search"), *zip(conditions, (c.action.value.upper() for c in request.clauses), strict=True)]:
            if each is not None:
                self._check_condition(each, name)
        search, conditions, typed = self._typed(schema, search, conditions, pairs)
        check_uses_table(search.given, self._source.frame, snapshot)
        resolved = []
        for number, (clause, when, values) in enumerate(zip(request.clauses, conditions, typed, strict=True)):
            apart: dict[tuple[str, ...], Column] = {}
            own = self._star(clause, schema, apart) if clause.is_star else values
            checked = checked_inserts(snapshot, own) if clause.action is Action.INSERT else checked_assignments(own, snapshot)
            reads_table = any(self._may_read_table(value) for _, value in pairs[number])
            resolved.append(PortableClause(number, clause.kind, clause.action, when, checked, reads_table, apart))
        return PortableResolution(search, tuple(resolved), schema, request.may_evolve, queries_read)

    def _with_scalars(self, clauses: list[tuple[Any, list[Any]]]) -> tuple[list[tuple[Any, list[Any]]], bool]:
        """Replace scalar subqueries of the clauses by their values. The search condition may not contain a subquery."""
        request, found, reads_table = self._request, clauses[:1], False
        for when, values in clauses[1:]:
            (new_when, *new_values), evaluated = with_scalars(request.target.spark, [when, *values], request.settings)
            found.append((new_when, new_values))
            reads_table = reads_table or (evaluated and self._may_query([when, *values]))
        return found, reads_table

    def _may_query(self, given: Sequence[Any]) -> bool:
        """Whether the subqueries of expressions may read the table."""
        texts = [each for each in given if isinstance(each, str)]
        return may_query(self._snapshot.table_uri, texts, self._request.settings)

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
            casts=casts_implicitly,
            uri=snapshot.table_uri,
            version=snapshot.version,
        )
        refuse_widened(request.target.application.backend, request.target.spark, snapshot, after)
        return after

    def _path(self, clause: Clause, key: Any) -> tuple[str, ...]:
        """Return the path of a column that a clause sets: the table's, or with schema evolution a new one of the source."""
        made = self._made(key)
        if not isinstance(made.tree, Name):
            raise no_path(self._snapshot, made.shown)
        names = replace(self._names, evolves=False) if clause.kind is Kind.NOT_MATCHED_BY_SOURCE else self._names
        return names.path(clause, made.tree.parts, made.shown)

    def _pairs(self, clause: Clause, values: Sequence[Any]) -> list[tuple[tuple[str, ...], PortableExpr]]:
        """Return the assigned paths and their values before the analysis; none for `*`."""
        found = []
        for (key, _), value in zip(clause.pairs, values, strict=True):
            path = self._path(clause, key)
            made = self._statement.value(path, value)
            self._check_value(made)
            found.append((path, made))
        return found

    def _star(self, clause: Clause, schema: StructType, apart: dict[tuple[str, ...], Column]) -> tuple[Assignment, ...]:
        """Return the assignments of `*`: from the source's columns of the same names.

        Args:
            apart: receives the source's structs whose fields are set one by one (see `PortableClause`).
        """
        found: list[tuple[tuple[str, ...], Column, DataType]] = []
        for field in schema.fields:
            of_source = self._source.schema.field(field.name)
            if of_source is None:
                if self._request.may_evolve or _is_computed(field):
                    continue
                message = f"Cannot resolve {field.name} in {clause.action.value.upper()} clause"
                raise unresolved(self._snapshot, message, self._source.schema.names)
            places = [place for place, name in enumerate(self._source.schema.names) if name.lower() == field.name.lower()]
            if len(places) > 1:
                raise failed("AMBIGUOUS_REFERENCE/merge", at=self._snapshot, column=field.name, columns=f"[{of_source.name}]")
            found += self._fields_of_star(clause, field, of_source, (F.col(copy_of(places[0])), ()), apart)
        values = GivenValues(tuple(value for _, value, _ in found))
        return tuple(Assignment(path, values, number, kind) for number, (path, _, kind) in enumerate(found))

    def _fields_of_star(
        self,
        clause: Clause,
        field: StructField,
        of_source: StructField,
        place: tuple[Column, tuple[str, ...]],
        apart: dict[tuple[str, ...], Column],
    ) -> list[tuple[tuple[str, ...], Column, DataType]]:
        """Return the assignments of `*` to a column or to a field of a struct.

        If the source's struct lacks fields, an UPDATE with schema evolution sets the other fields one by one, so that the missing
        fields keep their values.

        Args:
            place: the source's value, and the path of the struct that contains the field.
        """
        value, above = place
        path = (*above, field.name)
        is_whole = clause.action is not Action.UPDATE or not self._request.may_evolve or not lacks_fields(of_source, field)
        if is_whole or not isinstance(field.type, StructType) or not isinstance(of_source.type, StructType):
            return [(path, value, of_source.type)]
        apart[tuple(map(str.lower, path))] = value
        found = []
        for inner in field.type.fields:
            twin = of_source.type.field(inner.name)
            if twin is not None:
                found += self._fields_of_star(clause, inner, twin, (value.getField(twin.name), path), apart)
        return found

    def _check_condition(self, each: PortableExpr, name: str) -> None:
        facts = each.facts
        if each.has_subquery:
            raise self._unsupported(each, name, "Subqueries", "DELTA_UNSUPPORTED_SUBQUERY")
        if facts is not None and facts.has_aggregate:
            raise self._unsupported(each, name, "Aggregate functions", "DELTA_AGGREGATION_NOT_SUPPORTED")
        if facts is not None and not facts.is_deterministic:
            raise self._unsupported(each, name, *_RANDOM)
        schemas = self._snapshot.schema, self._source.schema
        names = set() if facts is None else {path[0] for path in facts.parsed.columns if not _is_column(path, schemas)}
        if facts is not None and not _OF_THE_TIME.isdisjoint({*facts.parsed.functions, *names}):  # in a column
            raise not_possible(self._snapshot, f"the condition {each.shown} of MERGE, which uses the current time in a column,")
        self._check_metadata(each)

    def _unsupported(self, each: PortableExpr, name: str, what: str, error_class: str) -> DeltaError:
        return failed(
            "unsupported-in-merge-condition",
            at=self._snapshot,
            error_class=error_class,
            operation=name,
            condition=each.shown,
            features=(what,),
        )

    def _may_read_table(self, each: PortableExpr) -> bool:
        """Whether a name in a value may be a column of the table. It is not if it is certainly one of the source."""
        sides = Sides(self._snapshot.schema, self._request.name, self._source.schema, self._source.alias)
        facts = each.facts
        return facts is None or facts.has_subquery or any(sides.of_source(path) is None for path in facts.parsed.columns)

    def _check_value(self, each: PortableExpr) -> None:
        if each.has_subquery:
            what = "a subquery in MERGE"
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", at=self._snapshot, what=what, features=("Spark Connect",))
        self._check_metadata(each)

    def _check_metadata(self, each: PortableExpr) -> None:
        used = {part.lower() for path in each.facts.parsed.columns for part in path[:2]} if each.facts is not None else set()
        if _METADATA in used and self._snapshot.schema.field(_METADATA) is None and self._source.schema.field(_METADATA) is None:
            raise failed("DELTA_CANNOT_RESOLVE_COLUMN", at=self._snapshot, features=("_metadata in conditions and values",))

    def _typed(
        self,
        schema: StructType,
        search: PortableExpr,
        conditions: Sequence[PortableExpr | None],
        pairs: Sequence[Sequence[tuple[tuple[str, ...], PortableExpr]]],
    ) -> tuple[PortableExpr, list[PortableExpr | None], list[tuple[Assignment, ...]]]:
        """Let the server analyse the expressions, and return them with their types."""
        rows = self._no_rows(schema)
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
        self._check_steady(both, search, "search")
        for clause, when in zip(self._request.clauses, conditions, strict=True):
            if when is not None:
                self._check_steady(sides[clause.kind], when, clause.action.value.upper())
        search = self._as_condition(next(typed[Kind.MATCHED]), "search")
        whens: list[PortableExpr | None] = []
        assigned = []
        constants: list[tuple[tuple[str, ...], PortableExpr]] = []
        for clause, when, own in zip(self._request.clauses, conditions, pairs, strict=True):
            found = typed[clause.kind]
            whens.append(None if when is None else self._as_condition(next(found), clause.action.value.upper()))
            values = [next(found) for _ in own]
            constants += zip((path for path, _ in own), values, strict=True)
            given = GivenValues(tuple(each.column for each in values))
            kinds_of = [each.type for each in values]
            assigned.append(
                tuple(
                    Assignment(path, given, place, kind)
                    for place, ((path, _), kind) in enumerate(zip(own, kinds_of, strict=True))
                    if kind is not None
                )
            )
        check_constants(self._request.target, self._snapshot, schema, constants)
        return search, whens, assigned

    def _no_rows(self, schema: StructType) -> DataFrame:
        """Return no rows with the table's columns as they are after the MERGE, without new columns, under its alias."""
        rows, before = self._statement.no_rows(), readable_schema(self._snapshot.schema)
        pairs = [(known, field) for field in readable_schema(schema).fields if (known := before.field(field.name)) is not None]
        texts = [(aligned(quoted_name(known.name), known.type, field.type), known.name) for known, field in pairs]
        if all(text == quoted_name(name) for text, name in texts):
            return rows
        rows = rows.select(*(F.expr(text).alias(name) for text, name in texts))
        return numbered_as(named(rows, self._request.name), self.numbers)

    def _check_steady(self, frame: DataFrame, each: PortableExpr, name: str) -> None:
        """Raise UnsupportedFeatureError if a condition is not deterministic: the MERGE evaluates it several times."""
        facts, schemas = each.facts, (self._snapshot.schema, self._source.schema)
        if (
            facts is not None
            and facts.parsed.functions <= STEADY
            and all(_is_column(path, schemas) for path in facts.parsed.columns)
        ):
            return
        try:
            # Spark allows only deterministic conditions in a join.
            _ = frame.join(self._request.target.spark.range(1).select(), each.column.isNotNull()).schema
        except AnalysisException as error:
            if "NON_DETERMINISTIC" in (error.getCondition() or ""):
                raise self._unsupported(each, name, *_RANDOM) from None

    def _analysed(self, frame: DataFrame, given: Sequence[PortableExpr]) -> list[PortableExpr]:
        if not given:
            return []
        columns = [each.column.alias(f"v{place}") for place, each in enumerate(given)]
        try:
            # As parts of a condition, where only values of a row may be.
            with explaining_on_classic(self._request.target.spark, self._snapshot):
                analysed = frame.where(F.struct(*columns).isNotNull()).select(*columns).schema
        except AnalysisException as error:
            found = error.getMessageParameters() or {}
            name = error.getCondition() or ""
            if name.startswith("UNRESOLVED_COLUMN"):
                names = dict.fromkeys((*self._snapshot.schema.names, *self._source.schema.names))
                message = _OWN_SUGGESTION.sub("", str(error).split("\n", 1)[0])
                raise unresolved(self._snapshot, message, list(names)) from error
            if name == "AMBIGUOUS_REFERENCE":
                column, columns_shown = found.get("name", ""), found.get("referenceNames", "")
                raise failed("AMBIGUOUS_REFERENCE/merge", at=self._snapshot, column=column, columns=columns_shown) from None
            if name == "AMBIGUOUS_COLUMN_REFERENCE":  # the source is made of a DataFrame of the table
                shown = given[0].shown
                raise failed("AMBIGUOUS_REFERENCE", at=self._snapshot, condition=shown, problems=(shown,)) from None
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


def _is_column(path: tuple[str, ...], schemas: Sequence[StructType]) -> bool:
    """Whether a name is that of a column. Otherwise it may be a function without parentheses."""
    return len(path) > 1 or any(each.field(path[0]) is not None for each in schemas)


def _is_computed(field: StructField) -> bool:
    return generation_expression(field) is not None or is_identity(field) or CURRENT_DEFAULT in field.metadata
