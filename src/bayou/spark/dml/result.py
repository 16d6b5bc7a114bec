# SPDX-License-Identifier: Apache-2.0
"""What a DELETE, an UPDATE or a MERGE did, and the plan of one that can be executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.plan.row_changes import RowChangePlan, aligned_text
from bayou.spark.errors import raised_as_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNKNOWN_ROWS = -1
"""The number of affected rows where whole files went and the log does not say how many rows they had, as in delta-spark."""


@dataclass(frozen=True, slots=True)
class RowChangeResult:
    """What a DELETE, an UPDATE or a MERGE did.

    Attributes:
        operation: DELETE, UPDATE or MERGE.
        version: the table's version afterwards.
        committed: whether the operation made that version; it makes none where it changes nothing.
        num_updated_rows: the rows that were updated.
        num_deleted_rows: the rows that were deleted; -1 where whole files went whose rows nobody had counted.
        num_inserted_rows: the rows that were inserted.
        metrics: what the history says of it, by its names; empty where nothing was committed.
        reason: why nothing was committed: `empty`, or `replayed` where `txn` was committed before; empty where something was.
    """

    operation: str
    version: int
    committed: bool
    num_updated_rows: int = 0
    num_deleted_rows: int = 0
    num_inserted_rows: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    spark: SparkSession | None = field(default=None, repr=False, compare=False)

    @property
    def num_affected_rows(self) -> int:
        """The rows that were changed in any way; -1 where nobody knows."""
        counts = (self.num_updated_rows, self.num_deleted_rows, self.num_inserted_rows)
        return UNKNOWN_ROWS if UNKNOWN_ROWS in counts else sum(counts)

    @property
    def num_copied_rows(self) -> int:
        """The rows that were written again as they were."""
        return self.metrics.get("numTargetRowsCopied" if self.operation == "MERGE" else "numCopiedRows", 0)

    def toDF(self) -> DataFrame:  # noqa: N802  (PySpark's name)
        """The one row that delta-spark gives: how many rows were affected, and after a MERGE how many of them in which way."""
        assert self.spark is not None  # noqa: S101  (whoever executes an operation has one)
        names = ["num_affected_rows"]
        names += ["num_updated_rows", "num_deleted_rows", "num_inserted_rows"] if self.operation == "MERGE" else []
        return self.spark.range(1).selectExpr(*(f"cast({getattr(self, name)} as bigint) as {name}" for name in names))

    def __str__(self) -> str:
        what = f"made version {self.version}" if self.committed else f"nothing was committed ({self.reason})"
        names = ["updated", "deleted", "inserted"] if self.operation == "MERGE" else ["affected"]
        rows = [(f"{name} rows", str(getattr(self, f"num_{name}_rows"))) for name in names]
        return f"{self.operation}: {what}\n{aligned_text([*rows, *((name, str(value)) for name, value in self.metrics.items())])}"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A DELETE, an UPDATE or a MERGE that was planned and not run.

    Attributes:
        plan: which files it reads, which it passes over and why, and which it may rewrite.
    """

    plan: RowChangePlan
    run: Callable[[], RowChangeResult] = field(repr=False)

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Runs it, on the version that it was planned for: another writer's commit since then is a conflict as any other.

        Raises:
            MultipleMatchesError: a row of the table would be changed by several rows of the source of a MERGE.
            ConcurrentModificationError: another commit excludes this one.
            ConstraintViolationError: new values break a rule of the table.
        """
        return self.run()

    def __str__(self) -> str:
        return str(self.plan)
