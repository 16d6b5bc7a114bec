# SPDX-License-Identifier: Apache-2.0
"""How Spark gets the files of a scan: from a list in a shared folder, or else from their paths in the request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from bayou.errors import failed
from bayou.log.actions.keys import hadoop_uris
from bayou.protocol.actions.paths import to_uri
from bayou.spark.portable.own_delta import check_scan
from bayou.spark.portable.scan.carrier import carrier
from bayou.spark.portable.scan.guards import guard_lists
from bayou.spark.portable.scan.vectors import BLOCKS, block_file, block_table
from bayou.spark.portable.scratch.folders import literal
from bayou.spark.portable.scratch.scratch import SETTING, scratch_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.portable.scan.carrier import Carrier
    from bayou.spark.portable.scan.listed_files import ListedFiles
    from bayou.spark.portable.scan.session_settings import ScanSettings

MOST_PATHS: Final = 1000
"""The most files of a scan without a list. Spark looks at each path whenever it analyses the query."""
_METADATA_FIELDS: Final = StructType(
    [
        *(StructField(name, StringType()) for name in ("file_path", "file_name")),
        *(StructField(name, LongType()) for name in ("file_size", "file_block_start", "file_block_length")),
        StructField("file_modification_time", TimestampType()),
        StructField("row_index", LongType()),
    ]
)
"""The type of Spark's `_metadata` for Parquet files."""
_PATH, _NUMBER = "__bayou_path", "__bayou_number"
OPTIONS: Final = {
    "recursiveFileLookup": "true",  # otherwise names of folders become partition values
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
"""Options of every scan, whatever the session's settings are: no file is ignored, and old dates are read as they are."""


class Source(Protocol):
    """The files of a scan.

    Attributes:
        listed: which files have numbers from 0 on, by their positions; None for all.
        chosen: the numbers of the files to read; None for all that are listed.
    """

    listed: pa.Array | None
    chosen: pa.Array | None

    def read(self, schema: StructType, options: Mapping[str, str]) -> DataFrame:
        """Return the rows of the listed files.

        Args:
            options: further options of Spark's reader.
        """
        ...

    def number(self, metadata: str) -> Column:
        """Return the number of a row's file in the DataFrame of `read`. A row of another file fails."""
        ...

    def vectors(self, storage_options: Mapping[str, str]) -> Sequence[Bitmap | None]:
        """Return the deletion vectors of the listed files; an empty list if no file has one."""
        ...

    def blocks(self, vectors: Sequence[Bitmap | None]) -> DataFrame:
        """Return `block_table` of the listed files as a DataFrame."""
        ...


def source_of(
    spark: SparkSession,
    files: ListedFiles,
    positions: pa.Array | None,
    storage_options: Mapping[str, str] | None,
    settings: ScanSettings,
) -> Source:
    """Return how Spark gets some files of a table.

    A list of all files serves scans of most of them too. For fewer files, writing a list costs less than planning with all.

    Raises:
        SessionError: client and server share no folder, and the files are too many for a request; or a setting of the session
            makes Spark ignore lists.
    """
    snapshot = files.snapshot
    settings.check_lists(snapshot)
    count = files.count
    scratch = scratch_of(spark, snapshot, storage_options, settings.scratch)
    if scratch is None:
        return _Paths(spark, files, positions)
    if positions is None:
        return _Listed(spark, files, carrier(scratch, files, None), None)
    if 2 * len(positions) > count:
        chosen = None if len(positions) == count and _is_range(positions) else positions
        return _Listed(spark, files, carrier(scratch, files, None), None, chosen)
    return _Listed(spark, files, carrier(scratch, files, positions), positions)


def _is_range(positions: pa.Array) -> bool:
    return bool(positions.equals(pa.array(range(len(positions)), positions.type)))


@dataclass
class _Listed:
    spark: SparkSession
    files: ListedFiles
    carrier: Carrier
    listed: pa.Array | None
    chosen: pa.Array | None = None

    def read(self, schema: StructType, options: Mapping[str, str]) -> DataFrame:
        guard_lists(self.spark)
        frame = self.spark.read.schema(schema).options(**OPTIONS, **options).parquet(self.carrier.folder)
        check_scan(frame, self.files.snapshot)
        self.carrier.keep_with(frame)
        # If only the list is gone, and not its folder, Spark finds no files. Therefore each analysis looks at the list, too. The
        # condition has no effect, and the optimizer removes it. A union or a join would be a second source for input_file_name().
        nothing = self.spark.read.text(literal(self.carrier.list)).where(F.lit(False))
        if hasattr(nothing, "exists"):  # from 4.0 on
            return frame.where(~nothing.exists())
        return frame.join(nothing, F.lit(True), "left_anti")

    def number(self, metadata: str) -> Column:
        foreign = failed("file-not-in-list", at=self.files.snapshot, setting=SETTING)
        return self.carrier.numbers.number(metadata, str(foreign))

    def vectors(self, storage_options: Mapping[str, str]) -> Sequence[Bitmap | None]:
        if self.carrier.vectors is None:  # if two threads read them, both get the same
            self.carrier.vectors = self.files.vectors(self.listed, storage_options)
        return self.carrier.vectors

    def blocks(self, vectors: Sequence[Bitmap | None]) -> DataFrame:
        # Chosen files and deletion vectors are the same for each use of a list, except for those of a whole snapshot.
        place = self.carrier.side_file("deleted-rows.parquet", lambda: block_file(vectors))
        blocks = self.spark.read.schema(BLOCKS).options(**OPTIONS).parquet(literal(place))
        # A union has no `_metadata`, which would be ambiguous after the join. The optimizer removes it.
        return blocks.union(blocks.where(F.lit(False)))


@dataclass
class _Paths:
    """Spark lists each path, and a join finds the number of a row's file by the path."""

    spark: SparkSession
    files: ListedFiles
    listed: pa.Array | None
    chosen: pa.Array | None = field(default=None, init=False)

    def read(self, schema: StructType, options: Mapping[str, str]) -> DataFrame:
        files = self.files.facts(["path"])
        files = files if self.listed is None else files.take(self.listed)
        if files.num_rows > MOST_PATHS:
            raise failed("too-many-paths", at=self.files.snapshot, num_files=files.num_rows, most=MOST_PATHS, setting=SETTING)
        uris: list[str] = hadoop_uris(files["path"], self.files.snapshot.table_uri).to_pylist()
        paths = [literal(to_uri(path, self.files.snapshot.table_uri)) for path in files["path"].to_pylist()]
        if paths:
            frame = self.spark.read.schema(schema).options(**OPTIONS, **options).parquet(*paths)
        else:
            frame = self.spark.createDataFrame([], StructType([*schema.fields]).add("_metadata", _METADATA_FIELDS))
        table = pa.table({_PATH: pa.array(uris, pa.string()), _NUMBER: pa.array(range(len(uris)), pa.int32())})
        numbers = self.spark.createDataFrame(table, f"{_PATH} string, {_NUMBER} int")
        return frame.join(F.broadcast(numbers), F.col("_metadata.file_path") == F.col(_PATH), "left")

    def number(self, metadata: str) -> Column:  # noqa: ARG002  (of Source)
        foreign = failed("file-not-in-list", at=self.files.snapshot, setting=SETTING)
        return F.coalesce(F.col(_NUMBER), F.raise_error(F.lit(str(foreign))))

    def vectors(self, storage_options: Mapping[str, str]) -> Sequence[Bitmap | None]:
        return self.files.vectors(self.listed, storage_options)

    def blocks(self, vectors: Sequence[Bitmap | None]) -> DataFrame:
        return self.spark.createDataFrame(block_table(vectors), BLOCKS)
