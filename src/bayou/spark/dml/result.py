# SPDX-License-Identifier: Apache-2.0
"""What a DELETE or an UPDATE did, and the plan of one that can be executed."""

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
    """What a DELETE or an UPDATE did.

    Attributes:
        operation: DELETE or UPDATE.
        version: the table's version afterwards.
        committed: whether the operation made that version; it makes none where no row is meant.
        num_affected_rows: the rows that were deleted or updated; -1 where whole files went whose rows nobody had counted.
        metrics: what the history says of it, by its names; empty where nothing was committed.
        reason: why nothing was committed: `empty`, or `replayed` where `txn` was committed before; empty where something was.
    """

    operation: str
    version: int
    committed: bool
    num_affected_rows: int
    metrics: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    spark: SparkSession | None = field(default=None, repr=False, compare=False)

    @property
    def num_deleted_rows(self) -> int:
        """The rows that were deleted."""
        return self.num_affected_rows if self.operation == "DELETE" else 0

    @property
    def num_updated_rows(self) -> int:
        """The rows that were updated."""
        return self.num_affected_rows if self.operation == "UPDATE" else 0

    @property
    def num_copied_rows(self) -> int:
        """The rows that were written again as they were."""
        return self.metrics.get("numCopiedRows", 0)

    def toDF(self) -> DataFrame:  # noqa: N802  (PySpark's name)
        """The one row that the statement gives on delta-spark: `num_affected_rows`."""
        assert self.spark is not None  # noqa: S101  (whoever executes an operation has one)
        return self.spark.range(1).selectExpr(f"cast({self.num_affected_rows} as bigint) as num_affected_rows")

    def __str__(self) -> str:
        what = f"made version {self.version}" if self.committed else f"nothing was committed ({self.reason})"
        rows = [("affected rows", str(self.num_affected_rows)), *((name, str(value)) for name, value in self.metrics.items())]
        return f"{self.operation}: {what}\n{aligned_text(rows)}"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A DELETE or an UPDATE that was planned and not run.

    Attributes:
        plan: which files it reads, which it passes over and why, and which it may rewrite.
    """

    plan: RowChangePlan
    run: Callable[[], RowChangeResult] = field(repr=False)

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Runs it, on the version that it was planned for: another writer's commit since then is a conflict as any other.

        Raises:
            ConcurrentModificationError: another commit excludes this one.
            ConstraintViolationError: new values break a rule of the table.
        """
        return self.run()

    def __str__(self) -> str:
        return str(self.plan)
