# SPDX-License-Identifier: Apache-2.0
"""Parse SQL of bayou and of tables so that its meaning depends neither on the session's settings nor on its functions.

Settings change the meaning of names in backquotes, strings and types, and the session's parser replaces `${...}` by the values of
settings. The session parses SQL from the user. This module parses SQL that bayou creates or that a table stores.

In a query a name may mean a function that the user registered, even if Spark has a function of that name: Spark 3.5 and 4.0 look
there first, 4.2 last. bayou looks each function up in Spark's own registry, so that the order does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.nodes import column
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.gateway import Py4JJavaError
from bayou.spark.pinned_settings import Job, defaults

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject

_CATALYST: Final = "org.apache.spark.sql.catalyst"
_SQL_CONF: Final = "org.apache.spark.sql.internal.SQLConf"
_REFUSED: Final = "java.lang.AssertionError"
"""The exception of a registry that accepts only resolved arguments ("function arguments must be resolved")."""
_PARSER: Final = f"{_CATALYST}.parser.CatalystSqlParser"
DEFAULTS: Final = "".join(f"{name}\0" for name in defaults(Job.OWN_SQL))
"""The settings that have Spark's defaults while SQL of bayou or of a table is parsed, in the form of `bayou.OwnSql`."""


def own_column(spark: SparkSession, text: str) -> Column:
    """Return SQL of bayou or of a table as a column, independent of the session's parser settings.

    Args:
        spark: the session, whose settings decide how the expression computes.
        text: the SQL, without an alias.
    """
    jvm = Jvm.of(spark)
    return column(jvm, parsed_plainly(jvm, java_session(spark), text))


def parsed_plainly(jvm: Jvm, session: JavaObject, text: str) -> JavaObject:
    """Parse the same SQL into an unresolved expression of Catalyst."""
    return jvm.static("bayou.OwnSql").parsed(session, DEFAULTS, text)


def means_the_same(jvm: Jvm, session: JavaObject, text: str) -> bool:
    """Whether a session's parser reads an expression like bayou, so that no setting changes its meaning."""
    try:
        theirs = session.sessionState().sqlParser().parseExpression(text)
    except FAILED_CALL:
        return False
    return bool(theirs.equals(parsed_plainly(jvm, session, text)))


def _parsed_under(jvm: Jvm, settings: JavaObject, text: str) -> JavaObject:
    """Parse an expression under some settings, which are a property of the JVM's thread while the parser runs.

    The parser is called through a method handle, because a Python function would run on another thread.
    """
    parser, handles = jvm.module(_PARSER), jvm.static("java.lang.invoke.MethodHandles")
    kind = jvm.static("java.lang.invoke.MethodType").methodType(
        jvm.java_class(f"{_CATALYST}.expressions.Expression"), jvm.java_class("java.lang.String")
    )
    parse = handles.publicLookup().findVirtual(parser.getClass(), "parseExpression", kind).bindTo(parser)
    call = handles.insertArguments(parse, 0, jvm.objects([text]))
    function = jvm.static("java.lang.invoke.MethodHandleProxies").asInterfaceInstance(jvm.java_class("scala.Function0"), call)
    return jvm.module(_SQL_CONF).withExistingConf(settings, function)


@lru_cache(maxsize=256)
def own_expression(jvm: Jvm, text: str) -> JavaObject:
    """Parse SQL with only Spark's functions into an expression of Catalyst with unresolved columns.

    It takes some calls for each function, once per string. Values that differ from query to query do not belong in it.
    """
    # All sessions share the cached expression, so it must not depend on the settings of one.
    parsed = _parsed_under(jvm, jvm.static(_SQL_CONF)(), text)
    try:
        return _with_functions(jvm, jvm.module(f"{_CATALYST}.analysis.FunctionRegistry").builtin(), parsed)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != _REFUSED:
            raise
        # Spark 4.2 and later require resolved arguments. In a query they prefer their own functions to those of the session.
        return parsed


def _with_functions(jvm: Jvm, registry: JavaObject, found: JavaObject) -> JavaObject:
    children = jvm.list_of(found.children())
    if not children:
        return found
    made = jvm.seq([_with_functions(jvm, registry, child) for child in children])
    if found.getClass().getSimpleName() != "UnresolvedFunction":
        return found.withNewChildren(made)
    (name,) = jvm.list_of(found.nameParts())
    return registry.lookupFunction(jvm.static(f"{_CATALYST}.FunctionIdentifier")(name), made)
