# SPDX-License-Identifier: Apache-2.0
"""What an overwrite replaces: the whole table, the partitions that the rows are in, or the rows for which a condition is true."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.log.file_statistics import to_predicate
from bayou.plan.predicate import columns
from bayou.protocol import partition_values
from bayou.protocol.constraints import Constraint, ConstraintKind
from bayou.protocol.schema import StructField, StructType, schema_to_json
from bayou.spark.change_rows import FATE, BesideColumns, Fate
from bayou.spark.directories import PartitionColumn
from bayou.spark.expressions import by_logical_name, from_catalyst
from bayou.spark.jvm.adapters import described
from bayou.spark.jvm.bulk import Bulk
from bayou.spark.jvm.callbacks import FAILED_CALL, reason_of
from bayou.spark.jvm.relation import bound_predicate, condition_of
from bayou.spark.jvm.row_changes import has_subquery
from bayou.spark.jvm.session import java_session
from bayou.spark.row_checks import REPLACE_WHERE, RowRule
from bayou.spark.stored_rows import beside_stored_rows, stored_rows
from bayou.spark.types import readable_schema, sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot import Snapshot
    from bayou.log.transaction import Transaction
    from bayou.plan.predicate import Predicate
    from bayou.protocol.actions import AddFile
    from bayou.spark.application import Application
    from bayou.spark.new_files import NewFiles
    from bayou.spark.write_request import WriteRequest


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """What a condition on the rows to replace means for the files of a table.

    Attributes:
        files: the positions of the files that go, in the order of `Snapshot.files`.
        predicate: what is read of the table for it.
        rows: the rows of these files that stay, as the table has them, and where it has a change data feed those that go, too;
            None where no row stays.
        rule: what the new rows obey; None for nothing of its own.
        beside: what the rows have beside the table's columns.
    """

    files: pa.Array
    predicate: Predicate
    rows: DataFrame | None
    rule: RowRule | None
    beside: BesideColumns = field(default_factory=BesideColumns)

    def take(self, transaction: Transaction) -> pa.Table:
        """The files that go; the commit depends on what the condition reads from then on."""
        assert transaction.snapshot is not None  # noqa: S101  (there is a table to replace rows of)
        mask = transaction.snapshot.may_match(self.predicate)
        transaction.reads.note_scan(self.predicate, transaction.snapshot.files(["path"])["path"].filter(mask))
        return transaction.snapshot.files().take(self.files)

    def row_counts(self, snapshot: Snapshot, added: NewFiles) -> dict[str, int]:
        """The metrics of the rows that go and of those that stay; none where the log, or the write, does not tell their number.

        Args:
            snapshot: the table's state before the write.
            added: what was written.
        """
        live = snapshot.live_rows(self.files)
        if live.null_count or (self.rows is not None and added.num_given is None):
            return {}
        copied = 0 if self.rows is None or added.num_given is None else added.num_rows - added.num_given
        return {"numCopiedRows": copied, "numDeletedRows": (pc.sum(live).as_py() or 0) - copied}


def replaced_rows(application: Application, spark: SparkSession, request: WriteRequest, snapshot: Snapshot) -> ReplacedRows:
    """What a condition replaces. A condition on partition columns alone reads no data; any other one rewrites files.

    Args:
        application: the application.
        spark: the session of the write.
        request: the write, with `replace_where`: the condition, as SQL over the table's columns.
        snapshot: the table's state.

    Raises:
        InvalidOptionError: the condition cannot be understood, or rows would be deleted by a write that must change none.
    """
    schema, text = readable_schema(snapshot.schema), "true" if request.replace_where is None else request.replace_where
    condition = _condition(application, spark, snapshot, schema, text)
    if isinstance(condition, bool):
        predicate = to_predicate([], snapshot.schema)
        used: list[str] = []
        chosen = pa.array(range(snapshot.files(["path"]).num_rows if condition else 0), pa.int64())
    else:
        predicate = from_catalyst([described(application.jvm, condition)], by_logical_name(snapshot.schema))
        used = sorted({each.name() for each in application.jvm.list_of(condition.references().toSeq())})
        chosen = pc.indices_nonzero(snapshot.may_match(predicate)) if columns(predicate) else _all(snapshot)
    partitions = {name.lower() for name in snapshot.partition_columns}
    rule = RowRule(Constraint(REPLACE_WHERE, ConstraintKind.CHECK, (), text), tuple(used))
    if isinstance(condition, bool):
        return ReplacedRows(chosen, predicate, None, rule)
    if used and {name.lower() for name in used} <= partitions:
        return ReplacedRows(matching_partitions(application, spark, snapshot, condition), predicate, None, rule)
    if not request.data_change:
        raise _changes_data(snapshot)
    if not len(chosen):
        return ReplacedRows(chosen, predicate, None, rule)
    rows = stored_rows(application, spark, snapshot, chosen, options=request.storage_options)
    beside = beside_stored_rows(snapshot)
    matches = f"coalesce(({text}\n), false)"
    if beside.feeds:
        rows = rows.selectExpr("*", f"if({matches}, {int(Fate.DELETED)}, {int(Fate.KEPT)}) as {FATE}")
    else:
        rows = rows.where(f"not {matches}")
    return ReplacedRows(chosen, predicate, rows, rule, beside)


def _all(snapshot: Snapshot) -> pa.Array:
    return pa.array(range(snapshot.files(["path"]).num_rows), pa.int64())


def _condition(application: Application, spark: SparkSession, snapshot: Snapshot, schema: StructType, text: str) -> Any:
    try:
        if not text.strip():
            raise ValueError("it is empty")  # noqa: TRY301  (told below, with the others)
        found = condition_of(application.jvm, spark, schema_to_json(schema), text)
    except (*FAILED_CALL, ValueError) as error:
        raise InvalidOptionError(
            f"Cannot recognize the predicate '{text}': {reason_of(error)}",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_FAILED_RECOGNIZE_PREDICATE",
            sql_state="42601",
            option=REPLACE_WHERE,
            next_step="give a SQL condition over the table's columns.",
        ) from None
    if not isinstance(found, bool) and has_subquery(found):
        raise UnsupportedFeatureError(
            f"Subqueries are not supported in the condition '{text}' of replaceWhere.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_UNSUPPORTED_SUBQUERY",
            sql_state="0AKDC",
            features=["subqueries in replaceWhere"],
            next_step="compute the value first, and put it into the condition.",
        )
    return found


def matching_partitions(application: Application, spark: SparkSession, snapshot: Snapshot, condition: Any) -> pa.Array:
    """The files whose partition values make a condition true, by Spark's own evaluation."""
    fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
    texts = snapshot.partition_texts()
    partitions = [PartitionColumn(f.physical_name, sql_type(f.type), texts[f.physical_name].combine_chunks()) for f in fields]
    if not snapshot.files(["path"]).num_rows:
        return pa.array([], pa.int64())
    jvm = application.jvm
    groups = application.partition_groups(snapshot, application.workbench(java_session(spark)), lambda: partitions)
    logical = StructType(tuple(StructField(f.name, f.type) for f in fields))
    matching = Bulk.of(jvm).matching(groups.rows, bound_predicate(jvm, [condition], schema_to_json(logical)))
    return pc.indices_nonzero(pc.is_in(groups.ids, pa.array(matching, pa.int64())))


def _changes_data(snapshot: Snapshot) -> InvalidOptionError:
    return InvalidOptionError(
        "'replaceWhere' cannot be used with data filters when 'dataChange' is set to false.",
        error_class="DELTA_REPLACE_WHERE_WITH_FILTER_DATA_CHANGE_UNSET",
        sql_state="42613",
        option=REPLACE_WHERE,
        table=snapshot.table_uri,
        version=snapshot.version,
    )


def replaced_partitions(transaction: Transaction, added: Sequence[AddFile], *, keeps_null: bool = False) -> pa.Table:
    """The files that lie in a partition in which new ones do; the commit depends on these partitions from then on.

    Args:
        transaction: the write's transaction.
        added: the new files.
        keeps_null: whether partitions with a NULL among their values are added to instead.
    """
    snapshot = transaction.snapshot
    assert snapshot is not None  # noqa: S101  (there is a table to replace partitions of)
    fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
    wanted = {tuple(file.partition_values.get(f.physical_name) or None for f in fields) for file in added}
    wanted = {values for values in wanted if not (keeps_null and None in values)}
    groups = [[_equals(field, text) for field, text in zip(fields, values, strict=True)] for values in wanted]
    found = transaction.files(where=groups) if groups else snapshot.files().slice(0, 0)
    if not found.num_rows:
        return found
    # NULL and the empty text are one partition (PROTOCOL.md, "Partition Value Serialization").
    texts = [pc.fill_null(pc.map_lookup(found["partition_values"], f.physical_name, "first"), "") for f in fields]
    keys = pa.array(["\x1f".join(text or "" for text in values) for values in wanted], pa.string())
    return found.filter(pc.is_in(pc.binary_join_element_wise(*texts, "\x1f"), value_set=keys))


def _equals(field: StructField, text: str | None) -> tuple[Any, ...]:
    kind = field.type if isinstance(field.type, str) else "string"
    value = partition_values.parse(text, kind)
    if value is None:
        return (field.name, "is null")
    # Of days and instants filters know the text, and not the number.
    return (field.name, "==", text if kind in ("date", "timestamp", "timestamp_ntz") else value)
