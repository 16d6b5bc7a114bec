# SPDX-License-Identifier: Apache-2.0
"""Prune the files of a snapshot by a filter: with statistics, partition values and generated partition columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.predicate import And, Predicate, columns, is_never_true
from bayou.spark.scan.generated_partitions import partition_filter

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application


def choose(application: Application, session: Any, snapshot: Snapshot, predicate: Predicate) -> pa.Array | None:
    """Return the positions of the files that may hold a row for which the predicate is true; None for all of them.

    Args:
        session: a `SparkSession`, or its side in the JVM, to resolve the expressions of generated partition columns; None to leave
            such columns out.
    """
    if is_never_true(predicate):
        return pa.array([], pa.int64())
    if not columns(predicate):
        return None
    derived = None if session is None else partition_filter(application, session, snapshot, predicate)
    may_match = snapshot.may_match(predicate if derived is None else And((predicate, derived)))
    return None if pc.all(may_match).as_py() is not False else pc.indices_nonzero(may_match)
