# SPDX-License-Identifier: Apache-2.0
"""The rows of some of a table's files as a plan, with what a change of rows wants to know of each: its file, its number, its id."""

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
"""The hidden column that holds a file's position in the snapshot."""
METADATA = "__bayou_metadata"
"""The hidden column that has the number of a row in its file, as `row_index`."""


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """The rows of some files as a plan.

    Attributes:
        plan: the logical plan.
        names: the names in it of the columns that were asked for.
        others: its further columns.
        ids: the columns of row ids among these; None where there are none.
    """

    plan: JavaObject
    names: Sequence[str]
    others: Sequence[str]
    ids: RowIdColumns | None

    def known(self, rows: DataFrame) -> DataFrame:
        """Rows of the plan with their ids, where they are to have them (see `RowIdColumns.columns`)."""
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
    """The rows of some files as a plan.

    Args:
        marks: an int for each of them, for a further column `FILE`; None for no such column.
        ids: the columns of row ids that the rows have; None for none.
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
    beside = [*(field.name for field in others), *hidden, *([METADATA] if with_numbers else [])]
    names = scan.columns[: len(fields)]
    declared = declared_chars(zip(fields, names, strict=True))
    plan = padded(target.application.jvm, target.spark, scan.plan, declared, settings)
    return ScannedRows(plan, names, beside, ids)
