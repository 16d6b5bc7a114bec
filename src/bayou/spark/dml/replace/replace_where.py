# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace the rows that satisfy a condition: `replaceWhere`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import ParseException

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.constraints import Constraint, ConstraintKind
from bayou.spark.data_files.constraint_evaluation import REPLACE_WHERE, RowRule
from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.replace.replaced_rows import ReplacedRows
from bayou.spark.dml.statements.resolver import resolver_of
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
    backend = target.application.backend
    try:
        if not text.strip():
            raise ValueError("it is empty")  # noqa: TRY301  (reported below, with the other errors)
        statement = resolver_of(backend).replaced(target, snapshot, text)
    except DeltaError:  # those of `check_condition`, of which some are ValueErrors
        raise
    except (ParseException, ValueError) as error:
        raise failed(
            "DELTA_FAILED_RECOGNIZE_PREDICATE", at=snapshot, option=REPLACE_WHERE, expression=text, reason=backend.reason_of(error)
        ) from None
    return change_of(target, "DELETE", statement, snapshot)
