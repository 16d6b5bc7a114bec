# SPDX-License-Identifier: Apache-2.0
"""Which files an operation is about: by partition values exactly, by statistics safely, and wholly where the log proves it."""

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
    """The files of a snapshot by what a condition says of them; all are positions in `Snapshot.files`.

    Attributes:
        total: how many files the table has.
        in_partitions: the files in whose partitions a row may be meant.
        candidates: those of them that may hold such a row.
        whole: those of these of which every row is meant.
    """

    total: int
    in_partitions: pa.Array
    candidates: pa.Array
    whole: pa.Array

    @property
    def in_part(self) -> pa.Array:
        """The candidates that are not known to be meant wholly."""
        return without(self.candidates, self.whole)


def choose_files(application: Application, spark: SparkSession, snapshot: Snapshot, condition: RowCondition) -> ChosenFiles:
    """The files that an operation is about.

    Args:
        spark: the session whose time zone partition values are read in.
    """
    total = snapshot.files(["path"]).num_rows
    every = pa.array(np.arange(total), pa.int64())
    if condition.found is None:
        chosen = every if condition.always else every.slice(0, 0)
        return ChosenFiles(total, chosen, chosen, chosen)
    in_partitions = matching_partitions(application, spark, snapshot, condition.partition_parts)
    if condition.is_about_partitions:
        return ChosenFiles(total, in_partitions, in_partitions, in_partitions)
    skipped = choose(application, java_session(spark), snapshot, condition.predicate)
    candidates = in_partitions if skipped is None else common(in_partitions, skipped)
    proved = pc.indices_nonzero(must_match(snapshot, condition.predicate))
    return ChosenFiles(total, in_partitions, candidates, common(candidates, proved))


def common(first: pa.Array, second: pa.Array) -> pa.Array:
    """The positions that are in both, in the order of the first."""
    return first.filter(pc.is_in(first, value_set=second.cast(pa.int64())))


def without(first: pa.Array, second: pa.Array) -> pa.Array:
    """The positions of the first that are not in the second."""
    return first.filter(pc.invert(pc.is_in(first, value_set=second.cast(pa.int64()))))
