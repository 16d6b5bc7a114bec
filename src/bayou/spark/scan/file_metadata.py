# SPDX-License-Identifier: Apache-2.0
"""The names of the columns with metadata about a row's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayou.protocol.types.schema import StructField

FILE_METADATA: Final = "_metadata"
"""Spark's column of metadata about a row's file."""
OUR_METADATA: Final = "__bayou_metadata"
"""The column that a scan returns it in."""
_METADATA_MARK: Final = "__file_source_metadata_col"


def is_file_metadata(column: StructField) -> bool:
    """Whether a column of a plan is Spark's own `_metadata`, and not a table's column of this name."""
    return _METADATA_MARK in column.metadata
