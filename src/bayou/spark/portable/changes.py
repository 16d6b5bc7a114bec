# SPDX-License-Identifier: Apache-2.0
"""Read the change data feed on Spark Connect: one scan for each kind of files, with the feed's columns as constants of the files.

A range may read a file more than once, for example if several commits delete rows of it. Spark reads a file of a list once, so that
each of its rows is then repeated for each change of the file, before the rows that a change does not contain are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import StringType

from bayou.log.actions.keys import hadoop_uris
from bayou.log.changes.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_COLUMNS
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.schema import StructField, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.scan.constants import Constants
from bayou.spark.portable.scan.listed_files import ListedFiles
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.portable.scan.session_settings import ScanSettings
from bayou.spark.portable.scan.vectors import (
    BLOCKS,
    MOST_WORDS_IN_REQUEST,
    block_table,
    count_words,
    has_bit,
    with_bit,
)
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.scan.vector_loading import within_files
from bayou.spark.types.char_columns import padded_texts
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.spark.read.change_scan import ChangedFiles, Changes

_CHANGE: Final = "__bayou_change"
_TYPE: Final = FEED_COLUMNS[0]


def feed_frame(spark: SparkSession, changes: Changes, storage_options: Mapping[str, str]) -> DataFrame:
    """Return the rows of a change data feed: the table's columns, then the feed's.

    Filters on partition columns and on the feed's columns prune files when Spark plans, unless a file has several changes of the
    same kind.

    Args:
        storage_options: credentials for this process. They are not sent to Spark.

    Raises:
        DeltaError: as `scan_frame`.
    """
    groups = [_Group.of(spark, files, storage_options) for group in changes.groups for files in _without_repeats(group)]
    return reduce(lambda rows, more: rows.union(more), (group.frame() for group in groups))


def _without_repeats(files: ChangedFiles) -> Iterator[ChangedFiles]:
    """Separate files that were added from those that were removed, if the range did both to a file."""
    kinds = files.table["kind"]
    if len(pc.unique(_uris(files))) == len(kinds):
        yield files
        return
    for kind in pc.unique(kinds).to_pylist():
        places = pc.indices_nonzero(pc.equal(kinds, kind))
        rows = [files.rows[each] for each in places.to_pylist()]
        yield replace(files, table=files.table.take(places), rows=rows, name=f"{files.name}{kind} ")


def _uris(files: ChangedFiles) -> pa.Array:
    uris = hadoop_uris(files.table["path"], files.feed.snapshot.table_uri)
    return uris.combine_chunks() if isinstance(uris, pa.ChunkedArray) else uris


@dataclass(frozen=True)
class _Group:
    """Files that are read in the same way.

    Attributes:
        numbers: for each change the number of its file.
        first: for each file its first change.
    """

    spark: SparkSession
    files: ChangedFiles
    numbers: np.ndarray
    first: np.ndarray
    storage_options: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, spark: SparkSession, files: ChangedFiles, storage_options: Mapping[str, str]) -> _Group:
        numbers = _uris(files).dictionary_encode().indices.to_numpy()  # in the order of their first changes
        first = np.unique(numbers, return_index=True)[1]
        return cls(spark, files, numbers, first, storage_options)

    def frame(self) -> DataFrame:
        snapshot = self.files.feed.snapshot
        partitions = set(snapshot.partition_columns)
        stored = [field.name for field in snapshot.schema.fields if field.name not in partitions]
        listed = ListedFiles(snapshot, self.files.table.select(["path", "size"]).take(pa.array(self.first)), self.files.key)
        rows = scan_frame(
            self.spark,
            snapshot,
            columns=[*stored, _TYPE] if self.files.has_types else stored,
            with_numbers=True,
            storage_options=self.storage_options,
            files=listed,
        )
        number, row = F.col(FILE), F.col(f"{METADATA}.row_index")
        if len(self.first) < len(self.numbers):
            changes = np.split(np.argsort(self.numbers, kind="stable"), np.cumsum(np.bincount(self.numbers))[:-1])
            lists = Constants(snapshot, number).arrays([each.tolist() for each in changes])
            rows = rows.select("*", F.explode(lists).alias(_CHANGE))
            number = F.col(_CHANGE).cast("int")
        constants = Constants(snapshot, number)
        rows = self._chosen(rows, constants, row)
        return rows.select(*self._columns(constants), *self._feed_columns(constants))

    def _chosen(self, rows: DataFrame, constants: Constants, row: Column) -> DataFrame:
        """Leave out the rows that were deleted before, or those in which the deletion vectors do not differ."""
        vectors = within_files(self.files.rows, self.files.feed.snapshot.table_uri)
        if all(each is None for each in vectors):
            return rows
        if count_words(vectors) <= MOST_WORDS_IN_REQUEST:
            return rows.where(has_bit(constants, vectors, row, wanted=self.files.are_differences))
        blocks = self.spark.createDataFrame(block_table(vectors), BLOCKS)
        return with_bit(rows, blocks, constants.number, row, wanted=self.files.are_differences)

    def _columns(self, constants: Constants) -> Iterator[Column]:
        snapshot, texts = self.files.feed.snapshot, self.files.partition_texts()
        for each in snapshot.schema.fields:
            if each.name not in snapshot.partition_columns:
                yield F.col(quoted_name(each.name))
                continue
            width = char_width(each)
            shown_texts = padded_texts(
                texts[each.physical_name].combine_chunks(), width if width and ScanSettings.of(self.spark).pads_chars else 0
            )
            column = constants.texts(shown_texts, spark_data_type(StructField(each.name, each.type)))
            shown = readable_schema(StructType((each,))).fields[0].metadata
            yield column.alias(each.name, metadata=dict(shown)) if shown else column.alias(each.name)

    def _feed_columns(self, constants: Constants) -> Iterator[Column]:
        table = self.files.table
        if self.files.has_types:
            yield F.col(CHANGE_TYPE)
        else:
            yield constants.texts(table["kind"].combine_chunks(), StringType()).alias(CHANGE_TYPE)
        yield constants.integers(table["commit_version"].combine_chunks()).alias(COMMIT_VERSION)
        yield F.timestamp_millis(constants.integers(table["commit_timestamp"].combine_chunks())).alias(COMMIT_TIMESTAMP)
