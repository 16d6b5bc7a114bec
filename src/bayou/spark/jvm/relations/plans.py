# SPDX-License-Identifier: Apache-2.0
"""Read nodes of Spark's plans, Datasets and the columns of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bayou.protocol.types.schema import StructType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


def class_name(node: JavaObject) -> str:
    """Return the name of a node's class, without its package."""
    name: str = node.getClass().getSimpleName()
    return name


def node_name(node: JavaObject) -> str:
    """Return the name of a node in Spark's plans, which for a command is shorter than that of its class."""
    name: str = node.nodeName()
    return name


def schema_of(plan: JavaObject) -> StructType:
    """Return the columns of a plan, a Dataset or a relation."""
    return parse_schema(plan.schema().json())


def output(plan: JavaObject) -> JavaObject:
    """Return the columns of a plan as a Scala `Seq` of attributes."""
    return plan.output()


def some_of(jvm: Jvm, columns: JavaObject, places: Iterable[int]) -> JavaObject:
    """Return the attributes at some positions of a Scala `Seq`."""
    return jvm.seq(columns.apply(place) for place in places)


def only_from(plan: JavaObject, attributes: Iterable[JavaObject]) -> bool:
    """Whether all attributes are columns of a plan."""
    columns = plan.outputSet()
    return all(columns.contains(attribute) for attribute in attributes)


def name_of(attribute: JavaObject) -> str:
    """Return the name of a column."""
    return str(attribute.name())


def id_of(attribute: JavaObject) -> int:
    """Return the id of a resolved column (`exprId`)."""
    return int(attribute.exprId().id())


def ids_in(jvm: Jvm, outputs: JavaObject) -> Iterator[int]:
    """Yield the ids of the columns of several plans, given as an `Object[]` of their outputs."""
    return (id_of(attribute) for columns in outputs for attribute in jvm.list_of(columns))


def file_metadata_name(jvm: Jvm, relation: JavaObject) -> str:
    """Return the name of the metadata column of a relation of files."""
    (attribute,) = jvm.list_of(relation.metadataOutput())
    return name_of(attribute)


def analyzed(dataset: JavaObject) -> JavaObject:
    """Return the resolved plan of a Dataset."""
    return dataset.queryExecution().analyzed()


def union(datasets: Iterable[JavaObject]) -> JavaObject:
    """Return the rows of one or more Datasets, by the positions of their columns."""
    first, *others = datasets
    for other in others:
        first = first.union(other)
    return first


def where(dataset: JavaObject, condition: JavaObject) -> JavaObject:
    """Return the rows of a Dataset for which a condition, as a column of the JVM, is true."""
    return dataset.where(condition)


def aggregates_of(jvm: Jvm, aggregate: JavaObject) -> list[JavaObject]:
    """Return the expressions of an Aggregate."""
    return jvm.list_of(aggregate.aggregateExpressions())


def projected_by(project: JavaObject) -> Iterator[JavaObject]:
    """Yield the expressions of a Project."""
    columns = project.projectList()
    return (columns.apply(place) for place in range(columns.size()))


def limit_of(node: JavaObject) -> int | None:
    """Return the number of rows of a limit, or None if it is an expression."""
    text: str = node.limitExpr().toString()
    return int(text) if text.isdigit() else None


def replacement(
    jvm: Jvm, place: int, plan: JavaObject, version: str, *, names: Sequence[str] = (), pushes_down: bool = False
) -> JavaObject:
    """Return the answer to the optimizer rule.

    Args:
        place: the position of the replaced node in the rule's chain of nodes.
        plan: the replacement.
        version: the table's version that the query reads.
        names: the names of the replacement's columns, if the node is the table's.
        pushes_down: whether filters must be pushed into the replacement.
    """
    return jvm.static("bayou.Rule").answer(place, plan, "\0".join(names), version, pushes_down)
