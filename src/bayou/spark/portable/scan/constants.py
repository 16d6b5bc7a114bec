# SPDX-License-Identifier: Apache-2.0
"""Constants of files as columns: arrays in the request, in which Spark looks up the number of a row's file.

Spark evaluates them when it plans, if only filters use them, so that filters on them prune files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import ArrayType, IntegralType, StringType

from bayou.errors import failed
from bayou.plan.predicates.partition_values import to_arrow
from bayou.spark.portable.scratch.scratch import SETTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType as SparkType

    from bayou.log.snapshot.snapshot import Snapshot

MOST_BYTES: Final = 31 << 20
"""The most bytes of all arrays in one request."""


@dataclass
class Constants:
    """The constants of one scan. It adds up their sizes.

    Attributes:
        snapshot: the files' table, for errors.
        number: the number of a row's file.
        size: the bytes of the arrays that were made.
    """

    snapshot: Snapshot
    number: Column
    size: int = 0

    def texts(self, values: pa.Array, kind: SparkType) -> Column:
        """Return a column of partition values. An empty string is NULL, and so is one that is not a value of the type.

        Args:
            values: a string for each file.
        """
        values = pc.if_else(pc.equal(values, ""), None, values)
        if isinstance(kind, IntegralType):
            # Unlike the cast of a classic session, try_cast takes "7.0" for no integer.
            return F.get(self._array(to_arrow(values, kind.typeName()).to_pylist(), kind.simpleString()), self.number)
        texts = self._array(values.to_pylist(), "string")
        return F.get(texts if isinstance(kind, StringType) else texts.try_cast(ArrayType(kind)), self.number)

    def is_among(self, positions: pa.Array, count: int) -> Column:
        """Return the condition that the number of a row's file is among some numbers.

        Args:
            count: the number of all files.
        """
        bits = np.zeros(-(-count // 64) * 64, np.uint8)
        bits[positions.to_numpy()] = 1
        words = self._array(np.packbits(bits, bitorder="little").view("<i8").tolist(), "bigint")
        return F.getbit(F.get(words, F.shiftright(self.number, 6)), self.number.bitwiseAND(F.lit(63))) == F.lit(1)

    def integers(self, values: pa.Array) -> Column:
        """Return a column of integers, an int or a bigint by the type of the values. Arrays of consecutive values take no space.

        Args:
            values: an integer for each file.
        """
        kind = "int" if pa.types.is_int32(values.type) else "bigint"
        first = values[0].as_py() if len(values) else 0
        if not values.null_count and pc.all(pc.equal(values, pa.array(range(first, first + len(values)), values.type))).as_py():
            return self.number if kind == "int" and not first else (self.number + F.lit(first)).cast(kind)
        return F.get(self._array(values.to_pylist(), kind), self.number)

    def arrays(self, values: Sequence[Sequence[int]]) -> Column:
        """Return a column of arrays of bigint, one for each file."""
        return F.get(self._array(values, "array<bigint>"), self.number)

    def _array(self, values: Sequence[Any], kind: str) -> Column:
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        self.size += len(text.encode())
        if self.size > MOST_BYTES:
            raise failed(
                "request-too-large",
                at=self.snapshot,
                size=self.size,
                most=MOST_BYTES,
                num_files=len(values),
                setting=SETTING,
            )
        return F.from_json(F.lit(text), f"array<{kind}>", {"mode": "FAILFAST"})
