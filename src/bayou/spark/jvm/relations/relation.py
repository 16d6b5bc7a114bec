# SPDX-License-Identifier: Apache-2.0
"""Create and read Spark's relations, plans and predicates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from bayou.errors import failed
from bayou.spark.jvm.core.adapters import Adapters, described
from bayou.spark.jvm.core.callbacks import FAILED_CALL, BiFunction, reason_of
from bayou.spark.jvm.core.own_sessions import pairs_of
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.core.signatures import unknown_signature
from bayou.spark.jvm.relations.own_sql import own_column
from bayou.spark.user_defined_types import for_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_OUTPUT_RESOLVER = "org.apache.spark.sql.catalyst.analysis.TableOutputResolver"
_FILL_MODE = 5
"""The position of the parameter of `resolveOutputColumns` that decides about missing columns."""


def struct_type(jvm: Jvm, json_text: str) -> JavaObject:
    """Return Spark's `StructType` of a schema's JSON."""
    return jvm.static("org.apache.spark.sql.types.DataType").fromJson(for_spark(json_text))


def knows_type(jvm: Jvm, json_text: str) -> bool:
    """Whether this Spark has all types and collations of a schema's JSON."""
    try:
        struct_type(jvm, json_text)
    except Exception:  # noqa: BLE001  (Spark has several exceptions for it, and PySpark converts them to others)
        return False
    return True


@dataclass(frozen=True, slots=True)
class FileRelation:
    """Files that Spark's own Parquet reader reads as a relation.

    Attributes:
        key: relations with the same key list the same files.
        root: the table's URI.
        columns: JSON of the columns, in order, possibly with partition columns.
        partitions: JSON of the columns that are constant for a file.
        size: the size in bytes that the optimizer assumes.
        options: the relation's options.
        files: called with the partition filters and the data filters, returns directories; with None, the input files.
        pinned: settings that apply when the files are read, whatever the session has.
        streaming: whether it is a batch of a stream.
        exact: whether to keep filters from the reader that Parquet evaluates differently from Spark.
    """

    key: str
    root: str
    columns: str
    partitions: str
    size: int
    options: dict[str, str] = field(repr=False)
    files: Callable[[Any, Any], JavaObject]
    pinned: Mapping[str, str] = field(default_factory=dict)
    streaming: bool = False
    exact: bool = False


def logical_relation(jvm: Jvm, session: JavaObject, relation: FileRelation) -> JavaObject:
    """Return files as a node of a logical plan."""
    options = "\0".join(text for option in relation.options.items() for text in option)
    schemas = (for_spark(relation.partitions), for_spark(relation.columns))
    texts = (relation.key, relation.root, *schemas, str(relation.size), options)
    files = BiFunction(jvm, relation.files)
    pinned = pairs_of(relation.pinned)
    return jvm.static("bayou.Tables").files(*texts, files, session, relation.streaming, pinned, relation.exact)


@dataclass(frozen=True, slots=True)
class BareTable:
    """A table whose relation the optimizer rule completes.

    Attributes:
        key: relations with the same key are the same to Spark's caches; in the form of `bayou.TableKey`.
        table: the request of the relation, which is passed to the rule.
        root: the table's URI.
        partitions: JSON of its partition columns, which are among its columns.
        columns: JSON of its columns.
        filled: JSON of its columns with the defaults, for the rows of an INSERT.
        size: in bytes.
        tracks_rows: whether `_metadata` has the ids of rows.
    """

    key: str
    table: str
    root: str
    partitions: str
    columns: str
    filled: str
    size: int
    tracks_rows: bool = False


def bare_relation(jvm: Jvm, session: JavaObject, bare: BareTable, options: JavaObject | str) -> JavaObject:
    """Return a table's relation, which the optimizer rule completes. Without the rule it refuses to list files.

    Args:
        options: the Scala map of options that Spark passed, or the table's path. Spark would copy a relation whose options differ
            from those of the catalog.
    """
    message = (
        f"{bare.root} is read through bayou's optimizer rule, which this session does not have. "
        "Next: call bayou.enable(session) on this session first."
    )
    parameters = f"path\0{options}" if isinstance(options, str) else options
    return jvm.static("bayou.Tables").bare(
        bare.key,
        bare.table,
        message,
        bare.root,
        bare.partitions,
        bare.columns,
        bare.filled,
        str(bare.size),
        bare.tracks_rows,
        parameters,
        session,
    )


def log_relation(jvm: Jvm, session: JavaObject, columns: str, request: str, version: str) -> JavaObject:
    """Return a relation that the optimizer rule replaces by rows of a log.

    Relations with the same request and version of the table are the same to Spark's caches.
    """
    return Adapters.of(jvm).new("bayou.LogRows", session, columns, request, version)


def analyzed_plan(frame: DataFrame) -> JavaObject:
    """Return the resolved logical plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)


def local_relation(jvm: Jvm, output: JavaObject, rows: JavaObject, count: int) -> JavaObject:
    """Return so many rows of an array as a node of a logical plan."""
    companion = jvm.module("org.apache.spark.sql.catalyst.plans.logical.LocalRelation")
    return jvm.call(companion, "apply", output, jvm.seq(rows[place] for place in range(count)), False)


def frame_of_relation(spark: SparkSession, relation: JavaObject) -> DataFrame:
    """Return a relation as a DataFrame."""
    return DataFrame(java_session(spark).baseRelationToDataFrame(relation), spark)


def java_frame(frame: DataFrame) -> JavaObject:
    """Return the JVM's side of a DataFrame."""
    return frame._jdf  # noqa: SLF001  (PySpark has no public name for it)


def bound_predicate(jvm: Jvm, filters: Sequence[JavaObject], partition_schema: str) -> JavaObject:
    """Return the conjunction of Catalyst conditions as a predicate for rows of the partition columns."""
    condition = filters[0]
    for predicate in filters[1:]:
        condition = jvm.static("org.apache.spark.sql.catalyst.expressions.And")(condition, predicate)
    # A filter may spell a name in another case.
    used = {attribute.name().lower(): attribute for attribute in jvm.list_of(condition.references().toSeq())}
    types = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils")
    columns = jvm.list_of(types.toAttributes(struct_type(jvm, partition_schema)))
    attributes = jvm.seq(used.get(column.name().lower(), column) for column in columns)
    sequence = jvm.construct(jvm.java_class("org.apache.spark.sql.catalyst.expressions.package$AttributeSeq"), attributes)
    expressions = "org.apache.spark.sql.catalyst.expressions"
    bound = jvm.module(f"{expressions}.BindReferences").bindReference(condition, sequence, False)
    return jvm.module(f"{expressions}.Predicate").createInterpreted(bound)


def evaluated(frame: DataFrame) -> tuple[DataFrame, int]:
    """Return the rows of a DataFrame and their number of partitions. The shuffles of its plan run for this.

    The number of partitions is not known before. Plans on top of the result read the same partitions.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    rows = query.toRdd()
    spark = frame.sparkSession
    made = spark._jsparkSession.internalCreateDataFrame(rows, query.analyzed().schema(), False)  # noqa: SLF001
    return DataFrame(made, spark), rows.getNumPartitions()


def aligned_rows(jvm: Jvm, frame: DataFrame, table: str, schema_json: str, *, by_name: bool) -> DataFrame:
    """Align the rows of an INSERT to a table's columns by Spark's rules: the session's store assignment, defaults, NULL."""
    session = frame.sparkSession._jsparkSession  # noqa: SLF001  (the bridge)
    attributes = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(struct_type(jvm, schema_json))
    plan = analyzed_plan(frame)
    resolver = jvm.module(_OUTPUT_RESOLVER)
    conf = session.sessionState().conf()
    aligned = jvm.call(resolver, "resolveOutputColumns", table, attributes, plan, by_name, conf, _fills_defaults(jvm, resolver))
    return DataFrame(dataset(jvm, session, aligned), frame.sparkSession)


def _fills_defaults(jvm: Jvm, resolver: JavaObject) -> Any:
    """Return the argument that makes `resolveOutputColumns` fill missing columns: a flag, in later versions a mode."""
    overloads = jvm.overloads(resolver, "resolveOutputColumns")
    kinds = {parameters[_FILL_MODE] for parameters in overloads if len(parameters) > _FILL_MODE}
    if kinds == {"boolean"}:
        return True
    if kinds == {"scala.Enumeration$Value"}:
        return jvm.module(f"{_OUTPUT_RESOLVER}$DefaultValueFillMode").FILL()
    raise unknown_signature(
        jvm.spark_version_text, _OUTPUT_RESOLVER, "resolveOutputColumns", overloads, "a flag or a mode for defaults"
    )


def alias_of(frame: DataFrame) -> str | None:
    """Return the alias of a query's rows, or None."""
    plan = analyzed_plan(frame)
    return str(plan.alias()) if plan.getClass().getSimpleName() == "SubqueryAlias" else None


def columns_of_nulls(jvm: Jvm, frame: DataFrame) -> list[str]:
    """Return the columns that a query fills only with NULL."""
    plan = analyzed_plan(frame)
    text: str = jvm.static("bayou.Plans").nulls(plan)
    return text.split("\0")[:-1]


def executed_plan(frame: DataFrame) -> JavaObject:
    """Return the physical plan of a DataFrame."""
    return frame._jdf.queryExecution().executedPlan()  # noqa: SLF001  (the bridge)


def expressions_in_json(jvm: Jvm, spark: SparkSession, schema_json: str, texts: Sequence[str]) -> list[str]:
    """Return SQL expressions over some columns, resolved under the session's settings and simplified, each as Catalyst's JSON."""
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge; a relation without rows would be optimised away)
    rows = DataFrame(spark._jsparkSession.createDataFrame(nothing, struct_type(jvm, schema_json)), spark)  # noqa: SLF001
    # Give each an alias: a selection of plain columns would not be a projection.
    named = [own_column(spark, text).alias(f"__bayou_expression_{number}") for number, text in enumerate(texts)]
    plan = rows.select(*named)._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (the bridge)
    return [described(jvm, alias.child()) for alias in jvm.list_of(plan.projectList())]


def rebalanced(
    jvm: Jvm, frame: DataFrame, columns: Sequence[str], size: int | None = None, partitions: int | None = None
) -> DataFrame:
    """Return the rows in partitions of a good size, with equal values of some columns together.

    Args:
        size: the size in bytes of a partition's shuffled rows; None for Spark's default.
        partitions: the number of partitions of the shuffle, before they are merged or split; None for Spark's settings. Spark
            accepts only one of the two.
    """
    attribute = jvm.module("org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute")
    plan = jvm.construct(
        jvm.java_class("org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions"),
        jvm.seq(attribute.quotedString(name) for name in columns),
        analyzed_plan(frame),
        jvm.none if partitions is None else jvm.some(partitions),
        jvm.none if size is None else _long(jvm, size),
    )
    return DataFrame(dataset(jvm, java_session(frame.sparkSession), plan), frame.sparkSession)


def _long(jvm: Jvm, number: int) -> JavaObject:
    """Return a Scala `Some` of a long. py4j would pass a small number as an integer."""
    entry = jvm.module("org.apache.spark.sql.internal.SQLConf").ADVISORY_PARTITION_SIZE_IN_BYTES()
    return jvm.some(f"{number}b").map(entry.valueConverter())


def expression_type(jvm: Jvm, spark: SparkSession, schema_json: str, text: str) -> str:
    """Return the JSON schema of the column that a SQL expression gives, or raise InvalidSchemaError."""
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge)
    rows = DataFrame(spark._jsparkSession.createDataFrame(nothing, struct_type(jvm, schema_json)), spark)  # noqa: SLF001
    try:
        as_json: str = rows.select(own_column(spark, f"({text}\n)").alias("value"))._jdf.schema().json()  # noqa: SLF001  (the bridge)
    except FAILED_CALL as error:
        raise failed("DELTA_SCHEMA_NOT_SET/expression", expression=text, reason=reason_of(error)) from None
    return as_json


def may_upcast(jvm: Jvm, frame: DataFrame) -> bool:
    """Whether Spark can up-cast a frame's first column to the type of its second column without loss (`Cast.canUpCast`)."""
    source, target = (field.dataType() for field in frame._jdf.schema().fields())  # noqa: SLF001  (the bridge)
    can_upcast: bool = jvm.module("org.apache.spark.sql.catalyst.expressions.Cast").canUpCast(source, target)
    return can_upcast


def observed(jvm: Jvm, plan: JavaObject, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of observations after a plan has run, by name. Omit those that the plan does not have."""
    collected = jvm.module("org.apache.spark.sql.execution.CollectMetricsExec").collect(plan)
    values = {}
    for name in names:
        row_option = collected.get(name)
        if not row_option.isEmpty():
            row = row_option.get()
            values[name] = [row.get(position) for position in range(row.length())]
    return values
