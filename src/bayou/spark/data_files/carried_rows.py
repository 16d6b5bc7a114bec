# SPDX-License-Identifier: Apache-2.0
"""The remaining rows of replaced files, which the job that writes the new rows rewrites."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.read.change_rows import AuxiliaryColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.constraint_evaluation import RowRule


OF_KEPT: Final = "bayou.replace.kept"
_OF_NEW: Final = "bayou.replace.new"
"""The observations of the rewritten rows and of the new rows."""


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """The rows that a write replaces, and the remaining rows of their files.

    Attributes:
        rule: the rule for the new rows; None without one.
        num_kept: the number of rows in replaced files that remain.
        rows: the remaining rows, and with a change data feed the replaced rows too; None if no rows remain.
        auxiliary: their auxiliary columns.
    """

    rule: RowRule | None = None
    num_kept: int = 0
    rows: DataFrame | None = None
    auxiliary: AuxiliaryColumns = field(default_factory=AuxiliaryColumns)

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of the observations that count the remaining and the new rows."""
        return () if self.rows is None else (OF_KEPT, _OF_NEW)

    def counted_new(self, frame: DataFrame) -> DataFrame:
        """Return the new rows of a write, with an observation that counts them if other rows are rewritten too."""
        return frame if self.rows is None else frame.observe(_OF_NEW, F.count(F.lit(1)).alias("count"))


NOTHING_CARRIED: Final = CarriedRows()
"""For a write that replaces no rows."""
