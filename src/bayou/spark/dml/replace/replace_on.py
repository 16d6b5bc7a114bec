# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace rows with a match among the new rows: `replaceOn` with a condition, `replaceUsing` with columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import DeltaError, failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.replace.replaced_rows import ReplacedRows
from bayou.spark.dml.statements.resolver import resolver_of
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.read.session_table import SessionTable
from bayou.spark.types.char_columns import as_chars_of, declared_as_chars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend
    from bayou.spark.data_files.request import WriteOptions
    from bayou.spark.session.application import Application

_TABLE, _ROWS = "__bayou_table", "__bayou_rows"


def rows_replaced_on(application: Application, frame: DataFrame, options: WriteOptions, snapshot: Snapshot) -> ReplacedRows:
    """Return the rows that the new rows replace: every row of the table with a match. A file without such a row stays.

    Args:
        frame: the new rows, the same at every evaluation.
        options: the options of the write, with `replace_on` or `replace_using`.

    Raises:
        InvalidOptionError: a column of `replaceUsing` is not in both, or a column of `replaceOn` is in neither.
    """
    backend, none = application.backend, pa.array([], pa.int64())
    watched = backend.watched(frame)
    target = SessionTable.of(application, frame.sparkSession, options.path, options.storage_options)
    change = change_of(target, "DELETE", resolver_of(backend).delete(target, snapshot, (), None), snapshot)
    matching = partial(_matching, backend, as_chars_of(backend, frame, snapshot.schema), options, snapshot)
    if not len(change.files.candidates):
        matching(change.rows(none), "left_semi")  # an invalid condition is an error nevertheless
    replaced = ReplacedRows.of(replace(change, files=replace(change.files, whole=none), matching=matching), None)
    return replace(replaced, source=watched)


def _matching(
    backend: Backend, new_rows: DataFrame, options: WriteOptions, snapshot: Snapshot, table_rows: DataFrame, how: str
) -> DataFrame:
    """Join rows of the table with the new rows.

    Args:
        how: the join type, `left_semi` or `left_anti`. The result has the columns of `table_rows`.
    """
    if options.replace_using is not None:
        named = _equal(options.replace_using, backend.names_of(new_rows), backend.names_of(table_rows), snapshot)
        return table_rows.alias(_TABLE).join(new_rows.alias(_ROWS), named, how)
    declared = declared_as_chars(table_rows, snapshot.schema)
    aliased = declared if options.target_alias is None else declared.alias(options.target_alias)
    try:
        joined = aliased.join(new_rows, F.expr(options.replace_on or ""), how)
        if not backend.is_native:
            _ = joined.schema  # only now does the server resolve the condition
        return joined  # noqa: TRY300
    except AnalysisException as error:
        is_ambiguous = error_class_of(error) == "AMBIGUOUS_REFERENCE"
        if not is_ambiguous and not error_class_of(error).startswith("UNRESOLVED_COLUMN"):
            raise
        raise failed(
            "DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION"
            if is_ambiguous
            else "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION",
            at=snapshot,
            option="replaceOn",
            reason=str(error).partition("SQLSTATE")[0].strip(),
        ) from error


def check_using_places(options: WriteOptions, given: Sequence[str], snapshot: Snapshot) -> None:
    """Check that the columns of `replaceUsing` have the same positions in the rows of a write by position as in the table.

    Raises:
        InvalidOptionError: such a column has another position, or the rows lack it.
    """
    known, found = [each.lower() for each in snapshot.schema.names], [each.lower() for each in given]
    columns = [each for each in options.replace_using or () if each.lower() in known]
    for name in columns:
        if name.lower() not in found:
            raise _unresolved(name, snapshot)
    wrong = [each for each in columns if known.index(each.lower()) != found.index(each.lower())]
    if wrong:
        raise failed(
            "INSERT_REPLACE_USING_DISALLOW_MISALIGNED_COLUMNS",
            at=snapshot,
            option="replaceUsing",
            columns=tuple(map(quoted_name, wrong)),
        )


def _unresolved(name: str, snapshot: Snapshot) -> DeltaError:
    return failed("UNRESOLVED_INSERT_REPLACE_USING_COLUMN", at=snapshot, option="replaceUsing", column=name)


def _equal(names: Sequence[str], given: Sequence[str], known: Sequence[str], snapshot: Snapshot) -> Column:
    there = {each.lower() for each in given} & {each.lower() for each in known}
    for name in names:
        if name.lower() not in there:
            raise _unresolved(name, snapshot)
    equal = (F.col(f"{_TABLE}.{quoted_name(name)}") == F.col(f"{_ROWS}.{quoted_name(name)}") for name in names)
    both: Column = reduce(and_, equal)
    return both
