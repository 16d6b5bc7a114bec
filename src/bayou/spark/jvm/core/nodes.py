# SPDX-License-Identifier: Apache-2.0
"""Expressions as nodes of Catalyst, one at a time: made of SQL and of columns, given back as such, and what one is made of."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import Column

from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.session import java_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

COLUMN = "org.apache.spark.sql.Column"
_COLUMNS = "org.apache.spark.sql.classic.ExpressionUtils"
"""Makes columns of expressions where a column has no constructor that takes one."""
_EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"

_TOLD_BY_EQUALITY: Final = frozenset(
    {"boolean", "byte", "short", "integer", "long", "string", "binary", "date", "timestamp", "timestamp_ntz"}
)


def expression(jvm: Jvm, spark: SparkSession, given: Any) -> JavaObject:
    """A Catalyst expression of SQL text or of a column; one that is given is itself."""
    if isinstance(given, str):
        return java_session(spark).sessionState().sqlParser().parseExpression(given)
    if not isinstance(given, Column):
        return given
    found: JavaObject = given._jc  # noqa: SLF001  (the bridge)
    if jvm.has_method(COLUMN, "expr"):  # Spark 4 keeps it from a column, and converts in the session
        return found.expr()
    return java_session(spark).expression(found)


def column(jvm: Jvm, found: JavaObject) -> Column:
    """A Catalyst expression as a column."""
    make = cast("Callable[[JavaObject], Column]", Column)  # PySpark has no type for it
    if (_EXPRESSION,) in jvm.constructors(jvm.java_class(COLUMN)):
        return make(jvm.static(COLUMN)(found))
    return make(jvm.module(_COLUMNS).column(found))


def text_of(found: JavaObject) -> str:
    """An expression as it can be shown, whether it is resolved or not."""
    try:
        text: str = found.sql()
    except FAILED_CALL:  # some ask for types
        text = found.toString()
    return text


def sql_of(jvm: Jvm, found: JavaObject) -> str:
    """A resolved expression as SQL, its columns without the table's name before them."""
    text: str = found.sql()
    qualifiers = {".".join(_quoted(part) for part in jvm.list_of(each.qualifier())) for each in references_of(jvm, found)}
    named = [re.escape(each) for each in sorted(qualifiers - {""}, key=len, reverse=True)]
    if not named:
        return text
    # A text in quotes stays as it is, and so does what only ends like a qualifier.
    parts = re.compile(rf"'(?:[^'\\]|\\.)*'|(?<![\w`.])(?:{'|'.join(named)})\.")
    return parts.sub(lambda part: part[0] if part[0].startswith("'") else "", text)


def _quoted(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() and not name.isdecimal() else f"`{name.replace('`', '``')}`"


def type_of(found: JavaObject) -> str:
    """JSON of a resolved expression's type."""
    text: str = found.dataType().json()
    return text


def is_boolean(found: JavaObject) -> bool:
    """Whether a resolved expression is a condition; a plain NULL is one."""
    return found.dataType().typeName() in ("boolean", "void")


def as_boolean(jvm: Jvm, condition: JavaObject) -> JavaObject:
    """A condition of which a plain NULL is a boolean: Spark does not take it for one everywhere."""
    if condition.dataType().typeName() != "void" or condition.getClass().getSimpleName() != "Literal":
        return condition
    boolean = jvm.module("org.apache.spark.sql.types.BooleanType")
    return jvm.static("org.apache.spark.sql.catalyst.expressions.Literal")(None, boolean)


def constant(condition: JavaObject) -> bool | None:
    """Whether a condition is true for every row, or for none; None where it depends on the row."""
    if condition.getClass().getSimpleName() != "Literal":
        return None
    return bool(condition.value())


def conjuncts(jvm: Jvm, condition: JavaObject) -> list[JavaObject]:
    """The conditions that all have to be true for the condition to be true."""
    if condition.getClass().getSimpleName() != "And":
        return [condition]
    return [*conjuncts(jvm, condition.left()), *conjuncts(jvm, condition.right())]


def conjunction(jvm: Jvm, conditions: Sequence[JavaObject]) -> JavaObject:
    """The condition that is true where all of some conditions are; there is at least one."""
    make = jvm.static("org.apache.spark.sql.catalyst.expressions.And")
    return reduce(make, conditions)


def names_of(jvm: Jvm, found: JavaObject) -> set[str]:
    """The names of the columns that an expression looks at."""
    return {each.name() for each in references_of(jvm, found)}


def parts_of(jvm: Jvm, name: JavaObject, table: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of the name of a column that is not resolved, without those that call its table.

    Args:
        table: the table's name, as `with_name` takes it.
    """
    parts = tuple(map(str, jvm.list_of(name.nameParts())))
    lower, called = [part.lower() for part in parts], [part.lower() for part in table]
    for first in range(len(called)):
        length = len(called) - first
        if len(parts) > length and lower[:length] == called[first:]:
            return parts[length:]
    return parts


def with_name(jvm: Jvm, plan: JavaObject, *name: str) -> JavaObject:
    """A plan under a name that expressions may put before its columns.

    Args:
        name: the name, those of its database and its catalog before it; the plan stays as it is without one.
    """
    if not name:
        return plan
    identifier = jvm.static("org.apache.spark.sql.catalyst.AliasIdentifier")(name[-1], jvm.seq(name[:-1]))
    return jvm.construct(jvm.java_class("org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias"), identifier, plan)


def references_of(jvm: Jvm, found: JavaObject) -> list[JavaObject]:
    """The columns that an expression looks at."""
    return jvm.list_of(found.references().toSeq())


def is_ordered_or_named(found: JavaObject) -> bool:
    """Whether an expression is a sort order, or one under a name of its own, and so no value."""
    return found.getClass().getSimpleName() in ("SortOrder", "Alias")


def is_default(jvm: Jvm, value: JavaObject) -> bool:
    """Whether a parsed value is the word DEFAULT."""
    if value.getClass().getSimpleName() != "UnresolvedAttribute":
        return False
    return [str(part).upper() for part in jvm.list_of(value.nameParts())] == ["DEFAULT"]


def has_subquery(found: JavaObject) -> bool:
    """Whether there is a subquery in an expression."""
    return any(map(is_subquery, node_names(found)))


def is_subquery(name: str) -> bool:
    """Whether a node of this name is a subquery."""
    return "Subquery" in name or name in ("Exists", "ListQuery")


def is_user_defined(name: str) -> bool:
    """Whether a node of this name calls a function that a program or a user gave: of Python's, Scala's or Java's, or Hive's."""
    return any(each in name for each in ("PythonUD", "UDF", "UDAF", "UserDefined"))


def calls_python(found: JavaObject) -> bool:
    """Whether an expression calls Python's functions: then Spark cannot evaluate it outside of a query."""
    return any(name.startswith("PythonUD") for name in node_names(found))


def node_names(found: JavaObject) -> Iterator[str]:
    """The names of the classes of all nodes of an expression."""
    pending = [found]
    while pending:
        node = pending.pop()
        yield node.getClass().getSimpleName()
        children = node.children()
        pending += [children.apply(position) for position in range(children.size())]


def equality_of(found: JavaObject) -> tuple[JavaObject, JavaObject, bool] | None:
    """The two sides of an equality, and whether NULL is a value to it; None for anything else. A list of one value is one."""
    name = found.getClass().getSimpleName()
    if name == "In" and found.list().size() == 1:
        return found.value(), found.list().apply(0), False
    if name not in ("EqualTo", "EqualNullSafe"):
        return None
    return found.left(), found.right(), name == "EqualNullSafe"


def is_told_by_equality(found: JavaObject) -> bool:
    """Whether no expression tells two values of an expression apart that are equal to Spark.

    Numbers with a point have two zeros, and texts with a collation many forms; variants, maps and intervals of months and days
    are not compared at all.
    """
    return "collate" not in found.dataType().catalogString().lower() and _is_told(json.loads(type_of(found)))


def _is_told(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind in _TOLD_BY_EQUALITY or kind.startswith(("decimal", "interval "))
    if kind["type"] == "array":
        return _is_told(kind["elementType"])
    return kind["type"] == "struct" and all(_is_told(field["type"]) for field in kind["fields"])


def is_deterministic(found: JavaObject) -> bool:
    """Whether an expression gives the same for the same row, each time."""
    return bool(found.deterministic())
