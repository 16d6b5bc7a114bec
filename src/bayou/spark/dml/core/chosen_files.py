# SPDX-License-Identifier: Apache-2.0
"""Choose the files that a row change must search, by partition values and statistics, and find files whose rows all match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.snapshot.data_skipping import must_match
from bayou.spark.jvm.core.session import java_session
from bayou.spark.scan.pruning import choose, matching_partitions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.condition import RowCondition
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files of a snapshot that may hold rows that satisfy a condition. The arrays are positions in `Snapshot.files`.

    Attributes:
        total: the number of files in the table.
        in_partitions: the files in partitions that may hold a matching row.
        candidates: the files of `in_partitions` whose statistics allow a matching row.
        whole: the candidates in which every row matches, as partition values or statistics prove.
    """

    total: int
    in_partitions: pa.Array
    candidates: pa.Array
    whole: pa.Array

    @property
    def in_part(self) -> pa.Array:
        """Return the candidates in which some rows may not match."""
        return without(self.candidates, self.whole)


def choose_files(application: Application, spark: SparkSession, snapshot: Snapshot, condition: RowCondition) -> ChosenFiles:
    """Return the files that an operation must search.

    Args:
        spark: the session whose time zone applies to partition values.
    """
    total = snapshot.files(["path"]).num_rows
    all_files = pa.array(np.arange(total), pa.int64())
    if condition.found is None:
        chosen = all_files if condition.always else all_files.slice(0, 0)
        return ChosenFiles(total, chosen, chosen, chosen)
    in_partitions = matching_partitions(application, spark, snapshot, condition.partition_parts)
    if condition.is_about_partitions:
        return ChosenFiles(total, in_partitions, in_partitions, in_partitions)
    with_matches = choose(application, java_session(spark), snapshot, condition.predicate)
    candidates = in_partitions if with_matches is None else common(in_partitions, with_matches)
    whole = pc.indices_nonzero(must_match(snapshot, condition.predicate))
    return ChosenFiles(total, in_partitions, candidates, common(candidates, whole))


def common(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the positions that are in both, in the order of the first."""
    return first.filter(pc.is_in(first, value_set=second.cast(pa.int64())))


def without(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the positions of the first that are not in the second."""
    return first.filter(pc.invert(pc.is_in(first, value_set=second.cast(pa.int64()))))
