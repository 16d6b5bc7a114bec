# SPDX-License-Identifier: Apache-2.0
"""The result of a DELETE, UPDATE or MERGE, and the plan of one that can be executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from bayou.plan.row_changes import RowChangePlan, aligned_text
from bayou.report.html import facts_html
from bayou.spark.backend import backend_of, is_of_connect
from bayou.spark.errors.cast_overflow import naming_overflow
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.session.settings import REPLAYED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTS: Final = {
    "DELETE": ("num_affected_rows",),
    "UPDATE": ("num_affected_rows",),
    "MERGE": ("num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"),
}
"""The columns of the one row that an operation returns, as in delta-spark."""
UNKNOWN_ROWS = -1
"""The number of affected rows if a removed file was not read and the log lacks its row count, as in delta-spark."""


@dataclass(frozen=True, slots=True, eq=False)  # like a DataFrame, which is equal only to itself
class RowChangeResult:
    """The result of a DELETE, UPDATE or MERGE. It can be used like the DataFrame of one row that delta-spark returns.

    Attributes:
        operation: DELETE, UPDATE or MERGE.
        version: the table's version afterwards.
        committed: whether the operation committed that version. It commits nothing if it changes nothing.
        num_updated_rows: the number of updated rows.
        num_deleted_rows: the number of deleted rows; -1 if it is unknown (see `UNKNOWN_ROWS`).
        num_inserted_rows: the number of inserted rows.
        metrics: the metrics of the history, by name; empty if nothing was committed.
        reason: why nothing was committed: `empty`, or `replayed` if `txn` was committed before. Empty if something was.
        num_scanned_files: the number of files that were searched for rows.
        num_pruned_files: the number of files that partition values or statistics excluded.
        num_rewritten_files: the number of files whose remaining rows were rewritten.
        num_retries: how often the operation was rerun because another commit had moved its rows into other files.
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
    num_scanned_files: int = 0
    num_pruned_files: int = 0
    num_rewritten_files: int = 0
    num_retries: int = 0
    _frames: list[DataFrame] = field(default_factory=list, init=False, repr=False, compare=False)

    def by(self, plan: RowChangePlan) -> RowChangeResult:
        """Return the result with the numbers of scanned and pruned files from the executed plan."""
        if self.reason == REPLAYED:
            return self
        return self._with(num_scanned_files=plan.to_read.files, num_pruned_files=plan.num_pruned_files)

    def after_retries(self, count: int) -> RowChangeResult:
        """Return the result with the number of reruns."""
        return self._with(num_retries=count) if count else self

    def _with(self, **changes: int) -> RowChangeResult:
        # `dataclasses.replace` would create a DataFrame: it calls `__class__`, which is overridden below.
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.init}
        return RowChangeResult(**{**values, **changes})

    @property
    def num_affected_rows(self) -> int:
        """The number of updated, deleted and inserted rows; -1 if it is unknown."""
        counts = (self.num_updated_rows, self.num_deleted_rows, self.num_inserted_rows)
        return UNKNOWN_ROWS if UNKNOWN_ROWS in counts else sum(counts)

    @property
    def num_copied_rows(self) -> int:
        """The number of rows that were rewritten without a change."""
        return self.metrics.get("numTargetRowsCopied" if self.operation == "MERGE" else "numCopiedRows", 0)

    @property
    def counts_text(self) -> str:
        """The counts of `toDF` as JSON."""
        return json.dumps({name: getattr(self, name) for name in COUNTS[self.operation]})

    def toDF(self) -> DataFrame:  # noqa: N802  (PySpark's name)
        """Return the row that delta-spark returns: the number of affected rows, and for MERGE of each kind."""
        assert self.spark is not None  # noqa: S101  (an executed operation has a session)
        return row_of_counts(self.spark, self.counts_text)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Return `DataFrame`, so that `isinstance(result, DataFrame)` is true: libraries that compare DataFrames check it."""
        if self.spark is None:
            return RowChangeResult
        return type(self._frame()) if is_of_connect(self.spark) else DataFrame

    def __repr__(self) -> str:
        named = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"RowChangeResult({', '.join(named)})"

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the DataFrame of `toDF`."""
        # PySpark reads these private attributes if another DataFrame is joined with this one, those of Spark Connect last.
        is_known = name in ("_jdf", "_plan", "_session") or (not name.startswith("_") and hasattr(DataFrame, name))
        if self.spark is None or not is_known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._frame(), name)

    def _frame(self) -> DataFrame:
        """Return the DataFrame of `toDF`, always the same: Spark does not resolve a column of one DataFrame against another."""
        if not self._frames:
            self._frames.append(self.toDF())
        return self._frames[0]

    def __getitem__(self, column: str) -> Any:
        """Return a column of the DataFrame of `toDF`."""
        return self._frame()[column]

    @property
    def _title(self) -> str:
        what = f"made version {self.version}" if self.committed else f"nothing was committed ({self.reason})"
        return f"{self.operation}: {what}"

    def _facts(self) -> dict[str, int]:
        names = ["updated", "deleted", "inserted"] if self.operation == "MERGE" else ["affected"]
        return {f"{name} rows": getattr(self, f"num_{name}_rows") for name in names} | dict(self.metrics)

    def __str__(self) -> str:
        return f"{self._title}\n{aligned_text([(name, str(value)) for name, value in self._facts().items()])}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  (IPython's protocol)
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return facts_html(self._title, self._facts())


def row_of_counts(spark: SparkSession, counts: str) -> DataFrame:
    """Return a DataFrame with one row of counts. The columns are nullable, as in delta-spark."""
    kinds = ", ".join(f"{name} bigint" for name in json.loads(counts))
    return (
        spark.range(1)
        .select(backend_of(spark).own_column(spark, f"from_json('{counts}', '{kinds}')").alias("counts"))
        .select("counts.*")
    )


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A DELETE, UPDATE or MERGE that was planned and not executed yet.

    Attributes:
        plan: the files that it reads, prunes and may rewrite.
        work: executes it.
    """

    plan: RowChangePlan
    work: Callable[[], RowChangeResult] = field(repr=False)

    def run(self) -> RowChangeResult:
        """Execute it like `execute`, but raise bayou's own errors instead of PySpark's."""
        with naming_overflow(self.plan.table, self.plan.version):
            return self.work()

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Execute it on the version that it was planned for. Later commits of other writers may conflict.

        If a conflicting commit only moved rows into other files, as OPTIMIZE does, the operation is rerun on the latest version,
        up to three times.

        Raises:
            MultipleMatchesError: several rows of the source of a MERGE would change the same row of the table.
            ConcurrentModificationError: a winning commit conflicts.
            ConstraintViolationError: a new value violates a constraint of the table.
            CastOverflowError: a column's type cannot hold a new value.
            TransactionStateError: the plan of a MERGE was executed before, and committed.
        """
        return self.run()

    def __str__(self) -> str:
        return str(self.plan)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001  (IPython's protocol)
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()
