# SPDX-License-Identifier: Apache-2.0
"""Names of columns that differ in case only, which no table may have.

Source: delta-spark's `SchemaMergingUtils.checkColumnNameDuplication`.
"""

from __future__ import annotations

from collections import Counter

from bayou.errors import failed, sample
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import walk


def duplicates(schema: StructType) -> list[str]:
    """Return the dotted paths of names that a struct has more than once, whatever the case, at every depth; each in lower case."""
    found = []
    for path, kind in walk(schema):
        if isinstance(kind, StructType):
            counts = Counter(name.lower() for name in kind.names)
            found += [".".join((*path, name)) for name, count in counts.items() if count > 1]
    return found


def check_distinct(schema: StructType, table: str, version: int | None = None) -> None:
    """Refuse to change a table that another writer made with names that differ in case only.

    Raises:
        InvalidSchemaError: there are such names; `columns` has them.
    """
    twins = duplicates(schema)
    if twins:
        raise failed(
            "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", table=table, version=version, names=sample(twins), columns=twins
        )
