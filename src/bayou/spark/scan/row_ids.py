# SPDX-License-Identifier: Apache-2.0
"""The auxiliary columns of a scan, and those in which rewritten files store row ids and row commit versions of earlier rows.

Source: PROTOCOL.md, "Row Tracking".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.types.schema import StructField
from bayou.protocol.types.sql_text import quoted_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from typing_extensions import Self

    from bayou.log.snapshot.snapshot import Snapshot

FILE: Final = "__bayou_file"
"""The auxiliary column with the position of the row's file in `Snapshot.files`, or another int for each file."""
METADATA: Final = "__bayou_metadata"
"""The auxiliary struct column whose field `row_index` is the row's position in its file."""
BASE: Final = "__bayou_base_row_id"
"""The hidden column with the file's `baseRowId`: the id of its first row."""
BASE_VERSION: Final = "__bayou_base_row_version"
"""The hidden column with the file's `defaultRowCommitVersion`: the version of rows that store no version of their own."""
_ID: Final = "__bayou_row_id"
_VERSION: Final = "__bayou_row_version"


def has_row_id_columns(snapshot: Snapshot) -> bool:
    """Whether row ids can be read: the table tracks rows, and its properties name the columns that store the ids."""
    configuration = snapshot.metadata.configuration
    names = (properties.MATERIALIZED_ROW_ID.read(configuration), properties.MATERIALIZED_ROW_COMMIT_VERSION.read(configuration))
    return bool(properties.ENABLE_ROW_TRACKING.read(configuration) and all(names))


@dataclass(frozen=True, slots=True)
class RowIdColumns:
    """The columns of a table's data files that store row ids. They are not columns of the table.

    Attributes:
        id: the name of the column of row ids. A NULL in it means `baseRowId` of the file plus the position of the row.
        version: the name of the column of the versions that last changed the rows. A NULL in it means `defaultRowCommitVersion` of
            the file.
    """

    id: str
    version: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self | None:
        """Return the columns of a table; None if it does not track rows.

        Raises:
            CorruptLogError: the table tracks rows, but its properties do not name the columns.
        """
        configuration = snapshot.metadata.configuration
        if not properties.ENABLE_ROW_TRACKING.read(configuration):
            return None
        row_id = properties.MATERIALIZED_ROW_ID.read(configuration)
        version = properties.MATERIALIZED_ROW_COMMIT_VERSION.read(configuration)
        if not row_id or not version:
            raise failed("DELTA_STATE_RECOVER_ERROR/row-id-columns", at=snapshot)
        return cls(row_id, version)

    @property
    def names(self) -> tuple[str, str]:
        """Return both names."""
        return (self.id, self.version)

    @property
    def fields(self) -> tuple[StructField, StructField]:
        """Return the columns as fields of the stored schema."""
        return (StructField(self.id, "long"), StructField(self.version, "long"))

    @staticmethod
    def constants(snapshot: Snapshot, positions: pa.Array) -> dict[str, pa.Array]:
        """Return `baseRowId` and `defaultRowCommitVersion` of some files, as hidden columns of a scan."""
        files = snapshot.files(["base_row_id", "default_row_commit_version"]).take(positions)
        return {
            BASE: files["base_row_id"].combine_chunks(),
            BASE_VERSION: files["default_row_commit_version"].combine_chunks(),
        }

    def known(self, rows: DataFrame, metadata: str) -> DataFrame:
        """Compute row ids and versions of rows that were read with `fields` and `constants`. `columns` can then select them.

        Args:
            metadata: the struct column with `row_index`.
        """
        row_id = F.coalesce(F.col(quoted_name(self.id)), F.col(BASE) + F.col(f"{metadata}.row_index"))
        version = F.coalesce(F.col(quoted_name(self.version)), F.col(BASE_VERSION))
        return rows.select("*", row_id.alias(_ID), version.alias(_VERSION)).drop(*self.names)

    def columns(self, changed: Column | None = None) -> tuple[Column, Column]:
        """Return the two columns to write to a new file, for rows from `known`.

        Args:
            changed: a condition that is never NULL. Rows that satisfy it get no stored version, that is the version of the commit.
        """
        version = F.col(_VERSION) if changed is None else F.when(~changed, F.col(_VERSION))
        return F.col(_ID).alias(self.id), version.alias(self.version)

    def of_new_rows(self) -> tuple[Column, Column]:
        """Return the two columns to write to a new file, for inserted rows: they are NULL."""
        return F.lit(None).cast("bigint").alias(self.id), F.lit(None).cast("bigint").alias(self.version)
