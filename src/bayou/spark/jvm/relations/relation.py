# SPDX-License-Identifier: Apache-2.0
"""Spark's relations, plans and predicates, as bayou makes and reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from bayou.errors import InvalidSchemaError
from bayou.spark.jvm.core.adapters import Adapters, described
from bayou.spark.jvm.core.callbacks import FAILED_CALL, BiFunction, reason_of
from bayou.spark.jvm.core.own_sessions import pairs_of
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.core.signatures import unknown_signature
from bayou.spark.jvm.relations.own_sql import own_column
from bayou.spark.jvm.relations.user_defined_types import for_spark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_OUTPUT_RESOLVER = "org.apache.spark.sql.catalyst.analysis.TableOutputResolver"
_FILL_MODE = 5
"""The position of the parameter of `resolveOutputColumns` that says what becomes of columns that the rows lack."""


def struct_type(jvm: Jvm, json_text: str) -> JavaObject:
    """Spark's `StructType` of a schema's JSON."""
    return jvm.static("org.apache.spark.sql.types.DataType").fromJson(for_spark(json_text))


def knows_type(jvm: Jvm, json_text: str) -> bool:
    """Whether this Spark has all types, and all collations, of a schema's JSON."""
    try:
        struct_type(jvm, json_text)
    except Exception:  # noqa: BLE001  (Spark has several exceptions for it, and PySpark further ones for these)
        return False
    return True


@dataclass(frozen=True, slots=True)
class FileRelation:
    """Files that Spark's own Parquet reader reads as a relation.

    Attributes:
        key: two with one key list the same files.
        root: the table's URI.
        columns: JSON of the columns, in order; partition columns may be among them.
        partitions: JSON of the columns that are constant for a file.
        size: what the optimizer shall believe the size to be, in bytes.
        options: the relation's options.
        files: called with the partition filters and the data filters, returns directories; with None, the input files.
        pinned: settings that reading the files has, whatever the session says.
        streaming: whether it is a batch of a stream.
        exact: whether the reader gets no filter that Parquet evaluates otherwise than Spark.
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
    """A table for which a relation stands until the optimizer rule completes it.

    Attributes:
        key: two relations with one key are one to Spark's caches; as `bayou.TableKey` takes it.
        table: what the rule is told: the request that the relation stands for.
        root: the table's URI.
        partitions: JSON of its partition columns, which are among its columns.
        columns: JSON of its columns.
        filled: the same with the defaults, for the rows of an INSERT.
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
    """The relation that stands for a table until the optimizer rule completes it; without the rule it refuses to list.

    Args:
        options: the Scala map of options that Spark gave, or the table's path where it gave none. A relation whose options
            are not those that the catalog has, Spark would copy.
    """
    message = (
        f"{bare.root} is read through bayou's optimizer rule, which this session does not have. "
        "Next: call bayou.enable(session) on this session first."
    )
    given = f"path\0{options}" if isinstance(options, str) else options
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
        given,
        session,
    )


def log_relation(jvm: Jvm, session: JavaObject, columns: str, request: str, version: str) -> JavaObject:
    """The relation that stands for rows of a log until the optimizer rule puts them in its place.

    Args:
        request: what is asked for; the rule is given it.
        version: the table's version. Relations with one request and one version are the same to Spark's caches.
    """
    return Adapters.of(jvm).new("bayou.LogRows", session, columns, request, version)


def analyzed_plan(frame: DataFrame) -> JavaObject:
    """The logical plan of a DataFrame, resolved."""
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)


def local_relation(jvm: Jvm, output: JavaObject, rows: Sequence[JavaObject]) -> JavaObject:
    """Rows that are at hand as a node of a logical plan."""
    companion = jvm.module("org.apache.spark.sql.catalyst.plans.logical.LocalRelation")
    return jvm.call(companion, "apply", output, jvm.seq(rows), False)


def java_frame(frame: DataFrame) -> JavaObject:
    """The JVM's side of a DataFrame."""
    return frame._jdf  # noqa: SLF001  (PySpark has no public name for it)


def bound_predicate(jvm: Jvm, filters: Sequence[JavaObject], partition_schema: str) -> JavaObject:
    """The conjunction of some Catalyst conditions, to be evaluated on rows of the partition columns."""
    condition = filters[0]
    for other in filters[1:]:
        condition = jvm.static("org.apache.spark.sql.catalyst.expressions.And")(condition, other)
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
    """The rows of a DataFrame as its plan will give them, and in how many partitions; shuffles in the plan run for it.

    The number of partitions is not known before. What is built on the result reads the same partitions.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    rows = query.toRdd()
    spark = frame.sparkSession
    made = spark._jsparkSession.internalCreateDataFrame(rows, query.analyzed().schema(), False)  # noqa: SLF001
    return DataFrame(made, spark), rows.getNumPartitions()


def aligned_rows(jvm: Jvm, frame: DataFrame, table: str, schema_json: str, *, by_name: bool) -> DataFrame:
    """The rows of an INSERT as a table's columns, by Spark's rules: casts of the session's store assignment, defaults, NULL.

    Args:
        by_name: whether columns go by their names; else by their positions.
    """
    session = frame.sparkSession._jsparkSession  # noqa: SLF001  (the bridge)
    attributes = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(struct_type(jvm, schema_json))
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
    resolver = jvm.module(_OUTPUT_RESOLVER)
    conf = session.sessionState().conf()
    aligned = jvm.call(resolver, "resolveOutputColumns", table, attributes, plan, by_name, conf, _fills_defaults(jvm, resolver))
    return DataFrame(dataset(jvm, session, aligned), frame.sparkSession)


def _fills_defaults(jvm: Jvm, resolver: JavaObject) -> Any:
    """What lets `resolveOutputColumns` give columns that the rows lack their defaults: a flag, later one of several modes."""
    overloads = jvm.overloads(resolver, "resolveOutputColumns")
    kinds = {each[_FILL_MODE] for each in overloads if len(each) > _FILL_MODE}
    if kinds == {"boolean"}:
        return True
    if kinds == {"scala.Enumeration$Value"}:
        return jvm.module(f"{_OUTPUT_RESOLVER}$DefaultValueFillMode").FILL()
    raise unknown_signature(
        jvm.spark_version_text, _OUTPUT_RESOLVER, "resolveOutputColumns", overloads, "a flag or a mode for defaults"
    )


def alias_of(frame: DataFrame) -> str | None:
    """The name that a query's rows were given; None where they were given none."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
    return str(plan.alias()) if plan.getClass().getSimpleName() == "SubqueryAlias" else None


def columns_of_nulls(jvm: Jvm, frame: DataFrame) -> list[str]:
    """The columns that a query fills with nothing but NULL."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)
    text: str = jvm.static("bayou.Plans").nulls(plan)
    return text.split("\0")[:-1]


def plan_of(frame: DataFrame) -> JavaObject:
    """The physical plan that a DataFrame runs."""
    return frame._jdf.queryExecution().executedPlan()  # noqa: SLF001  (the bridge)


def expressions_in_json(jvm: Jvm, spark: SparkSession, schema_json: str, texts: Sequence[str]) -> list[str]:
    """Return SQL expressions over some columns, resolved and simplified by Spark, each as Catalyst's JSON.

    Args:
        spark: the session whose settings they are resolved under.

    Raises:
        pyspark.errors.AnalysisException: one of them cannot be resolved.
    """
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge; a relation without rows would be optimised away)
    rows = DataFrame(spark._jsparkSession.createDataFrame(nothing, struct_type(jvm, schema_json)), spark)  # noqa: SLF001
    # Under names of their own: columns that are selected as they are would be no projection.
    named = [own_column(spark, text).alias(f"__bayou_expression_{number}") for number, text in enumerate(texts)]
    plan = rows.select(*named)._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  (the bridge)
    return [described(jvm, each.child()) for each in jvm.list_of(plan.projectList())]


def rebalanced(
    jvm: Jvm, frame: DataFrame, columns: Sequence[str], size: int | None = None, partitions: int | None = None
) -> DataFrame:
    """The rows in partitions of a good size, those with the same values of some columns together.

    Args:
        size: the size in bytes of the shuffled rows of a partition; None for the one that Spark thinks good.
        partitions: how many partitions rows are shuffled into before these are put together or split; None as Spark's settings say.
            Spark takes one of both.
    """
    attribute = jvm.module("org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute")
    plan = jvm.construct(
        jvm.java_class("org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions"),
        jvm.seq(attribute.quotedString(name) for name in columns),
        frame._jdf.queryExecution().analyzed(),  # noqa: SLF001  (the bridge)
        jvm.none if partitions is None else jvm.some(partitions),
        jvm.none if size is None else _long(jvm, size),
    )
    return DataFrame(dataset(jvm, java_session(frame.sparkSession), plan), frame.sparkSession)


def _long(jvm: Jvm, number: int) -> JavaObject:
    """A Scala `Some` of a long: what Python passes becomes an integer where it fits."""
    entry = jvm.module("org.apache.spark.sql.internal.SQLConf").ADVISORY_PARTITION_SIZE_IN_BYTES()
    return jvm.some(f"{number}b").map(entry.valueConverter())


def expression_type(jvm: Jvm, spark: SparkSession, schema_json: str, text: str) -> str:
    """The schema, as JSON, of one column that a SQL expression over some columns gives.

    Raises:
        InvalidSchemaError: it cannot be resolved.
    """
    nothing = spark.sparkContext._jsc.emptyRDD()  # noqa: SLF001  (the bridge)
    rows = DataFrame(spark._jsparkSession.createDataFrame(nothing, struct_type(jvm, schema_json)), spark)  # noqa: SLF001
    try:
        found: str = rows.select(own_column(spark, f"({text}\n)").alias("value"))._jdf.schema().json()  # noqa: SLF001  (the bridge)
    except FAILED_CALL as error:
        message = f"The expression {text!r} cannot be resolved: {reason_of(error)}"
        raise InvalidSchemaError(message, next_step="use the table's columns and built-in functions.") from None
    return found


def may_upcast(jvm: Jvm, frame: DataFrame) -> bool:
    """Whether every value of a frame's first column is one of its second column's type, as Spark sees it (`Cast.canUpCast`)."""
    given, wanted = (field.dataType() for field in frame._jdf.schema().fields())  # noqa: SLF001  (the bridge)
    found: bool = jvm.module("org.apache.spark.sql.catalyst.expressions.Cast").canUpCast(given, wanted)
    return found


def observed(jvm: Jvm, plan: JavaObject, names: Sequence[str]) -> dict[str, list[Any]]:
    """The values of observations after a plan has run, by their names; nothing of those that the plan does not have."""
    collected = jvm.module("org.apache.spark.sql.execution.CollectMetricsExec").collect(plan)
    values = {}
    for name in names:
        found = collected.get(name)
        if not found.isEmpty():
            row = found.get()
            values[name] = [row.get(position) for position in range(row.length())]
    return values
