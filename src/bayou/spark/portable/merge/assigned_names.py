# SPDX-License-Identifier: Apache-2.0
"""Resolve the names on the left of `=` in a MERGE: columns of the table, or with schema evolution new columns of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.types.schema import StructType
from bayou.spark.dml.merge.resolution.refusals import unresolved

if TYPE_CHECKING:
    from bayou.errors import DeltaError
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.dml.merge.resolution.clauses import Clause

Path = tuple[str, ...]


@dataclass(frozen=True)
class AssignedNames:
    """Resolves assigned names like delta-spark: first against the table, then against the source.

    Attributes:
        name: the alias of the table, or an empty tuple.
        source: the columns of the source.
        alias: the alias of the source; None without one.
        evolves: whether a name may mean a column of the source.
    """

    snapshot: Snapshot
    name: Path
    source: StructType
    alias: str | None
    evolves: bool

    def path(self, clause: Clause, parts: Path, shown: str) -> Path:
        """Return the path of an assigned column or field, without aliases.

        Args:
            clause: the clause that assigns it.
            parts: the parts of the name.
            shown: the name for users.

        Raises:
            SchemaMismatchError: neither the table nor the source has the column.
            UnsupportedFeatureError: the field is in an array or a map.
        """
        found = self._found(self.snapshot.schema, self.name[-1:], parts, shown)
        if found is None and self.evolves:
            found = self._found(self.source, () if self.alias is None else (self.alias,), parts, shown)
        if found is not None:
            return found
        message = f"Cannot resolve {shown} in {clause.action.value.upper()} clause"
        names = dict.fromkeys((*self.snapshot.schema.names, *(self.source.names if self.evolves else ())))
        raise unresolved(self.snapshot, message, list(names))

    def _found(self, schema: StructType, alias: Path, parts: Path, shown: str) -> Path | None:
        """Return the path that a name means in a relation. Its alias comes before a column of the same name."""
        is_qualified = len(parts) > 1 and tuple(map(str.lower, parts[:1])) == tuple(map(str.lower, alias))
        if is_qualified and schema.field(parts[1]) is not None:
            return self._path(schema, parts[1:], shown)
        return self._path(schema, parts, shown)

    def _path(self, schema: StructType, parts: Path, shown: str) -> Path | None:
        kind: DataType = schema
        path: list[str] = []
        for part in parts:
            if not isinstance(kind, StructType):
                if path and not isinstance(kind, str):
                    raise no_path(self.snapshot, shown)
                return None
            field = kind.field(part)
            if field is None:
                return None
            path.append(field.name)
            kind = field.type
        return tuple(path)


def no_path(snapshot: Snapshot, shown: str) -> DeltaError:
    """Return the error for a name that is not the name of a column or of a field in structs."""
    return failed(
        "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE", at=snapshot, column=shown, features=("nested fields in arrays and maps",)
    )
