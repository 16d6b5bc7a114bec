# SPDX-License-Identifier: Apache-2.0
"""Read the rows of some files as a plan, with auxiliary columns: the file, the position of the row in the file, the row id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.spark.jvm.catalyst.merge import frame_of
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.scan.scan import Scan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.types.char_columns import declared_chars, padded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.scan.row_ids import RowIdColumns


__all__ = ("FILE", "METADATA", "ScannedRows", "scanned")


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """The rows of some files as a plan.

    Attributes:
        plan: the logical plan.
        names: the names that the requested columns have in the plan.
        others: the names of the auxiliary columns.
        ids: the row id columns, which are among the auxiliary columns; None without row ids.
    """

    plan: JavaObject
    names: Sequence[str]
    others: Sequence[str]
    ids: RowIdColumns | None

    def known(self, rows: DataFrame) -> DataFrame:
        """Compute the row ids of rows of the plan, if it reads the row id columns (see `RowIdColumns.known`)."""
        return rows if self.ids is None else self.ids.known(rows, METADATA)


def scanned(
    target: SessionTable,
    snapshot: Snapshot,
    fields: Sequence[StructField],
    positions: pa.Array,
    *,
    marks: pa.Array | None,
    settings: Mapping[str, str],
    with_numbers: bool,
    ids: RowIdColumns | None,
) -> ScannedRows:
    """Return the rows of some files as a plan.

    Args:
        marks: the value of the column `FILE` for each file; None to leave the column out.
        settings: the session's settings, which decide whether `char` columns are padded.
        with_numbers: whether to add the column `METADATA`. Row ids need it, so `ids` adds it too.
        ids: the row id columns to read; None for no row ids.
    """
    constants = {} if ids is None else ids.constants(snapshot, positions)
    hidden = {**({} if marks is None else {FILE: marks.cast(pa.int32())}), **constants}
    others = () if ids is None else ids.fields
    with_numbers = with_numbers or ids is not None
    scan = Scan(
        target.application,
        java_session(target.spark),
        snapshot,
        [*fields, *others],
        metadata=["row_index"] if with_numbers else None,
        positions=positions.cast(pa.int64()),
        hidden=hidden,
        options=target.options,
        rewrites=True,
    ).planned()
    auxiliary = [*(field.name for field in others), *hidden, *([METADATA] if with_numbers else [])]
    names = scan.columns[: len(fields)]
    declared = declared_chars(zip(fields, names, strict=True))
    plan, jvm = scan.plan, jvm_of(target.application)
    if declared:
        plan = analyzed_plan(padded(target.application.backend, frame_of(jvm, target.spark, plan), declared, settings))
    return ScannedRows(plan, names, auxiliary, ids)
