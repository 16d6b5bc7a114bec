# SPDX-License-Identifier: Apache-2.0
"""The source of a MERGE: its rows are evaluated once, and kept on the executors until the end of the MERGE."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.schema.reserved_names import OWN_PREFIX
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.backend import is_of_connect
from bayou.spark.portable.client import alias_of, kept_rows
from bayou.spark.portable.requests.frames import as_given
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.protocol.types.schema import StructType
    from bayou.spark.backend import Backend

_COPY: Final = "__bayou_source"
SOURCE_ROW: Final = "__bayou_source_row"
"""A column of the source's rows: a number that no other row has. The rows are evaluated once, so that it stays the same."""


@dataclass(frozen=True)
class PortableSource:
    """The rows of a source; an implementation of `AnySource`.

    Attributes:
        frame: the rows under the source's alias, with a copy of each column (see `copy_of`), and `SOURCE_ROW`.
        schema: its columns.
        alias: its alias; None without one.
        rows: their number; 0 before `counted_keys`.
        kept: what keeps the rows on the server while it exists.
    """

    frame: DataFrame
    schema: StructType
    alias: str | None
    rows: int
    materialised_in_ms: int
    reads: ReadSet | None
    kept: list[DataFrame] = field(default_factory=list)
    is_materialised: bool = True
    files: None = None

    @classmethod
    def of(
        cls, backend: Backend, given: DataFrame, snapshot: Snapshot, reads: ReadSet, rows: DataFrame | None = None
    ) -> PortableSource:
        """Evaluate a source. Runs a job.

        A lost block of its rows is an error: the server never computes them again.

        Args:
            reads: what reading it reads of the table itself.
            rows: the rows to take, if they are not all rows of the source.

        Raises:
            UnsupportedFeatureError: a column has a name with the prefix of bayou's own columns.
        """
        schema = as_nullable(readable_schema(backend.columns_of(given)))
        own = [each for each in schema.names if each.lower().startswith(OWN_PREFIX)]
        if own:
            raise failed(
                "DELTA_OPERATION_NOT_ALLOWED/reserved-in-source",
                at=snapshot,
                column=own[0],
                prefix=OWN_PREFIX,
                features=(f"columns whose names begin with {OWN_PREFIX}",),
            )
        backend.note_rows_of_table(given, snapshot.table_uri, replaces=False)
        begin = time.monotonic()
        kept = kept_rows((given if rows is None else rows).select("*", F.monotonically_increasing_id().alias(SOURCE_ROW)))
        spent = int((time.monotonic() - begin) * 1000)
        frame, alias = as_given(kept, given) if is_of_connect(given) else (kept, alias_of(given))
        lowered = [name.lower() for name in schema.names]
        copies = [
            F.col(quoted_name(name)).alias(copy_of(place))
            for place, name in enumerate(schema.names)
            if lowered.count(name.lower()) == 1
        ]
        return cls(frame.select("*", *copies), schema, alias, 0, spent, reads, [kept])

    def close(self) -> None:
        """Let the server drop the rows."""
        self.kept.clear()


def copy_of(place: int) -> str:
    """Return the name of the copy of a column of the source, which no user's expression can mean."""
    return f"{_COPY}{place}"
