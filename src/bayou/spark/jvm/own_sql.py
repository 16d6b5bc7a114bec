# SPDX-License-Identifier: Apache-2.0
"""SQL of bayou's own, with Spark's functions whatever functions a session has.

In a query a name may mean what the session's user registered under it, even if Spark has a function of that name: 3.5 and 4.0
look there first, 4.2 last. bayou looks each function up in Spark's own registry, so that the order does not matter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.spark.jvm.bridge import JavaObject, Jvm

_CATALYST = "org.apache.spark.sql.catalyst"


@lru_cache(maxsize=256)
def own_expression(jvm: Jvm, text: str) -> JavaObject:
    """SQL text as an expression of Catalyst, in which columns are still to be found, and the functions are Spark's.

    It takes some calls for each function, once for each text: values that differ from query to query do not belong into it.

    Args:
        jvm: the bridge.
        text: the SQL, in which every function is one of Spark's.
    """
    parsed = jvm.module(f"{_CATALYST}.parser.CatalystSqlParser").parseExpression(text)
    return _with_functions(jvm, jvm.module(f"{_CATALYST}.analysis.FunctionRegistry").builtin(), parsed)


def _with_functions(jvm: Jvm, registry: JavaObject, found: JavaObject) -> JavaObject:
    children = jvm.list_of(found.children())
    if not children:
        return found
    made = jvm.seq([_with_functions(jvm, registry, each) for each in children])
    if found.getClass().getSimpleName() != "UnresolvedFunction":
        return found.withNewChildren(made)
    (name,) = jvm.list_of(found.nameParts())
    return registry.lookupFunction(jvm.static(f"{_CATALYST}.FunctionIdentifier")(name), made)
