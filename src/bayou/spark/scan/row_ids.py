# SPDX-License-Identifier: Apache-2.0
"""Materialised row ids: the columns in which files keep the ids and versions of rows from earlier files.

Source: PROTOCOL.md, "Row Tracking".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import CorruptLogError
from bayou.protocol import properties
from bayou.protocol.types.schema import StructField
from bayou.protocol.types.sql_text import quoted_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from typing_extensions import Self

    from bayou.log.snapshot.snapshot import Snapshot

BASE: Final = "__bayou_base_row_id"
"""The hidden column with the id of a file's first row."""
BASE_VERSION: Final = "__bayou_base_row_version"
"""The hidden column with the version of a file's rows that have no other version."""
_ID: Final = "__bayou_row_id"
_VERSION: Final = "__bayou_row_version"


def has_row_id_columns(snapshot: Snapshot) -> bool:
    """Whether row ids can be read: the table tracks rows, and names the columns in which its files have the ids."""
    configuration = snapshot.metadata.configuration
    names = (properties.MATERIALIZED_ROW_ID.read(configuration), properties.MATERIALIZED_ROW_COMMIT_VERSION.read(configuration))
    return bool(properties.ENABLE_ROW_TRACKING.read(configuration) and all(names))


@dataclass(frozen=True, slots=True)
class RowIdColumns:
    """The columns of a table's files that hold row ids. They are not columns of the table.

    Attributes:
        id: the name of the column of row ids; NULL if they follow from the file's `baseRowId` and the row's position.
        version: the name of the column of versions that last changed the rows; NULL for the file's own version.
    """

    id: str
    version: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self | None:
        """Return those of a table; None if it does not track rows. Raise CorruptLogError if it does not name them."""
        configuration = snapshot.metadata.configuration
        if not properties.ENABLE_ROW_TRACKING.read(configuration):
            return None
        row_id = properties.MATERIALIZED_ROW_ID.read(configuration)
        version = properties.MATERIALIZED_ROW_COMMIT_VERSION.read(configuration)
        if not row_id or not version:
            raise CorruptLogError(
                "the table keeps row ids, and does not say in which columns of its files",
                at=snapshot,
                next_step="Set delta.enableRowTracking to false and to true again.",
            )
        return cls(row_id, version)

    @property
    def names(self) -> tuple[str, str]:
        """Return both names."""
        return (self.id, self.version)

    @property
    def fields(self) -> tuple[StructField, StructField]:
        """Return the columns as files have them."""
        return (StructField(self.id, "long"), StructField(self.version, "long"))

    @staticmethod
    def constants(snapshot: Snapshot, positions: pa.Array) -> dict[str, pa.Array]:
        """Return the constants of some files, as hidden columns of a scan."""
        files = snapshot.files(["base_row_id", "default_row_commit_version"]).take(positions)
        return {
            BASE: files["base_row_id"].combine_chunks(),
            BASE_VERSION: files["default_row_commit_version"].combine_chunks(),
        }

    def known(self, rows: DataFrame, metadata: str) -> DataFrame:
        """Add ids and versions, for `columns`, to rows that have these columns and `constants`."""
        row_id = F.coalesce(F.col(quoted_name(self.id)), F.col(BASE) + F.col(f"{metadata}.row_index"))
        version = F.coalesce(F.col(quoted_name(self.version)), F.col(BASE_VERSION))
        return rows.select("*", row_id.alias(_ID), version.alias(_VERSION)).drop(*self.names)

    def columns(self, changed: Column | None = None) -> tuple[Column, Column]:
        """Return these columns for a new file, from rows of `known`.

        Rows that satisfy `changed`, a condition that is never NULL, get the version that writes them.
        """
        version = F.col(_VERSION) if changed is None else F.when(~changed, F.col(_VERSION))
        return F.col(_ID).alias(self.id), version.alias(self.version)

    def of_new_rows(self) -> tuple[Column, Column]:
        """Return these columns for rows that are new in the table."""
        return F.lit(None).cast("bigint").alias(self.id), F.lit(None).cast("bigint").alias(self.version)
