# SPDX-License-Identifier: Apache-2.0
"""SQL of bayou's own and of tables: it means the same whatever a session's parser is told, and whatever functions a session has.

Settings of a session give names in backquotes, texts and types another meaning, and its parser puts the values of settings in
the place of `${...}`. What a user gives as SQL is parsed by the session; what bayou makes, and what a table stores, here.

In a query a name may mean what the session's user registered under it, even if Spark has a function of that name: 3.5 and 4.0
look there first, 4.2 last. bayou looks each function up in Spark's own registry, so that the order does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.nodes import column
from bayou.spark.jvm.core.pinned_settings import Job, defaults
from bayou.spark.jvm.core.session import java_session

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject

_CATALYST: Final = "org.apache.spark.sql.catalyst"
_SQL_CONF: Final = "org.apache.spark.sql.internal.SQLConf"
_REFUSED: Final = "java.lang.AssertionError"
"""What a registry throws that makes functions of resolved arguments only ("function arguments must be resolved")."""
_PARSER: Final = f"{_CATALYST}.parser.CatalystSqlParser"
DEFAULTS: Final = "".join(f"{name}\0" for name in defaults(Job.OWN_SQL))
"""The settings that have Spark's defaults while SQL of bayou, or of a table, is parsed, as `bayou.OwnSql` takes them."""


def own_column(spark: SparkSession, text: str) -> Column:
    """SQL that bayou made, or that a table stores, as a column; the parser's settings of the session do not matter.

    Args:
        spark: the session, whose settings decide how the expression computes.
        text: the SQL; a name for it is not part of it.
    """
    jvm = Jvm.of(spark)
    return column(jvm, parsed_plainly(jvm, java_session(spark), text))


def parsed_plainly(jvm: Jvm, session: JavaObject, text: str) -> JavaObject:
    """The same as an expression of Catalyst that is not resolved."""
    return jvm.static("bayou.OwnSql").parsed(session, DEFAULTS, text)


def means_the_same(jvm: Jvm, session: JavaObject, text: str) -> bool:
    """Whether a session's parser reads an expression as bayou does; not so if a setting of the session changes its meaning."""
    try:
        theirs = session.sessionState().sqlParser().parseExpression(text)
    except FAILED_CALL:
        return False
    return bool(theirs.equals(parsed_plainly(jvm, session, text)))


def _parsed_under(jvm: Jvm, settings: JavaObject, text: str) -> JavaObject:
    """An expression, parsed under some settings, which are a property of the JVM's thread as long as the parser runs.

    The call into the parser is a method handle: a function of Python's would run on another thread.
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
    """SQL text as an expression of Catalyst, in which columns are still to be found, and the functions are Spark's.

    It takes some calls for each function, once for each text: values that differ from query to query do not belong into it.

    Args:
        text: the SQL, in which every function is one of Spark's.
    """
    # It is kept for all sessions, so it has the settings of none.
    parsed = _parsed_under(jvm, jvm.static(_SQL_CONF)(), text)
    try:
        return _with_functions(jvm, jvm.module(f"{_CATALYST}.analysis.FunctionRegistry").builtin(), parsed)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() != _REFUSED:
            raise
        # Spark 4.2 and later want resolved arguments here. In a query their own functions come before those of the session.
        return parsed


def _with_functions(jvm: Jvm, registry: JavaObject, found: JavaObject) -> JavaObject:
    children = jvm.list_of(found.children())
    if not children:
        return found
    made = jvm.seq([_with_functions(jvm, registry, each) for each in children])
    if found.getClass().getSimpleName() != "UnresolvedFunction":
        return found.withNewChildren(made)
    (name,) = jvm.list_of(found.nameParts())
    return registry.lookupFunction(jvm.static(f"{_CATALYST}.FunctionIdentifier")(name), made)
