# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace the rows that satisfy a condition: `replaceWhere`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import ParseException

from bayou.errors import failed
from bayou.protocol.columns.constraints import Constraint, ConstraintKind
from bayou.spark.data_files.constraint_evaluation import REPLACE_WHERE, RowRule
from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.core.target import table_columns
from bayou.spark.dml.native.expr import NativeExpr
from bayou.spark.dml.native.statement import NativeStatement
from bayou.spark.dml.replace.replaced_rows import ReplacedRows
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.core.callbacks import reason_of
from bayou.spark.read.session_table import SessionTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.data_files.request import WriteOptions
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.session.application import Application


def rows_of_condition(application: Application, spark: SparkSession, options: WriteOptions, snapshot: Snapshot) -> ReplacedRows:
    """Return the rows that satisfy a condition. If partition values or statistics decide about whole files, no data is read.

    Args:
        options: the options of the write, with `replace_where`: the condition, as SQL over the table's columns.

    Raises:
        InvalidOptionError: the condition cannot be parsed, or a write that must not change rows would delete some.
        UnsupportedFeatureError: the condition contains a subquery.
        SchemaMismatchError: the condition is not a boolean.
        pyspark.errors.AnalysisException: Spark cannot resolve it.
    """
    text = "true" if options.replace_where is None else options.replace_where
    change = _change(SessionTable.of(application, spark, options.path, options.storage_options), text, snapshot)
    found = change.condition.found
    used = frozenset() if found is None else found.names
    if not options.data_change and not {name.lower() for name in used} <= {name.lower() for name in snapshot.partition_columns}:
        raise failed("DELTA_REPLACE_WHERE_WITH_FILTER_DATA_CHANGE_UNSET", at=snapshot, option=REPLACE_WHERE)
    rule = RowRule(Constraint(REPLACE_WHERE, ConstraintKind.CHECK, (), text), tuple(sorted(used)), is_stored=False)
    return ReplacedRows.of(change, rule, data_change=options.data_change)


def _change(target: SessionTable, text: str, snapshot: Snapshot) -> Change:
    """Return the DELETE of the rows that satisfy a condition."""
    try:
        if not text.strip():
            raise ValueError("it is empty")  # noqa: TRY301  (reported below, with the other errors)
        statement = row_changes.delete_statement(target.application.jvm, target.spark, table_columns(snapshot), (), text)
    except (ParseException, ValueError) as error:
        raise failed(
            "DELTA_FAILED_RECOGNIZE_PREDICATE", at=snapshot, option=REPLACE_WHERE, expression=text, reason=reason_of(error)
        ) from None
    check_condition(REPLACE_WHERE, NativeExpr.of(target.application.jvm, row_changes.condition_of_statement(statement)), snapshot)
    return change_of(target, "DELETE", NativeStatement.of(target, statement), snapshot)
