# SPDX-License-Identifier: Apache-2.0
"""`PortableExpr`: an expression as its text or as one of PySpark's columns, with what bayou can read in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.predicates.predicate import Unknown
from bayou.protocol.columns.expression_functions import GENERATED_COLUMN_FUNCTIONS
from bayou.protocol.types.schema import VOID_TYPES
from bayou.spark.portable.client import message_of
from bayou.spark.portable.names import with_path_alias
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import conjuncts, facts_of
from bayou.spark.portable.text.filter_values import zone_of
from bayou.spark.portable.text.filters import Table, predicate_of
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.protobufs import expression_of
from bayou.spark.portable.text.tree import Literal, Name, UnreadableTextError
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, SparkSession

    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.expr import Expr
    from bayou.spark.portable.text.facts import Facts
    from bayou.spark.portable.text.tree import Expression

STEADY: Final = GENERATED_COLUMN_FUNCTIONS - {"now", "unix_timestamp"}
"""Functions of Spark that give the same value at every evaluation, in every query."""
_QUERY: Final = re.compile(r"\bselect\b", re.IGNORECASE)
_SHOWN: Final = re.compile(r"Column<'(.*)'>", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Scope:
    """What an expression of a statement may use.

    Attributes:
        schema: the table's columns.
        name: the table's alias, or an empty tuple.
        settings: the session's settings.
        spark: the session.
    """

    schema: StructType
    name: tuple[str, ...]
    settings: Mapping[str, str] = field(repr=False)
    spark: SparkSession | None = None

    @property
    def table(self) -> Table:
        """The table, for the reading of names."""
        called = tuple(each.lower() for each in self.name)
        return Table(self.schema, [called[place:] for place in range(len(called))])


@dataclass(frozen=True, eq=False)
class PortableExpr:
    """An implementation of `Expr`.

    Attributes:
        given: SQL text, or a column.
        scope: the table and the session.
        tree: the expression as bayou reads it; None if it cannot read it.
        type: its type; None before the server has analysed it.
        constant: the value of a condition that is the same for every row; None for others.
    """

    given: str | Column
    scope: Scope
    tree: Expression | None = None
    type: DataType | None = None
    constant: bool | None = None

    @classmethod
    def of(cls, given: str | Column, scope: Scope) -> PortableExpr:
        """Return an expression before its analysis."""
        dialect = Dialect.of(scope.settings)
        try:
            if isinstance(given, str):
                return cls(given, scope, read_expression(given, dialect))
            message = None if scope.spark is None else message_of(given, scope.spark)
            return cls(given, scope, None if message is None else expression_of(message, dialect))
        except UnreadableTextError:
            return cls(given, scope)

    @cached_property
    def facts(self) -> Facts | None:
        """What is known of the expression; None if it cannot be read."""
        return None if self.tree is None else facts_of(self.tree, self._written)

    @property
    def sql(self) -> str:
        """The expression as it was given; a column as PySpark shows it."""
        return with_path_alias(self._written, self.scope.name[-1]) if self.scope.name else self._written

    @property
    def _written(self) -> str:
        if isinstance(self.given, str):
            return self.given.strip()
        found = _SHOWN.fullmatch(str(self.given))
        return str(self.given) if found is None else found[1]

    @property
    def shown(self) -> str:
        """The expression for users."""
        return self.sql

    @property
    def sql_type(self) -> str:
        """Its type in SQL."""
        return "" if self.type is None else sql_type(self.type).upper()

    @property
    def is_boolean(self) -> bool:
        """Whether it is a condition."""
        return self.type == "boolean" or self.type in VOID_TYPES

    @property
    def as_condition(self) -> Column:
        """The column of a condition. NULL becomes a boolean, because Spark refuses it in joins and CASE otherwise."""
        return self.column.cast("boolean") if self.type in VOID_TYPES else self.column

    @cached_property
    def conjuncts(self) -> Sequence[Expr]:
        """The conditions whose conjunction is the condition. An expression of a column stays whole."""
        parts = () if self.tree is None else conjuncts(self.tree)
        if not isinstance(self.given, str) or len(parts) < 2:  # noqa: PLR2004  (a conjunction has two parts or more)
            return [self]
        return [replace(self, given=self.given[part.start : part.end], tree=part) for part in parts]

    @property
    def names(self) -> frozenset[str]:
        """The names of the columns that it uses; all names if that is not known."""
        if self.facts is None:
            return frozenset(self.scope.schema.names)
        table = self.scope.table
        return frozenset((table.path_of(Name(path)) or path)[0] for path in self.facts.parsed.columns)

    @property
    def uses_columns(self) -> bool:
        """Whether it may use a column, as a subquery may."""
        return self.facts is None or self.facts.has_subquery or bool(self.facts.parsed.columns)

    @property
    def has_subquery(self) -> bool:
        """Whether it contains a subquery. SQL that bayou cannot parse counts as one if it has the word SELECT."""
        if self.facts is not None:
            return self.facts.has_subquery
        return isinstance(self.given, str) and _QUERY.search(self.given) is not None

    @property
    def is_steady(self) -> bool:
        """Whether it certainly has the same value at every evaluation for the same row: it calls only known functions.

        A name of something else than a column may be a function, such as `current_time`.
        """
        facts, schema = self.facts, self.scope.schema
        if facts is None or facts.has_subquery or not facts.is_deterministic or not facts.parsed.functions <= STEADY:
            return False
        return all(schema.field(name) is not None for name in self.names)

    @property
    def needs_query(self) -> bool:
        """Whether it may call functions that bayou does not know."""
        return not self.is_steady

    @property
    def calls_foreign_code(self) -> bool:
        """Whether it may call functions that bayou does not know, or that give other values later, such as `now`."""
        return not self.is_steady

    @property
    def column(self) -> Column:
        """The expression as one of PySpark's columns."""
        return F.expr(f"{self.given}\n") if isinstance(self.given, str) else self.given

    def predicate(self, schema: StructType) -> Predicate:
        """Return the condition for pruning."""
        if self.tree is None:
            return Unknown()
        zone = zone_of(self.scope.settings)
        return predicate_of(self.tree, replace(self.scope.table, schema=schema), time_zone=zone)

    @property
    def is_constant(self) -> bool:
        """Whether it certainly has the same value for each row."""
        return self.is_steady and not self.uses_columns

    @property
    def literal(self) -> bool | None:
        """The value of the literals TRUE and FALSE; None for other expressions."""
        is_boolean = isinstance(self.tree, Literal) and isinstance(self.tree.value, bool)
        return bool(self.tree.value) if is_boolean and isinstance(self.tree, Literal) else None
