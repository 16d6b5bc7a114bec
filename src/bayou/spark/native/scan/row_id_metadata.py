# SPDX-License-Identifier: Apache-2.0
"""`_metadata` of a table with row tracking: row ids and versions in addition to Spark's own metadata of files.

Sources: delta-spark's `RowId`, `RowCommitVersion` and `DefaultRowCommitVersion`; PROTOCOL.md, "Row Tracking".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from bayou.errors import failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.catalyst.wide_columns import projected
from bayou.spark.jvm.core.session import session_of
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.scan.scan import PlannedScan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.file_metadata import OUR_METADATA
from bayou.spark.scan.row_ids import BASE, BASE_VERSION, RowIdColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.native.scan.scan import Scan

_ROW_INDEX: Final = "row_index"
_ROW_ID, _BASE_ID, _VERSION, _DEFAULT_VERSION = "row_id", "base_row_id", "row_commit_version", "default_row_commit_version"
_NAMES: Final = frozenset({_ROW_ID, _BASE_ID, _VERSION, _DEFAULT_VERSION})


def asks_for_row_ids(metadata: Sequence[str] | None) -> bool:
    """Whether a query wants fields of `_metadata` that are about rows, and not about files."""
    return not _NAMES.isdisjoint(metadata or ())


def with_row_ids(scan: Scan, metadata: Sequence[str]) -> PlannedScan:
    """Plan a scan whose `_metadata` has the ids and versions of rows.

    Raises:
        CorruptLogError: the table does not name the columns in which its files have them.
        SchemaChangedError: the table no longer tracks its rows.
    """
    ids = RowIdColumns.of(scan.snapshot)
    if ids is None:
        raise failed("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/row-ids", at=scan.snapshot)
    positions = scan.positions
    if positions is None:
        positions = pa.array(np.arange(scan.snapshot.files(["path"]).num_rows))
    others = dict.fromkeys([*(name for name in metadata if name not in _NAMES), _ROW_INDEX])
    hidden = {**scan.hidden, **ids.constants(scan.snapshot, positions)}
    planned = replace(scan, fields=(*scan.fields, *ids.fields), hidden=hidden, metadata=list(others)).planned()
    expressions = {name: f"{OUR_METADATA}.{quoted_name(name)}" for name in others} | {
        _ROW_ID: f"coalesce({quoted_name(ids.id)}, {BASE} + {OUR_METADATA}.{_ROW_INDEX})",
        _BASE_ID: BASE,
        _VERSION: f"coalesce({quoted_name(ids.version)}, {BASE_VERSION})",
        _DEFAULT_VERSION: BASE_VERSION,
    }
    columns = planned.columns[: len(scan.fields)]
    members = ", ".join(f"{expressions[name]} as {quoted_name(name)}" for name in metadata)
    projection = [*map(quoted_name, [*columns, *scan.hidden]), f"struct({members}) as {OUR_METADATA}"]
    frame = projected(jvm_of(scan.application), session_of(scan.session), planned.plan, projection)
    return PlannedScan(analyzed_plan(frame), [*columns, *scan.hidden, OUR_METADATA], is_union=True)
