# SPDX-License-Identifier: Apache-2.0
"""Checks new files against the rules of a write: by their statistics, by what the job observed, or by reading their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.actions import paths
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.data_files.constraint_evaluation import error_of, observed_violations, violations_in
from bayou.spark.jvm.core.pinned_settings import Job, with_options
from bayou.spark.types.types import physical_field, readable_schema, spark_data_type, spark_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.protocol.actions.actions import AddFile
    from bayou.protocol.types.schema import StructType
    from bayou.spark.data_files.constraint_evaluation import RowRule, Violations
    from bayou.spark.data_files.projection import ProjectedRows
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import WriteTarget

_PLAIN_PATHS: Final = {"__globPaths__": "false", "recursiveFileLookup": "true"}
"""Options of Spark's reader: paths are no patterns, and their folders no partition columns."""


def check_rules(
    spark: SparkSession,
    request: WriteRequest,
    target: WriteTarget,
    rows: ProjectedRows,
    new: Sequence[AddFile],
    observed: Sequence[Any],
) -> None:
    """Refuses new files whose rows break a rule; files whose statistics leave a doubt are read for it, in one job.

    Args:
        new: its files, none without rows.

    Raises:
        ConstraintViolationError: rows break a rule.
    """
    doubtful = rows.proven.doubtful([file.stats for file in new])
    if doubtful:
        # In the others no row breaks a rule that is proven; one may break another rule, which counts, too.
        chosen = new if rows.observed else [new[place] for place in doubtful]
        found = violations_in(_rows_in(spark, request, chosen, rows.rules, target.schema), rows.rules, target.schema)
        _refuse(found, rows.rules, target)
    check_observed(target, rows, observed)


def check_observed(target: WriteTarget, rows: ProjectedRows, observed: Sequence[Any]) -> None:
    """Refuses rows that break a rule of those that were observed; of two rules that are broken a proven one is not told.

    Raises:
        ConstraintViolationError: rows break a rule.
    """
    if rows.observed:
        _refuse(observed_violations(observed), rows.observed, target)


def _refuse(found: Violations, rules: Sequence[RowRule], target: WriteTarget) -> None:
    if found.count:
        raise error_of(found, rules, table=target.log.table_uri, version=target.version)


def _rows_in(
    spark: SparkSession, request: WriteRequest, new: Sequence[AddFile], rules: Sequence[RowRule], schema: StructType
) -> DataFrame:
    """The rows of new files under logical names, with the columns that rules look at; none of them is a partition column."""
    names = _names(rules)
    fields = [field for field in as_nullable(readable_schema(schema)).fields if field.name.lower() in names]
    stored = [physical_field(field, known, by_id=False) for field in fields if (known := schema.field(field.name)) is not None]
    reader = spark.read.options(**with_options(request.storage_options, Job.REWRITE), **_PLAIN_PATHS).schema(spark_schema(stored))
    rows = reader.parquet(*(f"{request.path}/{paths.decode(file.path)}" for file in new))
    pairs = zip(fields, stored, strict=True)
    return rows.select(*(F.col(quoted_name(there.name)).cast(spark_data_type(field)).alias(field.name) for field, there in pairs))


def _names(rules: Sequence[RowRule]) -> set[str]:
    return {name.lower() for rule in rules for name in rule.columns}
