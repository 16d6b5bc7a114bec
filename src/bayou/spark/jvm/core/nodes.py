# SPDX-License-Identifier: Apache-2.0
"""Convert between SQL, columns and single expressions of Catalyst, and inspect expressions."""

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
"""Creates columns from expressions if a column has no constructor for them."""
_EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"

_COMPARABLE: Final = frozenset(
    {"boolean", "byte", "short", "integer", "long", "string", "binary", "date", "timestamp", "timestamp_ntz"}
)


def expression(jvm: Jvm, spark: SparkSession, given: Any) -> JavaObject:
    """Return the Catalyst expression of SQL or of a column. An expression is returned as it is."""
    if isinstance(given, str):
        return java_session(spark).sessionState().sqlParser().parseExpression(given)
    if not isinstance(given, Column):
        return given
    found: JavaObject = given._jc  # noqa: SLF001  (the bridge)
    if jvm.has_method(COLUMN, "expr"):  # Spark 4 has no such method, and converts in the session
        return found.expr()
    return java_session(spark).expression(found)


def column(jvm: Jvm, found: JavaObject) -> Column:
    """Return a Catalyst expression as a column."""
    make = cast("Callable[[JavaObject], Column]", Column)  # PySpark has no type for it
    if (_EXPRESSION,) in jvm.constructors(jvm.java_class(COLUMN)):
        return make(jvm.static(COLUMN)(found))
    return make(jvm.module(_COLUMNS).column(found))


def text_of(found: JavaObject) -> str:
    """Return an expression as a string for users, whether it is resolved or not."""
    try:
        text: str = found.sql()
    except FAILED_CALL:  # some expressions need types to print themselves
        text = found.toString()
    return text


def sql_of(jvm: Jvm, found: JavaObject) -> str:
    """Return a resolved expression as SQL, with its columns not qualified by the table."""
    text: str = found.sql()
    qualifiers = {".".join(_quoted(part) for part in jvm.list_of(reference.qualifier())) for reference in references_of(jvm, found)}
    named = [re.escape(qualifier) for qualifier in sorted(qualifiers - {""}, key=len, reverse=True)]
    if not named:
        return text
    # String literals stay as they are, and so does what only ends like a qualifier.
    parts = re.compile(rf"'(?:[^'\\]|\\.)*'|(?<![\w`.])(?:{'|'.join(named)})\.")
    return parts.sub(lambda part: part[0] if part[0].startswith("'") else "", text)


def _quoted(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalnum() and not name.isdecimal() else f"`{name.replace('`', '``')}`"


def type_of(found: JavaObject) -> str:
    """Return JSON of a resolved expression's type."""
    text: str = found.dataType().json()
    return text


def sql_type_of(found: JavaObject) -> str:
    """Return the type of a resolved expression in SQL."""
    text: str = found.dataType().sql()
    return text


def tree_of(found: JavaObject) -> str:
    """Return an expression as Catalyst's JSON, with constants as Catalyst prints them."""
    return str(found.toJSON())


def is_resolved(found: JavaObject) -> bool:
    """Whether Spark has resolved an expression."""
    return bool(found.resolved())


def is_boolean(found: JavaObject) -> bool:
    """Whether a resolved expression is a condition. A plain NULL is a condition."""
    return found.dataType().typeName() in ("boolean", "void")


def as_boolean(jvm: Jvm, condition: JavaObject) -> JavaObject:
    """Return a condition in which a plain NULL is a boolean, because Spark does not accept it everywhere."""
    if condition.dataType().typeName() != "void" or condition.getClass().getSimpleName() != "Literal":
        return condition
    boolean = jvm.module("org.apache.spark.sql.types.BooleanType")
    return jvm.static("org.apache.spark.sql.catalyst.expressions.Literal")(None, boolean)


def constant(condition: JavaObject) -> bool | None:
    """Whether a condition is true for every row, or None if it depends on the row."""
    if condition.getClass().getSimpleName() != "Literal":
        return None
    return bool(condition.value())


def conjuncts(jvm: Jvm, condition: JavaObject) -> list[JavaObject]:
    """Return the conditions whose conjunction is the condition."""
    if condition.getClass().getSimpleName() != "And":
        return [condition]
    return [*conjuncts(jvm, condition.left()), *conjuncts(jvm, condition.right())]


def conjunction(jvm: Jvm, conditions: Sequence[JavaObject]) -> JavaObject:
    """Return the conjunction of one or more conditions."""
    make = jvm.static("org.apache.spark.sql.catalyst.expressions.And")
    return reduce(make, conditions)


def names_of(jvm: Jvm, found: JavaObject) -> set[str]:
    """Return the names of the columns that an expression uses."""
    return {reference.name() for reference in references_of(jvm, found)}


def parts_of(jvm: Jvm, name: JavaObject, table: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of the name of an unresolved column, without those of the table's name in the form of `with_name`."""
    parts = tuple(map(str, jvm.list_of(name.nameParts())))
    lower, called = [part.lower() for part in parts], [part.lower() for part in table]
    for first in range(len(called)):
        length = len(called) - first
        if len(parts) > length and lower[:length] == called[first:]:
            return parts[length:]
    return parts


def with_name(jvm: Jvm, plan: JavaObject, *name: str) -> JavaObject:
    """Return a plan under a name that expressions may use as a qualifier. Its catalog and database may precede the name."""
    if not name:
        return plan
    identifier = jvm.static("org.apache.spark.sql.catalyst.AliasIdentifier")(name[-1], jvm.seq(name[:-1]))
    return jvm.construct(jvm.java_class("org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias"), identifier, plan)


def references_of(jvm: Jvm, found: JavaObject) -> list[JavaObject]:
    """Return the columns that an expression uses."""
    return jvm.list_of(found.references().toSeq())


def is_ordered_or_named(found: JavaObject) -> bool:
    """Whether an expression is a sort order or an alias, and thus not a value."""
    return found.getClass().getSimpleName() in ("SortOrder", "Alias")


def is_default(jvm: Jvm, value: JavaObject) -> bool:
    """Whether a parsed value is the word DEFAULT."""
    if value.getClass().getSimpleName() != "UnresolvedAttribute":
        return False
    return [str(part).upper() for part in jvm.list_of(value.nameParts())] == ["DEFAULT"]


def has_subquery(found: JavaObject) -> bool:
    """Whether an expression contains a subquery."""
    return any(map(is_subquery, node_names(found)))


def is_subquery(name: str) -> bool:
    """Whether a node of this name is a subquery."""
    return "Subquery" in name or name in ("Exists", "ListQuery")


def is_user_defined(name: str) -> bool:
    """Whether a node of this name calls a user-defined function of Python, Scala, Java or Hive."""
    return any(part in name for part in ("PythonUD", "UDF", "UDAF", "UserDefined"))


def calls_python(found: JavaObject) -> bool:
    """Whether an expression calls Python functions, so that Spark can evaluate it only in a query."""
    return any(name.startswith("PythonUD") for name in node_names(found))


def node_names(found: JavaObject) -> Iterator[str]:
    """Yield the class names of all nodes of an expression."""
    pending = [found]
    while pending:
        node = pending.pop()
        yield node.getClass().getSimpleName()
        children = node.children()
        pending += [children.apply(position) for position in range(children.size())]


def equality_of(found: JavaObject) -> tuple[JavaObject, JavaObject, bool] | None:
    """Return the two sides of an equality or of IN with one value, and whether NULL is a value to it; otherwise None."""
    name = found.getClass().getSimpleName()
    if name == "In" and found.list().size() == 1:
        return found.value(), found.list().apply(0), False
    if name not in ("EqualTo", "EqualNullSafe"):
        return None
    return found.left(), found.right(), name == "EqualNullSafe"


def is_told_by_equality(found: JavaObject) -> bool:
    """Whether values of an expression that are equal to Spark are the same in every expression.

    They are not for floating-point numbers, which have two zeros, and for strings with a collation. Variants, maps and intervals of
    months and days cannot be compared.
    """
    return "collate" not in found.dataType().catalogString().lower() and _is_comparable(json.loads(type_of(found)))


def _is_comparable(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind in _COMPARABLE or kind.startswith(("decimal", "interval "))
    if kind["type"] == "array":
        return _is_comparable(kind["elementType"])
    return kind["type"] == "struct" and all(_is_comparable(field["type"]) for field in kind["fields"])


def is_deterministic(found: JavaObject) -> bool:
    """Whether an expression always gives the same value for the same row."""
    return bool(found.deterministic())
