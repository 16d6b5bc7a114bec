# SPDX-License-Identifier: Apache-2.0
"""Find names of columns that differ only in case, which a table must not have.

Source: delta-spark's `SchemaMergingUtils.checkColumnNameDuplication`.
"""

from __future__ import annotations

from collections import Counter

from bayou.errors import failed, sample
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import walk


def duplicates(schema: StructType) -> list[str]:
    """Return the dotted paths, in lower case, of names that a struct has more than once, case-insensitively, at every depth."""
    found = []
    for path, kind in walk(schema):
        if isinstance(kind, StructType):
            counts = Counter(name.lower() for name in kind.names)
            found += [".".join((*path, name)) for name, count in counts.items() if count > 1]
    return found


def check_distinct(schema: StructType, table: str, version: int | None = None) -> None:
    """Raise InvalidSchemaError if names of a table, made by another writer, differ only in case; `columns` has them."""
    twins = duplicates(schema)
    if twins:
        raise failed(
            "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", table=table, version=version, names=sample(twins), columns=twins
        )
