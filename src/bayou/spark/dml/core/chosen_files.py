# SPDX-License-Identifier: Apache-2.0
"""Choose the files that a row change must search, by partition values and statistics, and find files whose rows all match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.snapshot.data_skipping import must_match
from bayou.spark.scan.pruning import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.condition import RowCondition
    from bayou.spark.expr import Expr
    from bayou.spark.read.session_table import SessionTable

    Matching = Callable[[SessionTable, Snapshot, Sequence[Expr]], pa.Array]
    """Returns the files whose partition values satisfy all conditions; see `Statement.matching_partitions`."""


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


def choose_files(target: SessionTable, snapshot: Snapshot, condition: RowCondition, matching: Matching) -> ChosenFiles:
    """Return the files that an operation must search."""
    total = snapshot.files(["path"]).num_rows
    all_files = pa.array(np.arange(total), pa.int64())
    if condition.found is None:
        chosen = all_files if condition.always else all_files.slice(0, 0)
        return ChosenFiles(total, chosen, chosen, chosen)
    in_partitions = matching(target, snapshot, condition.partition_parts) if condition.partition_parts else all_files
    if condition.is_about_partitions:
        return ChosenFiles(total, in_partitions, in_partitions, in_partitions)
    with_matches = choose(target.application, target.spark, snapshot, condition.predicate)
    candidates = in_partitions if with_matches is None else common(in_partitions, with_matches)
    whole = pc.indices_nonzero(must_match(snapshot, condition.predicate))
    return ChosenFiles(total, in_partitions, candidates, common(candidates, whole))


def common(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the positions that are in both, in the order of the first."""
    return first.filter(pc.is_in(first, value_set=second.cast(pa.int64())))


def without(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the positions of the first that are not in the second."""
    return first.filter(pc.invert(pc.is_in(first, value_set=second.cast(pa.int64()))))
