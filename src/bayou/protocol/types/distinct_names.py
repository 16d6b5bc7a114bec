# SPDX-License-Identifier: Apache-2.0
"""Names of columns that differ in case only, which no table may have.

Source: delta-spark's `SchemaMergingUtils.checkColumnNameDuplication`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bayou.errors import failed, sample
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator


def duplicates(schema: StructType) -> list[str]:
    """The dotted paths of names that a struct has more than once, whatever the case, at every depth; each in lower case."""
    return list(_duplicates(schema, ()))


def check_distinct(schema: StructType, table: str, version: int | None = None) -> None:
    """Refuse to change a table that another writer made with names that differ in case only.

    Raises:
        InvalidSchemaError: there are such names; `columns` has them.
    """
    twins = duplicates(schema)
    if twins:
        raise failed(
            "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE",
            table=table,
            version=version,
            names=sample(twins),
            columns=tuple(twins),
        )


def _duplicates(kind: DataType, path: tuple[str, ...]) -> Iterator[str]:
    match kind:
        case StructType(fields):
            counts = Counter(field.name.lower() for field in fields)
            yield from (".".join((*path, name)) for name, count in counts.items() if count > 1)
            for field in fields:
                yield from _duplicates(field.type, (*path, field.name))
        case ArrayType(element, _):
            yield from _duplicates(element, (*path, "element"))
        case MapType(key, value, _):
            yield from _duplicates(key, (*path, "key"))
            yield from _duplicates(value, (*path, "value"))
        case _:
            return
