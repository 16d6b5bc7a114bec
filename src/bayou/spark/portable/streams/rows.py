# SPDX-License-Identifier: Apache-2.0
"""The rows of a stream from a table, as a DataFrame of Spark's own file source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import ArrayType, StringType

from bayou.errors import failed
from bayou.spark.portable.scan.sources import OPTIONS
from bayou.spark.portable.scan.vectors import bit_at
from bayou.spark.portable.scratch.scratch import SETTING
from bayou.spark.portable.streams.folder import FAILED, MOST_FILES, NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType as SparkType
    from pyspark.sql.types import StructType

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField

_ONE_BATCH: Final = {"maxFilesPerTrigger": "1"}
"""Spark takes one batch a trigger. What the program wants is how many files a batch has."""


@dataclass(frozen=True)
class StreamedRows:
    """How a query gets the rows and their facts.

    Attributes:
        snapshot: the version whose schema the stream has.
        place: the stream's folder.
        first: the modification time of data file 0.
        partitions: the types of the partition columns, by their physical names, in the order of the note.
        has_vectors: whether files may have deletion vectors.
    """

    spark: SparkSession
    snapshot: Snapshot
    place: str
    first: int
    partitions: Mapping[str, SparkType]
    has_vectors: bool
    _noted: ClassVar[Mapping[str, str]] = {}
    """Further fields of the note, with their types."""

    def read(self, schema: StructType) -> DataFrame:
        """Return the rows of the files."""
        return self.spark.readStream.schema(schema).options(**OPTIONS, **_ONE_BATCH).parquet(self.place)

    @property
    def further_fields(self) -> Sequence[StructField]:
        """No columns: those of the table are all."""
        return ()

    def further_columns(self) -> Sequence[Column]:
        """Return no columns: those of the table are all."""
        return ()

    def chosen(self, rows: DataFrame, metadata: str) -> DataFrame:
        """Return the rows that are not deleted. The query fails if the file of a row is not in the lists of the run."""
        condition = self._is_listed(metadata)
        if self.has_vectors:
            words = F.get(self._note["words"], self._position(metadata))
            condition = condition & (bit_at(words, F.col(f"{metadata}.row_index")) == F.lit(0))
        return rows.where(condition)

    def partition(self, name: str, metadata: str) -> Column:
        """Return the value of a partition column, by its physical name."""
        return self._partition(name, self._position(metadata))

    def _partition(self, name: str, position: Column) -> Column:
        place = f"p{list(self.partitions).index(name)}"
        return F.get(self._note["values"][place], F.get(self._note["codes"][place], position))

    def _is_listed(self, metadata: str) -> Column:
        # The first condition is about the file alone, so that Spark evaluates it when it plans, and names the error of a batch.
        return (self._number(metadata) >= F.lit(0)) & (self._position(metadata) >= F.lit(0))

    def _number(self, metadata: str) -> Column:
        number = F.unix_millis(F.col(f"{metadata}.file_modification_time")) - F.lit(self.first)
        path = F.col(f"{metadata}.file_path")
        error = F.decode(F.unhex(F.substring_index(path, FAILED, -1)), "UTF-8")
        foreign = str(failed("file-not-in-list", at=self.snapshot, setting=SETTING))
        text = F.when(F.contains(path, F.lit(FAILED)), error).otherwise(F.lit(foreign))
        return F.when(number.between(F.lit(0), F.lit(MOST_FILES - 1)), number.cast("int")).otherwise(F.raise_error(text))

    def _position(self, metadata: str) -> Column:
        """Return the position of a row's file in the note, which must be about it."""
        position = self._number(metadata) - self._note["base"]
        unknown = F.raise_error(F.lit(str(failed("file-not-in-list", at=self.snapshot, setting=SETTING))))
        return F.when(position.between(F.lit(0), self._note["count"] - F.lit(1)), position).otherwise(unknown)

    @cached_property
    def _note(self) -> Column:
        """The note, which Spark reads once for each batch."""
        names = [f"p{position}" for position in range(len(self.partitions))]
        values = ", ".join(f"{name}: array<string>" for name in names)
        codes = ", ".join(f"{name}: array<int>" for name in names)
        text = f"base int, count int, values struct<{values}>, codes struct<{codes}>, words array<array<bigint>>"
        text = ", ".join([text, *(f"{name} {kind}" for name, kind in self._noted.items())])
        note = F.from_json(F.col("value"), text, {"mode": "FAILFAST"})
        read = self.spark.read.text(f"{self.place}/{NOTE}").select(note.alias("note"))
        parts = [F.col(f"note.{name}").alias(name) for name in ("base", "count", "codes", "words", *self._noted)]
        cast = [
            _cast(F.col(f"note.values.{name}"), kind).alias(name)
            for name, kind in zip(names, self.partitions.values(), strict=True)
        ]
        if cast:
            parts.append(F.struct(*cast).alias("values"))
        return read.select(F.struct(*parts)).scalar()


def _cast(texts: Column, kind: SparkType) -> Column:
    return texts if isinstance(kind, StringType) else texts.try_cast(ArrayType(kind))
