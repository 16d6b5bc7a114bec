# SPDX-License-Identifier: Apache-2.0
"""A partition folder read like a table: `orders/day=2026-11-25` is the rows of that day in `orders`.

Source: delta-spark's `DeltaDataSource.parsePathIdentifier` and `verifyAndCreatePartitionFilters`. Only the log counts: the folder
need not exist, and files of the partition may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, TableNotFoundError, failed
from bayou.log.snapshot.log_reader import open_reader
from bayou.log.snapshot.replay import FileState
from bayou.log.snapshot.snapshot import Snapshot
from bayou.plan.predicates.partition_values import to_arrow
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.storage import host_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """A folder below a table, named after partition values: the table's URI and the rest of the path, such as `a=1/b=x%3Ay`."""

    table: str
    folders: str

    @classmethod
    def below_table(cls, uri: str, storage_options: Mapping[str, str]) -> PartitionFolder | None:
        """Return the folder at a URI as part of the nearest table above it; None without such a table.

        The folder itself is not a table: the caller has checked that.
        """
        above, root = uri.rpartition("/")[0], host_of(uri)
        while len(above) > len(root):
            try:
                open_reader(above, storage_options).version()
            except TableNotFoundError:
                above = above.rpartition("/")[0]
            except (DeltaError, OSError):  # a user may have no access to the folders above
                return None
            else:
                return cls(above, uri[len(above) + 1 :])
        return None

    def files_of(self, snapshot: Snapshot, time_zone: str) -> Snapshot:
        """Return the snapshot with the files of the partition only.

        Values are compared by the type of the column, not as strings: `a=01` is the partition of the integer 1.

        Args:
            time_zone: the zone of timestamps in the path that do not name one.

        Raises:
            InvalidOptionError: the folders are not named after partition columns.
            PathNotFoundError: the table has no such partition.
        """
        masks = []
        values_of_files = snapshot.partition_texts()
        for name, value in self._values(snapshot):
            column = next(field for field in snapshot.schema.fields if field.name == name)
            actual, wanted = (
                to_arrow(strings, str(column.type), time_zone=time_zone)
                for strings in (values_of_files[column.physical_name], pa.array([value]))
            )
            is_match = pc.is_null(actual) if value == NULL_FOLDER else pc.equal(actual, wanted[0])
            masks.append(pc.fill_null(is_match, False))
        files = snapshot.files().filter(reduce(pc.and_, masks))
        if not files.num_rows:
            raise failed("DELTA_PATH_DOES_NOT_EXIST/partition", at=snapshot, path=f"{self.table}/{self.folders}")
        state = FileState.initial(None).with_adds(files, snapshot.table_uri)
        return snapshot.read_source(lambda source: Snapshot(source.with_state(state)))

    def _values(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        """Return the names of the columns and their values as strings."""
        pairs = [each.partition("=") for each in self.folders.split("/")]
        if not all(name and equals for name, equals, _ in pairs):
            raise failed("DELTA_INVALID_PARTITION_PATH", at=snapshot, option="path", path=self.folders)
        found = [(unquote(name), unquote(text)) for name, _, text in pairs]
        others = [name for name, _ in found if name not in snapshot.partition_columns]
        if others:
            raise failed(
                "DELTA_NON_PARTITION_COLUMN_SPECIFIED",
                at=snapshot,
                option="path",
                columns=[f"`{name}`" for name in others],
                path=self.folders,
                partition_columns=snapshot.partition_columns,
            )
        return found
