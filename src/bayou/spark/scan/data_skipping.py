# SPDX-License-Identifier: Apache-2.0
"""Which files a filter leaves: by their statistics, their partition values, and what generated partition columns tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.predicate import And, Predicate, columns, is_never_true
from bayou.protocol.columns.generated_columns import has_generated_columns

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def choose(snapshot: Snapshot, predicate: Predicate) -> pa.Array | None:
    """The positions of the files that may hold a row for which the predicate is true; None for all of them."""
    if is_never_true(predicate):
        return pa.array([], pa.int64())
    if not columns(predicate):
        return None
    derived = _of_partitions(snapshot, predicate)
    kept = snapshot.may_match(predicate if derived is None else And((predicate, derived)))
    return None if pc.all(kept).as_py() is not False else pc.indices_nonzero(kept)


def _of_partitions(snapshot: Snapshot, predicate: Predicate) -> Predicate | None:
    """What a predicate says about partition columns that are generated from the columns in it."""
    if not snapshot.partition_columns or not has_generated_columns(snapshot.protocol, snapshot.schema):
        return None
    from bayou.plan.generated.filters import derived_filter, partition_rules  # noqa: PLC0415  (it loads a parser of SQL)

    # Which zone the writer was in is not known.
    return derived_filter(predicate, partition_rules(snapshot.schema, snapshot.partition_columns), time_zone=None)
