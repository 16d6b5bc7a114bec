# SPDX-License-Identifier: Apache-2.0
"""Check the columns in `delta.dataSkippingStatsColumns`.

Source: delta-spark's `StatisticsCollection.validateDeltaStatsColumns`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from bayou.errors import DeltaError, failed
from bayou.protocol.stats.file_stats import STATS_COLUMNS, has_bounds, parse_column_list
from bayou.protocol.types.partition_values import is_string_type
from bayou.protocol.types.paths import Path, TableRules, dotted, type_at
from bayou.protocol.types.schema import DataType, StructType


def check_stats_columns(
    schema: StructType, partition_columns: Collection[str], configuration: Mapping[str, str], rules: TableRules
) -> None:
    """Raise InvalidSchemaError if a column does not exist, is a partition column, or has a type without bounds."""
    text = configuration.get(STATS_COLUMNS)
    partitions = {name.lower() for name in partition_columns}
    for path in () if text is None else parse_column_list(text):
        type_at(schema, path, rules)  # raises if the column does not exist
        if len(path) == 1 and path[0].lower() in partitions:
            raise failed("DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN", at=rules, column=dotted(path))
        for leaf, leaf_type in _leaves(*_reached(schema, path, rules)):
            if not (isinstance(leaf_type, str) and (has_bounds(leaf_type) or is_string_type(leaf_type))):
                raise _has_no_bounds(leaf, leaf_type, path, rules)


def _reached(schema: StructType, path: Path, rules: TableRules) -> tuple[DataType, Path]:
    """Return the type that a path leads to, and the path; if it leads into an array or a map, the type and path of that."""
    for end in range(1, len(path)):
        outer = type_at(schema, path[:end], rules)
        if not isinstance(outer, StructType):
            return outer, path[:end]
    return type_at(schema, path, rules), path


def _leaves(kind: DataType, path: Path) -> Iterator[tuple[Path, DataType]]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _leaves(field.type, (*path, field.name))
    else:
        yield path, kind


def _has_no_bounds(leaf: Path, leaf_type: DataType, named: Path, rules: TableRules) -> DeltaError:
    column, shown = dotted(leaf), leaf_type if isinstance(leaf_type, str) else "array or map"
    if len(leaf) > len(named):
        parent = dotted(named)
        return failed("DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE/field", at=rules, column=column, type=shown, parent=parent)
    return failed("DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", at=rules, column=column, type=shown)
