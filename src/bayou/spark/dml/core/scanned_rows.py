# SPDX-License-Identifier: Apache-2.0
"""Read the rows of some files with auxiliary columns: the file, the position in it, and the row id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.spark.jvm.core.session import java_session
from bayou.spark.scan.scan import Scan
from bayou.spark.types.char_columns import declared_chars, padded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.scan.row_ids import RowIdColumns

FILE = "__bayou_file"
"""The auxiliary column with the position of a row's file in the snapshot."""
METADATA = "__bayou_metadata"
"""The auxiliary column that has a row's position in its file, as `row_index`."""


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """The rows of some files as a plan.

    Attributes:
        plan: the logical plan.
        names: the names of the requested columns in the plan.
        others: the auxiliary columns.
        ids: the columns of row ids among these, or None.
    """

    plan: JavaObject
    names: Sequence[str]
    others: Sequence[str]
    ids: RowIdColumns | None

    def known(self, rows: DataFrame) -> DataFrame:
        """Add row ids to rows of the plan, if it reads their columns (see `RowIdColumns.columns`)."""
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
        marks: an int for each file, for the column `FILE`; None for no such column.
        ids: the columns of row ids to read, or None.
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
    plan = padded(target.application.jvm, target.spark, scan.plan, declared, settings)
    return ScannedRows(plan, names, auxiliary, ids)
